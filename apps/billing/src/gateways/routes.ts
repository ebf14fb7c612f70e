import { type Db, type Removal, removedAtOnce, type Tx } from '@recur/platform';

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
export const oldFacts: Removal = {
  keptSeconds: 90 * 86_400,
  remove: `delete from gateway_facts where (merchant_id, gateway_id, fact_id) in
    (select merchant_id, gateway_id, fact_id from gateway_facts where received_at < $1 order by received_at
      limit ${removedAtOnce}) returning 1`,
};
