import { DAY_SECONDS, Rejected } from '@recur/kernel';
import {
  type Db,
  type Loader,
  type PeekReader,
  type Reader,
  type Removal,
  removedAtOnce,
  type Tx,
} from '@recur/platform';
import type { Gateway } from './domain/gateway.js';
import { gateways, type PaymentMethodRow, paymentMethods } from './tables.js';

/** All gateways of the merchant, archived ones included: they are few. */
export const allGateways = (reader: PeekReader): Promise<Gateway[]> => reader.peekAll(gateways, {});

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

// The way of a callback to its merchant: gateway_routes belongs to no merchant's rows, since the sender names none.

/** Lets callbacks find the gateway. */
export const addRoute = (tx: Tx, gatewayId: number): Promise<unknown> =>
  tx.run('insert into gateway_routes (gateway_id, merchant_id) values ($1, $2)', [gatewayId, tx.merchantId]);

/** The merchant of a gateway that sends callbacks; undefined for an unknown one. */
export async function merchantOfGateway(db: Db, gatewayId: number): Promise<number | undefined> {
  const [route] = await db.infra('select merchant_id from gateway_routes where gateway_id = $1', [gatewayId]);
  return route && Number(route.merchant_id);
}

/** Reports of gateways are recognised for as long as a gateway may repeat them, and much longer. */
export const oldGatewayEvents: Removal = {
  keptSeconds: 90 * DAY_SECONDS,
  remove: `delete from gateway_facts where (merchant_id, gateway_id, fact_id) in
    (select merchant_id, gateway_id, fact_id from gateway_facts where received_at < $1 order by received_at
      limit ${removedAtOnce}) returning 1`,
};
