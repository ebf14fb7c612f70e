import type { MerchantMetric } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { usedUntil } from './billing/due-lines.js';
import { createCounters, emptyCounter } from './counters.js';
import type { Counter } from './domain/counter.js';
import { aggregationOf } from './metric-kinds.js';
import { adoptEvents, rebuildUniques, recount } from './recounting.js';
import { counters } from './tables.js';

/**
 * Gives what was counted from the start of `rest` on to a counter of its own, `rest`; returns the counter without it. With
 * `keepsEmpty` it is made also where nothing was counted.
 */
export async function splitAt(
  tx: Tx,
  metric: MerchantMetric,
  counter: Counter,
  rest: Pick<Counter, 'startAt' | 'endAt' | 'periodStart' | 'periodEnd'>,
  { keepsEmpty = false } = {},
): Promise<Counter> {
  const aggregation = aggregationOf(metric);
  const { startAt: start, endAt: end, periodStart, periodEnd } = rest;
  const cut = { ...counter, endAt: start };
  const tail = await recount(tx, aggregation, { ...counter, startAt: start });
  if (tail.events === 0n && !keepsEmpty) return cut;
  const head = await usedUntil(tx, aggregation, counter, start);
  const { merchantId, userId, version, noticeAt, noticeDue } = counter;
  const made = emptyCounter(counter, { start, end }, { merchantId, userId, periodStart, periodEnd });
  await createCounters(tx, [made]);
  if (tail.events === 0n) return cut;
  await tx.upsert(counters, [{ ...made, ...tail, version: version + 1, noticeAt, noticeDue }]);
  await adoptEvents(tx, made);
  if (aggregation === 'countUnique') {
    await rebuildUniques(tx, cut);
    await rebuildUniques(tx, made);
  }
  return { ...cut, ...tallyOf(head) };
}

const tallyOf = ({
  events,
  used,
  latestTime,
  latestId,
  minEventId,
  maxEventId,
}: Counter | Awaited<ReturnType<typeof recount>>) => ({
  events,
  used,
  latestTime,
  latestId,
  minEventId,
  maxEventId,
});
