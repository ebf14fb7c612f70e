import { Rejected } from '@recur/kernel';
import type { Loader, Peeking, Reader } from '@recur/platform';
import type { Gateway } from './domain/gateway.js';
import { gateways, type PaymentMethodRow, paymentMethods } from './tables.js';

/** All gateways of the merchant, archived ones included: they are few. */
export const allGateways = (reader: Peeking): Promise<Gateway[]> => reader.peekAll(gateways, {});

export const gatewaysById = async (reader: Reader): Promise<ReadonlyMap<number, Gateway>> =>
  new Map((await reader.all(gateways, {})).map(gateway => [gateway.gatewayId, gateway]));

/** The gateway of an invoice or payment; undefined for none. */
export const findGateway = async (loader: Loader, gatewayId: number): Promise<Gateway | undefined> =>
  gatewayId === 0 ? undefined : loader.find(gateways, { gatewayId });

/** Throws Rejected `gateway_not_found`. */
export const getGateway = (reader: Reader, gatewayId: number): Promise<Gateway> =>
  reader.get(gateways, { gatewayId }, 'gateway_not_found');

/** A saved payment method of a user at a gateway: that with the id, or the default one for ''. */
export const findMethod = (
  reader: Reader,
  { gatewayId, userId, methodId }: Pick<PaymentMethodRow, 'gatewayId' | 'userId' | 'methodId'>,
): Promise<PaymentMethodRow | undefined> =>
  reader.find(paymentMethods, { gatewayId, userId, ...(methodId === '' ? { isDefault: true } : { methodId }) });

/** Throws Rejected `payment_method_not_found` for a method that is named and not saved for the user at the gateway. */
export async function assertSaved(
  reader: Reader,
  named: Pick<PaymentMethodRow, 'gatewayId' | 'userId' | 'methodId'>,
): Promise<void> {
  if (named.methodId !== '' && !(await findMethod(reader, named))) throw new Rejected('payment_method_not_found');
}
