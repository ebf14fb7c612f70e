import type { INestApplicationContext } from '@nestjs/common';
import { OperationLogged, optAccountTypeOf, services } from '@recur/contracts';
import { type Consumption, type Event, Keyring, type Tx } from '@recur/platform';
import { entryHash, headText, logPurpose } from './chain.js';
import { type LogEntry, type LogHead, logHeads, operationLogs } from './tables.js';

/** Consumers of `operation.logged`, one per service, identity included: the only source of the log. */
export const logConsumptions = (app: Pick<INestApplicationContext, 'get'>): Consumption[] =>
  services.map(from => ({
    name: `identity-log-${from}`,
    from,
    subject: 'operation.logged',
    order: 'alone',
    apply: (tx, events) => record(tx, events, app.get(Keyring)),
  }));

/**
 * Appends a batch to its merchant's chain, in one statement with the commit. The lock of the head serializes a merchant's
 * batches across replicas; the inbox prevents duplicate entries.
 */
async function record(tx: Tx, events: readonly Event[], keyring: Keyring): Promise<void> {
  const ids = await Promise.all(events.map(() => tx.nextId(operationLogs)));
  const entries = events.map((event, at) => entry(event, ids[at] ?? 0));
  let { n, hash } = await lockedHead(tx);
  for (const next of entries) {
    next.n = ++n;
    hash = next.hash = entryHash(hash, next);
    tx.save(operationLogs, next);
  }
  const head = { merchantId: tx.merchantId, n, hash };
  tx.save(logHeads, { ...head, signature: keyring.sign(logPurpose, headText(head)) });
}

async function lockedHead(tx: Tx): Promise<LogHead> {
  const head = await tx.lockIfAny(logHeads, {});
  if (head) return head;
  const begin = 'insert into operation_log_heads (merchant_id, n, hash, signature) values ($1, 0, $2, $2)';
  await tx.run(`${begin} on conflict do nothing`, [tx.merchantId, '']);
  return tx.lock(logHeads, {}, 'internal_error');
}

/** The entry of an event, not yet placed in the chain (n = 0, no hash). */
function entry({ merchantId, at, data }: Event, id: number): LogEntry {
  const { actor, target, content, ids } = OperationLogged.parse(data);
  return {
    merchantId,
    n: 0,
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
    hash: '',
  };
}
