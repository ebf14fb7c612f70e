import type { Reader, Tx } from '@recur/platform';
import { gatewayUsers, type PaymentMethodRow, paymentMethods } from './tables.js';

// Verbs about what a gateway charges, for the wing that charges.

/** A user at a gateway. */
export interface UserAtGateway {
  gatewayId: number;
  userId: number;
}

/** The user and the payment method that are charged, as the gateway knows them. */
export interface Chargeable {
  methodId: string;
  /** The method as its user knows it; see `nameOfMethod`. */
  name: string;
  gatewayUserId: string;
  gatewayMethodId: string;
}

/** The kind of work that follows a new payment method, or the choice of another. */
export const METHOD_ADDED = 'payment.method_added';

/** A user whose open invoices are tried at once: with a new method, or '' with those that they are charged with now. */
export interface Announced extends UserAtGateway {
  methodId: string;
}

/** The user and the method of an item of that work, by its key. */
export function announcedBy(key: string): Announced {
  const [gatewayId, userId, methodId = ''] = key.split('-');
  return { gatewayId: Number(gatewayId), userId: Number(userId), methodId };
}

/** Has the open invoices of a user tried at once. */
export const announceMethod = (tx: Tx, { gatewayId, userId, methodId }: Announced): void =>
  tx.schedule(METHOD_ADDED, `${gatewayId}-${userId}-${methodId}`, tx.now);

/** The first preferred method that is saved at this gateway, else the default one; undefined where there is none. */
export async function chargeableMethod(
  reader: Reader,
  { gatewayId, userId }: UserAtGateway,
  preferred: readonly string[],
): Promise<Chargeable | undefined> {
  const named = preferred.filter(methodId => methodId !== '');
  const [fallback, gatewayUserId, ...chosen] = await Promise.all([
    reader.find(paymentMethods, { gatewayId, userId, isDefault: true }),
    gatewayUserIdOf(reader, { gatewayId, userId }),
    ...named.map(methodId => reader.find(paymentMethods, { methodId, gatewayId, userId })),
  ]);
  const method = chosen.find(found => found !== undefined) ?? fallback;
  return (
    method && {
      methodId: method.methodId,
      name: nameOfMethod(method),
      gatewayUserId,
      gatewayMethodId: method.gatewayMethodId,
    }
  );
}

/** A saved method as its user knows it: its brand, else its type, and the last digits; for example `Visa •••• 4242`. */
function nameOfMethod({ type, data }: Pick<PaymentMethodRow, 'type' | 'data'>): string {
  const brand = typeof data.brand === 'string' && data.brand !== '' ? data.brand : type;
  const name = brand.replaceAll('_', ' ').replace(/^\p{Ll}/u, first => first.toUpperCase());
  return typeof data.last4 === 'string' && data.last4 !== '' ? `${name} •••• ${data.last4}` : name;
}

/** The gateway's own id of a user; '' for one whom it does not know. */
export const gatewayUserIdOf = async (reader: Reader, at: UserAtGateway): Promise<string> =>
  (await reader.find(gatewayUsers, { ...at }))?.gatewayUserId ?? '';

/** The gateways' own ids of users, by `<gatewayId> <userId>`. */
export async function gatewayUsersOf(reader: Reader, userIds: readonly number[]): Promise<Map<string, string>> {
  const rows = await reader.among(gatewayUsers, 'userId', userIds);
  return new Map(rows.map(row => [`${row.gatewayId} ${row.userId}`, row.gatewayUserId]));
}

/** The user with a gateway's own id; undefined for an unknown one. */
export const userAtGateway = async (
  reader: Reader,
  gatewayId: number,
  gatewayUserId: string,
): Promise<UserAtGateway | undefined> => reader.find(gatewayUsers, { gatewayId, gatewayUserId });
