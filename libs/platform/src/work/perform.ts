import { systemCaller } from '../runtime/caller.js';
import { within } from '../runtime/tracing.js';
import type { Tx } from '../store/tx.js';
import type { Lease, LeaseParts } from './lease.js';
import type { WorkItem } from './work.js';

/** The items were given to another worker meanwhile: the transaction is rolled back. */
export class LeaseLost extends Error {
  constructor(readonly keys: readonly string[]) {
    super('another worker has taken the items over');
  }
}

/**
 * Does leased items, in one transaction with taking them off the schedule. `now`: the merchant's time at which they are
 * done, if it is not the present. Throws LeaseLost.
 */
export async function perform(
  { db }: LeaseParts,
  { id, work, merchantId }: Lease,
  items: readonly WorkItem[],
  now?: number,
): Promise<void> {
  const [first] = items;
  const requestId = items.length === 1 && first ? first.requestId : `${work.kind}_${id}`;
  const system = systemCaller(merchantId, requestId, Number.POSITIVE_INFINITY);
  const caller = now === undefined ? system : { ...system, now };
  const run = await work.prepare(items);
  const effect = async (tx: Tx) => {
    await run(tx);
    const lost = await tx.settle({ kind: work.kind, keys: items.map(({ key }) => key), lease: id });
    if (lost.length > 0) throw new LeaseLost(lost);
    return {};
  };
  await within(`work ${work.kind}`, 'internal', caller, async inner => {
    await (work.logged ? db.write(inner, effect) : db.apply(inner, effect));
  });
}
