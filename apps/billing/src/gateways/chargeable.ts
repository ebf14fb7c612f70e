import type { Reader, Tx } from '@recur/platform';
import { gatewayUsers, paymentMethods } from './tables.js';

// Verbs about what a gateway charges, for the wing that charges.

/** A user at a gateway. */
export interface UserAtGateway {
  gatewayId: number;
  userId: number;
}

/** The user and the payment method that are charged, as the gateway knows them. */
export interface Chargeable {
  gatewayUserId: string;
  gatewayMethodId: string;
}

/** The kind of work that follows a new payment method; its key is `methodKey`. */
export const METHOD_ADDED = 'payment.method_added';

const methodKey = ({ gatewayId, userId }: UserAtGateway) => `${gatewayId}-${userId}`;

/** The user and gateway of an item of that work. */
export function userOfKey(key: string): UserAtGateway {
  const [gatewayId = 0, userId = 0] = key.split('-').map(Number);
  return { gatewayId, userId };
}

/** Open invoices of the user are tried with a new payment method at once. */
export const announceMethod = (tx: Tx, at: UserAtGateway): void => tx.schedule(METHOD_ADDED, methodKey(at), tx.now);

/** The user's preferred method if it is saved at this gateway, else the default one; undefined where there is none. */
export async function chargeableMethod(
  reader: Reader,
  { gatewayId, userId }: UserAtGateway,
  preferred: string,
): Promise<Chargeable | undefined> {
  const [chosen, fallback, gatewayUserId] = await Promise.all([
    preferred === '' ? undefined : reader.find(paymentMethods, { methodId: preferred, gatewayId, userId }),
    reader.find(paymentMethods, { gatewayId, userId, isDefault: true }),
    gatewayUserIdOf(reader, { gatewayId, userId }),
  ]);
  const method = chosen ?? fallback;
  return method && { gatewayUserId, gatewayMethodId: method.gatewayMethodId };
}

/** The gateway's own id of a user; '' for one whom it does not know. */
export const gatewayUserIdOf = async (reader: Reader, at: UserAtGateway): Promise<string> =>
  (await reader.find(gatewayUsers, { ...at }))?.gatewayUserId ?? '';

/** The user with a gateway's own id; undefined for an unknown one. */
export const userAtGateway = async (
  reader: Reader,
  gatewayId: number,
  gatewayUserId: string,
): Promise<UserAtGateway | undefined> => reader.find(gatewayUsers, { gatewayId, gatewayUserId });
