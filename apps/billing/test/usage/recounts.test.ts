import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { batchUsageEvents, deleteUsageEvent, type MerchantMetric, newUsageEvent } from '@recur/contracts';
import { metrics } from '@recur/platform';
import { billing } from '../../src/service.js';
import type { UsageSubscription } from '../../src/usage/domain/facts.js';
import { carryOver } from '../../src/usage/limits/carry-over.js';
import * as usage from '../../src/usage/verbs.js';
import { charge, day, limit, type Meter, meter, period, terms } from './meter.js';

let m: Meter;
beforeAll(async () => {
  m = await meter();
});
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(() => m.t.close());

const aggregations = ['count', 'countUnique', 'latest', 'max', 'sum'] as const;

/** What the metric has counted in this process. */
async function differences(): Promise<number> {
  const found = await metrics.getSingleMetric('recur_usage_recount_differences_total')?.get();
  return found?.values[0]?.value ?? 0;
}

/** Differences, and their entries in the operation log, of these days. */
async function found(days = 1) {
  const before = await differences();
  await m.t.work.drain();
  await m.t.emitted();
  for (let at = 0; at < days; at++) {
    m.clock.advance(day + 60);
    await m.t.work.drain();
  }
  expect(await m.t.rows('select key, reason from due_work where reason is not null')).toEqual([]);
  return { differences: (await differences()) - before, entries: await entries() };
}

async function entries(): Promise<string[]> {
  const emitted = await m.t.emitted();
  const logged = emitted.flatMap(({ type, data }) => (type === 'operation.logged' ? [JSON.stringify(data)] : []));
  return logged.filter(entry => entry.includes('Counter')).map(entry => JSON.parse(entry).content);
}

/** Runs the operator's command; what it wrote, and its exit code. */
async function command(...words: string[]) {
  let out = '';
  const into = (chunk: unknown) => {
    out += String(chunk);
    return true;
  };
  jest.spyOn(process.stdout, 'write').mockImplementation(into);
  jest.spyOn(process.stderr, 'write').mockImplementation(into);
  const code = await billing.commands?.usage?.(m.t.app, words);
  jest.restoreAllMocks();
  return { out, code };
}

const mend = async () => (await command('recount', '--merchant', '15')).out.trimEnd().split('\n');

/** A subscription in the first of 30 days, with a metric that is charged 10 a unit. */
function charged(aggregation: (typeof aggregations)[number]): [MerchantMetric, UsageSubscription] {
  const metric = m.metric('chargeMetered', aggregation);
  const start = m.clock.now() - 600;
  const first = period(start, start + 30 * day, terms({ charges: [charge(metric.id)] }));
  return [metric, m.subscribed([], { start, periods: [first] })];
}

const damage = (sub: UsageSubscription, how: string) =>
  m.t.rows(`update usage_counters set ${how} where subscription_id = $1`, [sub.subscriptionId]);

describe('a counter that differs from its events', () => {
  it('is counted, and told in the operation log, once; and again after it was mended', async () => {
    const [metric, sub] = charged('sum');
    await m.event(sub, metric, 5);
    expect(await found()).toEqual({ differences: 0, entries: [] });
    await damage(sub, 'used = used + 2');
    const start = sub.start;
    const entry = `CounterDiffers(from ${start}: 7 of 1 events, exactly 5 of 1)`;
    expect(await found()).toEqual({ differences: 1, entries: [entry] });
    expect(await found(2)).toEqual({ differences: 0, entries: [] });
    expect((await mend()).at(-1)).toMatch(/^Counters mended: 1\./);
    expect(await found(2)).toEqual({ differences: 0, entries: [] });
    await damage(sub, 'events = 2');
    expect(await found(2)).toEqual({
      ...{ differences: 1, entries: [`CounterDiffers(from ${start}: 5 of 2 events, exactly 5 of 1)`] },
    });
    await mend();
  });

  it.each(aggregations)('is found and mended: %s', async aggregation => {
    const [metric, sub] = charged(aggregation);
    for (const [value, aggregationUniqueId] of [
      [3, 'a'],
      [9, 'b'],
      [4, 'a'],
    ] as const) {
      await m.event(sub, metric, value, { aggregationUniqueId });
    }
    const all = 'select * from usage_counters where subscription_id = $1';
    const [right] = await m.t.rows(all, [sub.subscriptionId]);
    await damage(sub, 'events = 8, used = 80, latest_time = 1, latest_id = 1, min_event_id = 1, max_event_id = 1');
    await m.t.rows(`update usage_uniques set events = 5 where unique_id = 'a' and subscription_id = $1`, [
      sub.subscriptionId,
    ]);
    const { used } = right ?? {};
    expect((await found()).entries).toEqual([
      `CounterDiffers(from ${sub.start}: 80 of 8 events, exactly ${used} of 3)`,
    ]);
    const [line, last] = await mend();
    expect(line).toMatch(
      new RegExp(`^${sub.subscriptionId}, metric ${metric.id} from \\S+Z: 80 of 8 events is now ${used} of 3.$`),
    );
    expect(last).toMatch(/^Counters mended: 1\. Counters that were right: [1-9]\d*\.$/);
    expect(await entries()).toEqual([`CounterMended(from ${sub.start}: 80 of 8 events, exactly ${used} of 3)`]);
    const [mended] = await m.t.rows(all, [sub.subscriptionId]);
    const told = { version: expect.anything(), notice_due: true, notice_at: expect.anything() };
    expect(mended).toEqual({ ...right, ...told });
    expect(await mend()).toEqual([expect.stringMatching(/^Counters mended: 0\./)]);
  });

  it('is found where only its unique ids are wrong', async () => {
    const [metric, sub] = charged('countUnique');
    await m.event(sub, metric, 1, { aggregationUniqueId: 'a' });
    await m.t.rows(`update usage_uniques set unique_id = 'z' where subscription_id = $1`, [sub.subscriptionId]);
    expect(await found()).toMatchObject({ differences: 1 });
    await mend();
    const kept = 'select unique_id, events::int from usage_uniques where subscription_id = $1';
    expect(await m.t.rows(kept, [sub.subscriptionId])).toEqual([{ unique_id: 'a', events: 1 }]);
  });

  it('that was billed is late usage on the next invoice once it is mended', async () => {
    const [metric, sub] = charged('sum');
    await m.event(sub, metric, 5);
    await damage(sub, 'used = 3');
    const [first] = sub.periods;
    if (!first) throw new Error('no period');
    const billed = { subscription: sub, period: first, until: first.end };
    await m.inTx(tx => usage.close(tx, billed, 'in_mended'));
    const plan = terms({ charges: [charge(metric.id)] });
    const next = period(first.end, first.end + 30 * day, plan);
    m.clock.advance(first.end + 60 - m.clock.now());
    const renewed = m.change(sub, { periods: [{ ...first, state: 'invoiced' }, next] });
    const lines = () =>
      m.inTx(async tx => {
        const due = await usage.linesFor(tx, { subscription: renewed, period: next, until: next.end });
        return due.map(({ quantity, amount, late }) => [Number(quantity), Number(amount), late]);
      });
    expect(await lines()).toEqual([]);
    expect((await mend())[0]).toContain(', billed: 3 of 1 events is now 5 of 1.');
    expect(await lines()).toEqual([[2, 20, true]]);
  });

  it('that lacks events of its time has them once it is mended', async () => {
    const [metric, sub] = charged('sum');
    await m.event(sub, metric, 5);
    await m.t.rows('update usage_events set counter_start = 1 where subscription_id = $1', [sub.subscriptionId]);
    await damage(sub, 'events = 0, used = 0');
    expect((await mend())[0]).toContain(': 0 of 0 events is now 5 of 1.');
    const starts = 'select counter_start::int as start from usage_events where subscription_id = $1';
    expect(await m.t.rows(starts, [sub.subscriptionId])).toEqual([{ start: sub.start }]);
  });

  it('is mended while events stream in, and each counts once', async () => {
    const [metric, sub] = charged('countUnique');
    const total = 60;
    await m.event(sub, metric, 1, { aggregationUniqueId: 'u0' });
    const streaming = Array.from({ length: total }, (_, at) =>
      m.event(sub, metric, 1, { aggregationUniqueId: `u${at % 7}` }),
    );
    for (let round = 0; round < 5; round++) {
      await damage(sub, 'used = used + 1, events = events + 3');
      await mend();
    }
    await Promise.all(streaming);
    await mend();
    expect(await m.counters(sub)).toMatchObject([{ events: total + 1, used: 7 }]);
    const sums =
      'select sum(events)::int as events, count(*)::int as ids from usage_uniques where subscription_id = $1';
    expect(await m.t.rows(sums, [sub.subscriptionId])).toEqual([{ events: total + 1, ids: 7 }]);
  });
});

describe('every counter with events is compared', () => {
  it('one that carry-over made', async () => {
    const metric = m.metric('limitRecurring');
    const plan = terms({ limits: [limit(metric.id, 1_000)] });
    const start = m.clock.now() - 600;
    const [ended, next] = [period(start - 30 * day, start, plan), period(start, start + 30 * day, plan)];
    const sub = m.subscribed([], { start: ended.start, periods: [ended, next] });
    await m.inTx(tx => carryOver(tx, { subscription: sub, ended, next }));
    await m.event(sub, metric, 5);
    await damage(sub, 'used = 6');
    expect(await found()).toMatchObject({ differences: 1 });
    await mend();
  });

  it('one that was made empty at the close', async () => {
    const [metric, sub] = charged('sum');
    const [first] = sub.periods;
    if (!first) throw new Error('no period');
    m.clock.advance(first.end + 60 - m.clock.now());
    await m.inTx(tx => usage.close(tx, { subscription: sub, period: first, until: first.end }, 'in_empty'));
    const next = period(first.end, first.end + 30 * day, terms());
    m.change(sub, { periods: [{ ...first, state: 'invoiced' }, next] });
    await m.event(sub, metric, 5, { eventTime: first.end - 5 });
    await damage(sub, 'used = 6');
    expect(await found()).toMatchObject({ differences: 1 });
    await mend();
  });

  it('one that a change of plan has cut off', async () => {
    const [metric, sub] = charged('sum');
    const [first] = sub.periods;
    if (!first) throw new Error('no period');
    const cut = m.clock.now() - 60;
    await m.event(sub, metric, 3, { eventTime: cut - 60 });
    await m.event(sub, metric, 5, { eventTime: cut + 10 });
    const billed = { subscription: sub, period: first, until: cut, isLasting: true };
    await m.inTx(tx => usage.close(tx, billed, 'in_cut'));
    expect(await m.counters(sub)).toMatchObject([
      { used: 3, end: cut },
      { used: 5, start: cut },
    ]);
    await m.t.rows('update usage_counters set used = 6 where subscription_id = $1 and start_at = $2', [
      sub.subscriptionId,
      cut,
    ]);
    expect(await found()).toMatchObject({ differences: 1 });
    await mend();
  });

  it('one that a late event or a deletion changes after its time', async () => {
    const [metric, sub] = charged('sum');
    const [first] = sub.periods;
    if (!first) throw new Error('no period');
    const kept = m.input(sub, metric, 5);
    await m.t.done(newUsageEvent, kept);
    await m.t.work.drain();
    m.clock.advance(first.end + 60 - m.clock.now());
    await m.t.work.drain();
    const next = period(first.end, first.end + 30 * day, terms());
    m.change(sub, { periods: [{ ...first, state: 'invoiced' }, next] });
    await damage(sub, 'used = 6');
    expect(await found(3)).toMatchObject({ differences: 0 });
    await m.t.done(batchUsageEvents, { events: [m.input(sub, metric, 1, { eventTime: first.end - 5 })] });
    expect(await found(3)).toMatchObject({ differences: 1 });
    await mend();
    expect(await found(3)).toMatchObject({ differences: 0 });
    await damage(sub, 'used = 8');
    await m.t.done(deleteUsageEvent, kept);
    expect(await found(3)).toMatchObject({ differences: 1 });
    await mend();
  });
});

describe('the command "usage"', () => {
  it.each([
    [],
    ['recount'],
    ['recount', '--merchant', '0'],
    ['recount', '--merchant', '15', 'now'],
    ['count', '--merchant', '15'],
    ['recount', '--shop', '15'],
  ])('says how it is used: %s %s %s %s', async (...words) => {
    expect(await command(...words)).toEqual({ out: expect.stringMatching(/^Usage: node /), code: 64 });
  });

  it('mends the counters of no other merchant', async () => {
    const [metric, sub] = charged('sum');
    await m.event(sub, metric, 5);
    await damage(sub, 'used = 6');
    expect(await command('recount', '--merchant', '16')).toEqual({
      ...{ out: 'Counters mended: 0. Counters that were right: 0.\n', code: 0 },
    });
    expect(await m.counters(sub)).toMatchObject([{ used: 6 }]);
    expect((await mend()).at(-1)).toMatch(/^Counters mended: 1\./);
  });
});
