import type { Actor, OperationLogged } from '@recur/contracts';
import type { Event } from '@recur/platform';
import type { TestService } from '@recur/platform/testing';
import { LogVerification } from '../../src/operation-log/verification.js';

const key: Actor = { kind: 'key', id: 'hash', display: 'key_...123456' };
let made = 0;

/** An event `operation.logged`, as a service publishes it. */
export function logged(data: Partial<OperationLogged>, merchantId = 15): Event {
  const id = `ev_${++made}`;
  return {
    id,
    type: 'operation.logged',
    merchantId,
    aggregate: 'operation',
    aggregateId: id,
    version: 1,
    at: 1_700_000_000 + made,
    actor: key,
    requestId: `req_${made}`,
    traceparent: '',
    data: { actor: key, target: 'Invoice(in_1)', content: 'New', ids: {}, ...data },
  };
}
export const batch = (merchantId: number, count: number) =>
  Array.from({ length: count }, () => logged({ ids: { userId: made, invoiceId: 'in_"ü\\\\' } }, merchantId));
export const consumerOf = (of: Pick<TestService, 'consumers'>, from: string) => {
  const found = of.consumers.find(({ what }) => what.name === `identity-log-${from}`);
  if (!found) throw new Error(from);
  return found;
};

/** Helpers to append to a merchant's log, verify it and tamper with it. */
export function logScene(service: () => TestService) {
  const append = (merchantId: number, count: number) =>
    consumerOf(service(), 'billing').receive(merchantId, batch(merchantId, count));
  const verify = (merchantId: number) => service().app.get(LogVerification).verify(merchantId);
  const headOf = async (merchantId: number) =>
    (await service().rows('select n::integer, hash from operation_log_heads where merchant_id = $1', [merchantId]))[0];

  /** Runs statements in one transaction as the tables' owner, who can remove every guard. */
  const asOwner = (merchantId: number, sql: string) =>
    service().rows(`set local role identity_owner; set local app.merchant_id = '${merchantId}';
      alter table operation_logs disable trigger operation_logs_keep; ${sql};
      alter table operation_logs enable trigger operation_logs_keep`);
  return { append, verify, headOf, asOwner };
}
