import { OperationLogged, optAccountTypeOf, services } from '@recur/contracts';
import type { Consumption, Event, Tx } from '@recur/platform';
import { type LogEntry, operationLogs } from './tables.js';

/** Every service, identity too, says what was done by `operation.logged`; the log is made of nothing else. */
export const logConsumptions = (): Consumption[] =>
  services.map(from => ({
    name: `identity-log-${from}`,
    from,
    subject: 'operation.logged',
    order: 'alone',
    apply: record,
  }));

/** A batch is one statement with the commit, whatever its length; its inbox keeps an entry from coming twice. */
async function record(tx: Tx, events: readonly Event[]): Promise<void> {
  for (const event of events) tx.save(operationLogs, entry(event, await tx.nextId(operationLogs)));
}

function entry({ merchantId, at, data }: Event, id: number): LogEntry {
  const { actor, target, content, ids } = OperationLogged.parse(data);
  return {
    merchantId,
    id,
    createTime: at,
    optAccountType: optAccountTypeOf(actor),
    optAccountId: actor.id,
    optAccount: actor.display,
    memberId: actor.kind === 'member' ? Number(actor.id) : 0,
    optTarget: target,
    optContent: content,
    userId: ids.userId ?? 0,
    planId: ids.planId ?? 0,
    invoiceId: ids.invoiceId ?? '',
    subscriptionId: ids.subscriptionId ?? '',
    discountCode: ids.discountCode ?? '',
  };
}
