import type { MerchantMetric } from '@recur/contracts';
import type { Reader, Tx } from '@recur/platform';
import { metricsById } from '../customers/catalog.js';
import { type BilledUntil, priceAtClose, usageBefore } from './billable-usage.js';
import { counterKey, createCounters, emptyCounter, lockCounters, pairKey, pairsIn } from './counters.js';
import { aggregationOf, type Counter } from './domain/counter.js';
import { reassignEvents, rebuildUniques, recount } from './recounts.js';
import { type Billing, billings, counters } from './tables.js';

/**
 * Gives what was counted from the start of `rest` on to a counter of its own, `rest`; returns the counter without it. With
 * `keepsEmpty` it is made also where nothing was counted.
 */
export async function splitCounter(
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
  const head = await usageBefore(tx, aggregation, counter, start);
  const { merchantId, userId, version, noticeAt, noticeDue } = counter;
  const made = emptyCounter(counter, { start, end }, { merchantId, userId, periodStart, periodEnd });
  await createCounters(tx, [made]);
  if (tail.events === 0n) return cut;
  await tx.upsert(counters, [{ ...made, ...tail, version: version + 1, noticeAt, noticeDue }]);
  await reassignEvents(tx, made);
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

const dropCounter = `delete from usage_counters where merchant_id = $1 and subscription_id = $2 and metric_id = $3
  and start_at = $4`;
const othersText = `select metric_id, start_at from usage_billings where merchant_id = $1 and subscription_id = any($2)
  and invoice_id <> $3`;

/**
 * The counter as it is closed, with its price. Where it reaches beyond `until`, it ends there, and what was counted from
 * then on becomes a counter of its own.
 */
export async function endCounterAt(
  tx: Tx,
  metric: MerchantMetric,
  counter: Counter,
  billed: BilledUntil,
): Promise<Counter> {
  const { subscription, until } = billed;
  const price = priceAtClose(counter, subscription) ?? null;
  if (counter.endAt <= until) return { ...counter, price };
  // an empty rest bounds the head too, should what it was cut for not come
  const head = await splitCounter(tx, metric, counter, { ...counter, startAt: until }, { keepsEmpty: true });
  return { ...head, price };
}

/**
 * Takes billings back. A counter that no other document has billed is open again; one that was cut by a change which did
 * not come is joined with what followed it.
 */
export async function reopenBilled(tx: Tx, billed: readonly Billing[]): Promise<void> {
  const pairs = pairsIn(billed);
  const locked = new Map((await lockCounters(tx, pairs, 0)).map(counter => [counterKey(counter), counter]));
  const isBilledElsewhere = await billedElsewhere(tx, billed);
  const metrics = await metricsById(
    tx,
    pairs.map(({ metricId }) => metricId),
  );
  const opened: Counter[] = [];
  for (const billing of billed) {
    const counter = locked.get(counterKey(billing));
    const metric = metrics.get(billing.metricId);
    if (!counter || !metric) throw new Error(`no counter ${counterKey(billing)}`);
    const isOpen = !isBilledElsewhere(billing);
    const back = { ...unbilled(counter, billing, isOpen), version: counter.version + 1 };
    const next = [...locked.values()].find(one => pairKey(one) === pairKey(counter) && one.startAt === counter.endAt);
    const joined = isOpen && billing.cut ? await join(tx, metric, back, next) : back;
    opened.push(joined);
  }
  // at once: what bills the usage again may be made in the same transaction
  await tx.upsert(counters, opened);
}

/** Counters as they are without the billings of an invoice, which opens or joins none. */
export async function countersWithout(reader: Reader, there: readonly Counter[], invoiceId: string) {
  const billed = await reader.all(billings, { invoiceId });
  const byKey = new Map(billed.map(billing => [counterKey(billing), billing]));
  const isBilledElsewhere = await billedElsewhere(reader, billed);
  return there.map(counter => {
    const billing = byKey.get(counterKey(counter));
    return billing ? unbilled(counter, billing, !isBilledElsewhere(billing)) : counter;
  });
}

/** Tells which counters other invoices than that of these billings have billed too. */
async function billedElsewhere(reader: Reader, billed: readonly Billing[]): Promise<(billing: Billing) => boolean> {
  const subscriptionIds = [...new Set(billed.map(({ subscriptionId }) => subscriptionId))];
  const others = await reader.query(othersText, [reader.merchantId, subscriptionIds, billed[0]?.invoiceId ?? '']);
  const keys = new Set(others.map(row => `${row.metric_id} ${row.start_at}`));
  return ({ metricId, startAt }) => keys.has(`${metricId} ${startAt}`);
}

const unbilled = (counter: Counter, { value, amount }: Billing, isOpen: boolean): Counter => ({
  ...counter,
  billedValue: counter.billedValue - value,
  billedAmount: counter.billedAmount - amount,
  ...(isOpen && { closed: false, price: null }),
});

async function join(tx: Tx, metric: MerchantMetric, counter: Counter, next: Counter | undefined): Promise<Counter> {
  if (next?.closed) return counter;
  if (next?.periodStart !== counter.periodStart) return { ...counter, endAt: counter.periodEnd };
  const whole = { ...counter, endAt: next.endAt };
  await tx.run(dropCounter, [tx.merchantId, next.subscriptionId, next.metricId, next.startAt]);
  await reassignEvents(tx, whole);
  const aggregation = aggregationOf(metric);
  if (aggregation === 'countUnique') await rebuildUniques(tx, whole);
  return { ...whole, ...(await recount(tx, aggregation, whole)), version: Math.max(counter.version, next.version) + 1 };
}
