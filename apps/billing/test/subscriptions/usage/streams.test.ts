import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { submitChange } from '@recur/contracts';
import { utc } from '../cycle/subscribers.js';
import { charge, type Metered, metered, tiers } from './metered.js';

// Random streams of events over period ends and a change of prices, with repeats, late ones and deletions, in any order:
// what the invoices bill for each stretch is its price by a naive recount.

let s: Metered;
beforeAll(async () => {
  s = await metered();
});
afterAll(() => s.t.close());

const day = 86_400;
const aggregations = ['count', 'countUnique', 'latest', 'max', 'sum'] as const;
type Aggregation = (typeof aggregations)[number];

interface Event {
  id: string;
  order: number;
  time: number;
  value: number;
  unique: string;
}

/** A linear congruential generator (Numerical Recipes). */
function randomFrom(seed: number) {
  let state = seed;
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const values: Record<Aggregation, (events: readonly Event[]) => number> = {
  count: events => events.length,
  countUnique: events => new Set(events.map(({ unique }) => unique)).size,
  latest: events =>
    [...events].sort((one, other) => one.time - other.time || one.order - other.order).at(-1)?.value ?? 0,
  max: events => Math.max(0, ...events.map(({ value }) => value)),
  sum: events => events.reduce((total, { value }) => total + value, 0),
};
const prices = {
  old: (units: number) => Math.min(units, 100) * 10 + Math.max(units - 100, 0) * 5,
  since: (units: number) => units * 8,
};
const isStanding = (aggregation: Aggregation) => aggregation !== 'count' && aggregation !== 'sum';

it.each([1, 2, 3, 4])('of seed %i are billed as a naive recount prices them', async seed => {
  const random = randomFrom(seed);
  await s.anew('2026-03-01');
  const metrics = aggregations.map(aggregation => ({ aggregation, ...s.metric('chargeMetered', aggregation) }));
  const priced = (price: object) => metrics.map(({ id }) => charge(id, price));
  const graduated = { chargeType: 1, standardAmount: 0, graduatedAmounts: tiers };
  const userId = await s.buyer();
  const planId = s.plan({ amount: 1000, metricMeteredCharge: priced(graduated) });
  const newPlanId = s.plan({ amount: 2000, metricMeteredCharge: priced({ standardAmount: 8 }) });
  const { id } = await s.subscribe({ userId, planId });

  const live = new Map(metrics.map(({ code }) => [code, new Map<string, Event>()]));
  const sent: object[] = [];
  let order = 0;
  /** A batch of events of the last 20 days, some of which were sent before, and a deletion. */
  const stream = async (now: number) => {
    const batch = Array.from({ length: 12 + random(12) }, () => {
      const metric = metrics[random(metrics.length)] as (typeof metrics)[number];
      const time = Math.max(utc('2026-03-01') + 60, now - random(20 * day));
      const event = { id: `s${seed}-${++order}`, order, time, value: random(60), unique: `u${random(9)}` };
      live.get(metric.code)?.set(event.id, event);
      return {
        ...{ userId, metricCode: metric.code, externalEventId: event.id, eventTime: time },
        ...{ aggregationValue: event.value, aggregationUniqueId: event.unique },
      };
    });
    const repeats = sent.filter(() => random(20) === 0);
    const { results } = await s.record([...batch, ...repeats]);
    expect(results.filter(({ code }) => code !== 0)).toEqual([]);
    sent.push(...batch);
    const metric = metrics[random(metrics.length)] as (typeof metrics)[number];
    const young = [...(live.get(metric.code)?.values() ?? [])].filter(({ time }) => time > now - 30 * day);
    const gone = young[random(Math.max(young.length, 1))];
    if (!gone) return;
    await s.forget(userId, metric, gone.id);
    live.get(metric.code)?.delete(gone.id);
    // the id of an event that was deleted is not sent again
    const index = sent.findIndex(one => 'externalEventId' in one && one.externalEventId === gone.id);
    if (index >= 0) sent.splice(index, 1);
  };

  const change = utc('2026-04-12T06:00');
  const times = [
    '2026-03-09',
    '2026-03-20',
    '2026-03-31T23:00',
    '2026-04-05',
    '2026-04-11',
    '2026-04-20',
    '2026-05-03',
  ];
  for (const at of times.map(utc)) {
    if (at > change && at < change + 10 * day) {
      await s.to(change);
      await s.t.done(submitChange, { subscriptionId: id, newPlanId, quantity: 1 }, s.merchant);
      await s.to(change + 3600);
    }
    await s.to(at);
    await stream(at);
  }
  await s.to('2026-07-02');

  const stretches = [
    { from: utc('2026-03-01'), until: utc('2026-04-01'), part: 1, price: prices.old },
    { from: utc('2026-04-01'), until: change, part: (change - utc('2026-04-01')) / (30 * day), price: prices.old },
    { from: change, until: utc('2026-05-01'), part: (utc('2026-05-01') - change) / (30 * day), price: prices.since },
    { from: utc('2026-05-01'), until: utc('2026-06-01'), part: 1, price: prices.since },
  ];
  const expected = metrics.flatMap(({ id: metricId, code, aggregation }) =>
    stretches.flatMap(({ from, until, part, price }) => {
      const events = [...(live.get(code)?.values() ?? [])].filter(({ time }) => time >= from && time < until);
      const amount = Math.round(price(values[aggregation](events)) * (isStanding(aggregation) ? part : 1));
      return amount === 0 ? [] : [`usage:${metricId} ${from} ${amount}`];
    }),
  );
  const billed = await s.t.rows(
    `select l.item_key, l.start_at, sum(l.amount_excluding_tax) as amount from invoices i
      join invoice_lines l on l.invoice_id = i.invoice_id
      where i.subscription_id = $1 and i.kind = 'invoice' and i.status = 'paid' and l.item_key like 'usage:%'
      group by 1, 2 having sum(l.amount_excluding_tax) <> 0`,
    [id],
  );
  expect(expected.length).toBeGreaterThan(12);
  expect(billed.map(row => `${row.item_key} ${row.start_at} ${row.amount}`).sort()).toEqual(expected.sort());
});
