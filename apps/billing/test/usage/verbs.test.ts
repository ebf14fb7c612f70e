import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  deleteUsageEvent,
  listUsageEvents,
  type MerchantMetric,
  newUsageEvent,
  subscriptionUsage,
} from '@recur/contracts';
import type { Tx } from '@recur/platform';
import type { PlanTerms, UsageSubscription } from '../../src/usage/domain/facts.js';
import * as usage from '../../src/usage/verbs.js';
import { charge, day, type Meter, meter, period, terms, tiers } from './meter.js';

let m: Meter;
beforeAll(async () => {
  m = await meter();
});
afterAll(() => m.t.close());

let invoices = 0;
const newInvoiceId = () => `in_usage${++invoices}`;
const current = (sub: UsageSubscription) => {
  const found = sub.periods.at(-1);
  if (!found) throw new Error('no period');
  return found;
};
const billedOf = (sub: UsageSubscription, until?: number) => ({
  subscription: sub,
  period: current(sub),
  until: until ?? current(sub).end,
});
const amounts = (lines: usage.UsageLine[]) =>
  lines.map(({ quantity, amount, late }) => [Number(quantity), Number(amount), late]);
const preview = async (sub: UsageSubscription, until?: number) =>
  amounts(await m.inTx(tx => usage.linesFor(tx, billedOf(sub, until))));
const close = async (sub: UsageSubscription, invoiceId = newInvoiceId(), until?: number) =>
  amounts(await m.inTx(tx => closed(tx, billedOf(sub, until), invoiceId)));
/** Closes usage; the lines that are billed. */
async function closed(tx: Tx, billed: usage.Billed, invoiceId: string) {
  const lines = await usage.linesFor(tx, billed);
  await usage.close(tx, billed, invoiceId);
  return lines;
}
const reopen = (invoiceId: string) => m.inTx(tx => usage.reopen(tx, invoiceId));
/** The subscription in its next period; the last one is invoiced. */
function renewed(sub: UsageSubscription, ...of: PlanTerms[]): UsageSubscription {
  const last = current(sub);
  const next = period(last.end, last.end + 30 * day, ...(of.length > 0 ? of : (last.segments.at(-1)?.terms ?? [])));
  m.clock.advance(Math.max(0, last.end + 60 - m.clock.now()));
  return m.change(sub, { periods: [...sub.periods.slice(0, -1), { ...last, state: 'invoiced' }, next] });
}

const metered = (
  aggregation: Parameters<Meter['metric']>[1] = 'sum',
  price = tiers,
): [MerchantMetric, UsageSubscription] => {
  const metric = m.metric('chargeMetered', aggregation);
  const start = m.clock.now() - 10 * day;
  return [
    metric,
    m.subscribed([], { start, periods: [period(start, start + 30 * day, terms({ charges: [price(metric.id)] }))] }),
  ];
};

describe('late usage (G1)', () => {
  it('150 units billed (1250), 10 late: 50 on the next invoice, at that period’s prices and tier position', async () => {
    const [metric, begun] = metered();
    await m.event(begun, metric, 150);
    expect(await preview(begun)).toEqual([[150, 1250, false]]);
    const first = newInvoiceId();
    expect(await close(begun, first)).toEqual([[150, 1250, false]]);
    const sub = renewed(begun, terms({ charges: [charge(metric.id, { standardAmount: 99 })] }));
    expect(await m.event(sub, metric, 10, { eventTime: current(begun).end - 5 })).toBe(160);
    expect(await m.event(sub, metric, 2)).toBe(2);
    const second = newInvoiceId();
    expect(await close(sub, second)).toEqual([
      [2, 198, false],
      [10, 50, true],
    ]);
    expect(await close(renewed(sub))).toEqual([]);
    for (const [invoiceId, values] of [
      [first, [150]],
      [second, [2, 10]],
    ] as const) {
      const { events } = await m.t.done(listUsageEvents, { invoiceId });
      expect(events.map(one => [one.aggregationPropertyInt, one.chargeInvoiceId, one.chargeStatus])).toEqual(
        values.map(value => [value, invoiceId, 1]),
      );
    }
  });

  it('an invoiced event that is deleted is a negative correction, and its id stays taken', async () => {
    const [metric, begun] = metered();
    await m.event(begun, metric, 140);
    const gone = m.input(begun, metric, 10);
    await m.t.done(newUsageEvent, gone);
    await close(begun);
    await m.t.done(deleteUsageEvent, gone);
    expect(await m.t.call(newUsageEvent, gone)).toMatchObject({ ok: false, slug: 'usage_event_deleted' });
    expect(await preview(renewed(begun))).toEqual([[-10, -50, true]]);
  });

  it('goes back to unbilled when its invoice is cancelled, in whatever order (Z4)', async () => {
    const [metric, begun] = metered();
    await m.event(begun, metric, 150);
    const [first, second] = [newInvoiceId(), newInvoiceId()];
    await close(begun, first);
    const sub = renewed(begun);
    await m.event(sub, metric, 10, { eventTime: current(begun).end - 5 });
    await close(sub, second);
    await reopen(first);
    const next = renewed(sub);
    expect(await preview(next)).toEqual([[150, 1250, true]]);
    await reopen(second);
    expect(await m.counters(sub)).toMatchObject([
      { used: 160, closed: false },
      { used: 0, closed: false },
    ]);
    await m.inTx(tx => usage.close(tx, { ...billedOf(begun) }, newInvoiceId()));
    expect(await preview(next)).toEqual([]);
  });
});

describe('arrears (G2)', () => {
  it('900 units at 10: 9000; 30 more in grace: 9300; billed once', async () => {
    const [metric, sub] = metered('sum', id => charge(id));
    await m.event(sub, metric, 900);
    expect(await preview(sub)).toEqual([[900, 9000, false]]);
    m.clock.advance(20 * day + 60);
    const last = { ...current(sub), state: 'grace' as const };
    const next = period(last.end, last.end + 30 * day, terms({ charges: [charge(metric.id)] }));
    const graced = m.change(sub, { periods: [last, next] });
    expect(await m.event(graced, metric, 30, { eventTime: last.end - 600 })).toBe(930);
    const lines = await m.inTx(tx =>
      closed(tx, { subscription: graced, period: last, until: last.end }, newInvoiceId()),
    );
    expect(amounts(lines)).toEqual([[930, 9300, false]]);
    expect(lines[0]).toMatchObject({
      derivation: { formula: 'round(units × unitPrice)', inputs: { used: 930 } },
      charge: {
        CurrentUsedValue: 930,
        totalChargeAmount: 9300,
        lines: [{ quantity: 930, unitAmount: 10, amount: 9300 }],
      },
    });
    expect(
      amounts(await m.inTx(tx => usage.linesFor(tx, { subscription: graced, period: last, until: last.end }))),
    ).toEqual([]);
  });
});

describe('a plan change (G5)', () => {
  it('old 100 at 10 then 5, used 150: 1250; new 8, 60 more: 480; events after the proration date move to the new stretch', async () => {
    const [metric, sub] = metered();
    const at = m.clock.now();
    await m.event(sub, metric, 150, { eventTime: at - 60 });
    m.clock.advance(600);
    await m.event(sub, metric, 20, { eventTime: at + 30 });
    const change = newInvoiceId();
    expect(await preview(sub, at)).toEqual([[150, 1250, false]]);
    expect(await close(sub, change, at)).toEqual([[150, 1250, false]]);
    const last = current(sub);
    const [before, after] = [
      terms({ charges: [tiers(metric.id)] }),
      terms({ charges: [charge(metric.id, { standardAmount: 8 })] }),
    ];
    const segments = [
      { start: last.start, end: at, terms: [before] },
      { start: at, end: last.end, terms: [after] },
    ];
    const changed = m.change(sub, { periods: [{ ...last, segments }] });
    expect(await m.event(changed, metric, 40)).toBe(60);
    expect(await preview(changed)).toEqual([[60, 480, false]]);
    expect(await m.counters(changed)).toMatchObject([
      { end: at, used: 150, closed: true },
      { start: at, end: last.end, used: 60, closed: false },
    ]);
  });

  it.each(['sum', 'countUnique', 'max'] as const)('that lapses joins its stretches again: %s', async aggregation => {
    const [metric, sub] = metered(aggregation, id => charge(id));
    const at = m.clock.now();
    const send = (value: number, id: string, eventTime: number) =>
      m.event(sub, metric, value, { eventTime, aggregationUniqueId: id });
    await send(5, 'a', at - 60);
    m.clock.advance(600);
    await send(7, 'a', at + 30);
    await send(2, 'b', at + 40);
    const whole = await m.counters(sub);
    const change = newInvoiceId();
    await close(sub, change, at);
    expect(await m.counters(sub)).toHaveLength(2);
    await reopen(change);
    expect(await m.counters(sub)).toEqual(whole);
    expect(await send(1, 'b', at + 50)).toBe({ sum: 15, countUnique: 2, max: 7 }[aggregation]);
  });

  it('with an equal price closes nothing', async () => {
    const [metric, sub] = metered('sum', id => charge(id));
    const at = m.clock.now();
    await m.event(sub, metric, 5);
    const last = current(sub);
    const of = (planId: number) => [terms({ planId, charges: [charge(metric.id)] })];
    const segments = [
      { start: last.start, end: at, terms: of(1) },
      { start: at, end: last.end, terms: of(2) },
    ];
    const changed = m.change(sub, { periods: [{ ...last, segments }] });
    expect(await m.event(changed, metric, 6)).toBe(11);
    expect(await preview(changed)).toEqual([[11, 110, false]]);
  });
});

describe('recurring charges (G3)', () => {
  it.each([
    ['sum', [3, 2], [30, 50]],
    ['latest', [3, 2], [30, 20]],
    ['max', [3, 2], [30, 30]],
    ['countUnique', [1, 1], [10, 10]],
  ] as const)(
    '%s never restarts, and is billed on the value at the cut, events or none',
    async (aggregation, values, due) => {
      const metric = m.metric('chargeRecurring', aggregation);
      const start = m.clock.now() - 10 * day;
      const plan = terms({ charges: [charge(metric.id)] });
      let sub = m.subscribed([], { start, periods: [period(start, start + 30 * day, plan)] });
      const paid: number[] = [];
      for (const value of values) {
        await m.event(sub, metric, value, { aggregationUniqueId: 'same' });
        paid.push((await close(sub))[0]?.[1] as number);
        sub = renewed(sub);
      }
      expect(paid).toEqual(due);
      expect((await close(sub)).map(([, amount]) => amount)).toEqual([due[1]]);
      const { userMetric } = await m.t.done(subscriptionUsage, { subscriptionId: sub.subscriptionId });
      expect(userMetric.recurringChargeStats[0]).toMatchObject({ totalChargeAmount: due[1] });
    },
  );
});

describe('a trial (G6)', () => {
  it('counts and charges nothing; charges start at zero at its end', async () => {
    const [metric, begun] = metered('sum', id => charge(id));
    const trialEnd = m.clock.now() + 600;
    const sub = m.change(begun, { free: [{ start: begun.start, end: trialEnd }] });
    expect(await m.event(sub, metric, 50)).toBe(50);
    m.clock.advance(700);
    expect(await m.event(sub, metric, 4)).toBe(4);
    expect(await close(sub)).toEqual([[4, 40, false]]);
  });
});
