import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { INestApplicationContext } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import { type Reader, systemCaller } from '@recur/platform';
import { shownValue } from './billable-usage.js';
import { countersOf } from './counters.js';
import { aggregationOf, eventTimes, isLimit, metricKindOf } from './domain/counter.js';
import type { UsageSubscription } from './domain/subscription.js';
import { uniqueCounts, uniqueKey } from './events/keys.js';
import { type AssignedEvent, assignEvent, count, counterAt, limitTotal } from './events/recorder.js';
import type { Incoming } from './events/resolve.js';
import { UsageMending } from './mending.js';
import type { Compared } from './recounts.js';

/** Exit code of sysexits.h for wrong arguments. */
const WRONG_USAGE = 64;

const help = `Usage: node apps/billing/dist/main.js usage recount --merchant <id>
compares the merchant's usage counters with their events and mends those that differ.`;

/** Operator command: mends the usage counters of a merchant, and prints each that it mended. Returns the exit code. */
export async function usage(app: INestApplicationContext, words: readonly string[]): Promise<number> {
  const merchantId = merchantIn(words);
  if (merchantId === undefined) {
    process.stderr.write(`${help}\n`);
    return WRONG_USAGE;
  }
  let mended = 0;
  const caller = systemCaller(merchantId, randomUUID(), Number.POSITIVE_INFINITY);
  const right = await app.get(UsageMending).mend(caller, compared => {
    mended++;
    process.stdout.write(`${textLine(compared)}\n`);
  });
  process.stdout.write(`Counters mended: ${mended}. Counters that were right: ${right}.\n`);
  return 0;
}

/** The id after `recount --merchant`; undefined for anything else. */
function merchantIn(words: readonly string[]): number | undefined {
  try {
    const options = { merchant: { type: 'string' } } as const;
    const { positionals, values } = parseArgs({ args: [...words], options, allowPositionals: true });
    const isMeant = positionals.join(' ') === 'recount' && /^[1-9]\d{0,14}$/.test(values.merchant ?? '');
    return isMeant ? Number(values.merchant) : undefined;
  } catch {
    return undefined;
  }
}

function textLine({ counter, exact }: Compared): string {
  const { subscriptionId, metricId, startAt, events, used, closed } = counter;
  const from = new Date(startAt * 1000).toISOString().replace('.000', '');
  const what = `${subscriptionId}, metric ${metricId} from ${from}`;
  return `${what}${closed ? ', billed' : ''}: ${used} of ${events} events is now ${exact.used} of ${exact.events}.`;
}

type MetricOnly = { incoming: Pick<Incoming, 'metric'> };

const nowhere = { currentValue: 0, isLimited: false, totalLimit: 0, left: 0, periodEnd: 0 } as const;

/** Counts an event as the recorder would, in a counter that is not kept. A blank unique id stands for a new one. */
export async function checked(reader: Reader, incoming: Incoming, subscriptions: readonly UsageSubscription[]) {
  const assigned = assignEvent(incoming, subscriptions, reader.now);
  if (assigned instanceof Rejected) return { allowed: false, reason: assigned.slug, ...nowhere };
  const { period, at } = assigned;
  const { metric, value, uniqueId } = incoming;
  const { counter, shown } = await standing(reader, assigned);
  const isLimited = isLimit(metric);
  const [currentValue, isNew] = await Promise.all([
    isLimited ? counter.used : shown(),
    isNewIn(reader, counter, incoming),
  ]);
  const event = { id: Number.MAX_SAFE_INTEGER, eventTime: at, value, uniqueId };
  const isTaken = count(assigned, { ...counter }, event, isNew) !== undefined;
  const total = limitTotal(assigned, counter);
  return {
    allowed: isTaken,
    reason: isTaken ? '' : 'usage_limit_exceeded',
    currentValue: Number(currentValue),
    isLimited,
    totalLimit: Number(total),
    left: isLimited && total > counter.used ? Number(total - counter.used) : 0,
    periodEnd: period.end,
  };
}

/** The counter of an event, and how to get the value that it shows. */
export async function standing(
  reader: Reader,
  assigned: Pick<AssignedEvent, 'subscription' | 'period' | 'at'> & MetricOnly,
) {
  const { subscription, incoming } = assigned;
  const { metric } = incoming;
  const pair = { subscriptionId: subscription.subscriptionId, metricId: metric.id };
  // a recurring charge counts on over all periods
  const since = metricKindOf(metric) === 'chargeRecurring' ? 0 : reader.now - eventTimes.lateSeconds;
  const there = await countersOf(reader, [pair], since);
  const { counter } = counterAt(assigned, reader.merchantId, there);
  return { counter, shown: () => shownValue(reader, metric, counter, there, subscription) };
}

/** True if no event of the counter has the unique id. */
async function isNewIn(
  reader: Reader,
  counter: ReturnType<typeof counterAt>['counter'],
  { metric, uniqueId }: Incoming,
): Promise<boolean> {
  if (aggregationOf(metric) !== 'countUnique' || uniqueId === '') return true;
  const name = { ...counter, uniqueId };
  return ((await uniqueCounts(reader, [name])).get(uniqueKey(name)) ?? 0n) === 0n;
}
