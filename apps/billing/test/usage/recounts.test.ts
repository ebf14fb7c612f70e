import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { submitChange } from '@recur/contracts';
import { metrics } from '@recur/platform';
import { billing } from '../../src/service.js';
import { utc } from '../world/clock.js';
import { charge, limit, type Metered, metered } from '../world/usage.js';

let s: Metered;
beforeAll(async () => {
  s = await metered();
});
beforeEach(() => s.anew('2026-06-01'));
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(() => s.t.close());

const june = utc('2026-06-01');

/** The count of the metric in this process. */
async function differences(): Promise<number> {
  const found = await metrics.getSingleMetric('recur_usage_recount_differences_total')?.get();
  return found?.values[0]?.value ?? 0;
}

/** Differences that are found until a time, and their entries in the operation log. */
async function found(until: string) {
  const before = await differences();
  await s.t.emitted();
  await s.to(until);
  return { differences: (await differences()) - before, entries: await entries() };
}

async function entries(): Promise<string[]> {
  const emitted = await s.t.emitted();
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
  const code = await billing.commands?.usage?.(s.t.app, words);
  jest.restoreAllMocks();
  return { out, code };
}

/** The lines that the command prints. */
async function mend({ merchantId } = s.merchant): Promise<string[]> {
  const { out, code } = await command('recount', '--merchant', `${merchantId}`);
  expect(code).toBe(0);
  return out.trimEnd().split('\n');
}

/** A subscriber since 1 June to a plan that charges 10 a unit of a metric. */
async function charged(aggregation: Parameters<Metered['metric']>[1] = 'sum') {
  const metric = s.metric('chargeMetered', aggregation);
  const made = await s.subscriber({ metricMeteredCharge: [charge(metric.id)] });
  const use = (value: number, of: Parameters<Metered['use']>[3] = {}) => s.use(made.userId, metric, value, of);
  return { ...made, metric, use };
}

/** Damages the counters of a subscription, or those from a time on. */
const damage = ({ id }: { id: string }, how: string, from = 0) =>
  s.t.rows(`update usage_counters set ${how} where subscription_id = $1 and start_at >= $2`, [id, from]);

const counters = ({ id }: { id: string }) =>
  s.t.rows(
    `select start_at::int as start, end_at::int as "end", events::int, used::int, closed
      from usage_counters where subscription_id = $1 order by start_at`,
    [id],
  );

describe('a counter that differs from its events', () => {
  it('is counted, and told in the operation log, once; and again after it was mended', async () => {
    const one = await charged();
    await one.use(5);
    expect(await found('2026-06-02T00:01')).toEqual({ differences: 0, entries: [] });
    await damage(one, 'used = used + 2');
    const entry = `CounterDiffers(from ${june}: 7 of 1 events, exactly 5 of 1)`;
    expect(await found('2026-06-03T00:01')).toEqual({ differences: 1, entries: [entry] });
    expect(await found('2026-06-05T00:01')).toEqual({ differences: 0, entries: [] });
    expect((await mend()).at(-1)).toBe('Counters mended: 1. Counters that were right: 0.');
    expect(await found('2026-06-07T00:01')).toEqual({ differences: 0, entries: [] });
    await damage(one, 'events = 2');
    const again = `CounterDiffers(from ${june}: 5 of 2 events, exactly 5 of 1)`;
    expect(await found('2026-06-08T00:02')).toEqual({ differences: 1, entries: [again] });
  });

  it('is found and mended, however it is aggregated', async () => {
    const exact = { count: 3, countUnique: 2, latest: 4, max: 9, sum: 16 };
    const kinds = Object.keys(exact) as (keyof typeof exact)[];
    const made = kinds.map(kind => s.metric('chargeMetered', kind));
    const one = await s.subscriber({ metricMeteredCharge: made.map(({ id }) => charge(id)) });
    for (const metric of made) {
      for (const [value, unique] of [
        [3, 'a'],
        [9, 'b'],
        [4, 'a'],
      ] as const) {
        expect(await s.use(one.userId, metric, value, { unique })).toBe('');
      }
    }
    const all = () => s.t.rows('select * from usage_counters where subscription_id = $1 order by metric_id', [one.id]);
    const right = await all();
    await damage(one, 'events = 8, used = 80, latest_time = 1, latest_id = 1, min_event_id = 1, max_event_id = 1');
    await s.t.rows(`update usage_uniques set events = 5 where unique_id = 'a' and subscription_id = $1`, [one.id]);
    const told = (word: string) =>
      Object.values(exact).map(used => `Counter${word}(from ${june}: 80 of 8 events, exactly ${used} of 3)`);
    const { entries: differing } = await found('2026-06-02T00:01');
    expect(differing.sort()).toEqual(told('Differs').sort());
    expect(await mend()).toEqual([
      ...made.map(
        ({ id }, at) =>
          `${one.id}, metric ${id} from 2026-06-01T00:00:00Z: 80 of 8 events is now ${Object.values(exact)[at]} of 3.`,
      ),
      'Counters mended: 5. Counters that were right: 0.',
    ]);
    expect(await entries()).toEqual(told('Mended'));
    const changed = { version: expect.anything(), notice_due: true, notice_at: expect.anything() };
    expect(await all()).toEqual(right.map(counter => ({ ...counter, ...changed })));
    expect(await mend()).toEqual(['Counters mended: 0. Counters that were right: 5.']);
  });

  it('is found where only its unique ids are wrong', async () => {
    const one = await charged('countUnique');
    await one.use(1, { unique: 'a' });
    await s.t.rows(`update usage_uniques set unique_id = 'z' where subscription_id = $1`, [one.id]);
    expect(await found('2026-06-02T00:01')).toMatchObject({ differences: 1 });
    await mend();
    const kept = 'select unique_id, events::int from usage_uniques where subscription_id = $1';
    expect(await s.t.rows(kept, [one.id])).toEqual([{ unique_id: 'a', events: 1 }]);
  });

  it('that was billed is late usage on the next invoice once it is mended', async () => {
    const one = await charged();
    await one.use(5);
    await damage(one, 'used = 3');
    await s.to('2026-07-02');
    const first = `paid usage:${one.metric.id} 06-01 07-01`;
    const used = async () => (await s.lines(one.id)).filter(line => line.includes(' usage:'));
    expect(await used()).toEqual([`${first} 30`]);
    expect((await s.preview(one.id)).lines).toHaveLength(1);
    expect((await mend())[0]).toContain(', billed: 3 of 1 events is now 5 of 1.');
    await s.to('2026-08-02');
    expect(await used()).toEqual([`${first} 30`, `${first} 20`]);
  });

  it('that lacks events of its time has them once it is mended', async () => {
    const one = await charged();
    await one.use(5);
    await s.t.rows('update usage_events set counter_start = 1 where subscription_id = $1', [one.id]);
    await damage(one, 'events = 0, used = 0');
    expect((await mend())[0]).toContain(': 0 of 0 events is now 5 of 1.');
    const starts = 'select counter_start::int as start from usage_events where subscription_id = $1';
    expect(await s.t.rows(starts, [one.id])).toEqual([{ start: june }]);
  });

  it('is mended while events stream in, and each counts once', async () => {
    const one = await charged('countUnique');
    const total = 60;
    await one.use(1, { unique: 'u0' });
    const streaming = Array.from({ length: total }, (_, at) => one.use(1, { unique: `u${at % 7}` }));
    for (let round = 0; round < 5; round++) {
      await damage(one, 'used = used + 1, events = events + 3');
      await mend();
    }
    expect(new Set(await Promise.all(streaming))).toEqual(new Set(['']));
    await mend();
    expect(await counters(one)).toMatchObject([{ events: total + 1, used: 7 }]);
    const sums =
      'select sum(events)::int as events, count(*)::int as ids from usage_uniques where subscription_id = $1';
    expect(await s.t.rows(sums, [one.id])).toEqual([{ events: total + 1, ids: 7 }]);
  });
});

describe('every counter with events is compared', () => {
  it('one that carry-over made', async () => {
    const metric = s.metric('limitRecurring');
    const one = await s.subscriber({ metricLimits: [limit(metric.id, 1_000)] });
    await s.use(one.userId, metric, 700);
    await s.to('2026-07-02');
    const july = utc('2026-07-01');
    expect(await s.standing(one.userId, metric)).toEqual([0, 1_300]);
    expect(await counters(one)).toMatchObject([{ start: june }, { start: july, events: 0 }]);
    await s.use(one.userId, metric, 5);
    await damage(one, 'used = 6', july);
    expect(await found('2026-07-03T00:01')).toMatchObject({ differences: 1 });
  });

  it('one that was made empty at the close', async () => {
    const one = await charged();
    // billing asks catalog for the metric when it is first named
    expect(await s.standing(one.userId, one.metric)).toEqual([0, 0]);
    await s.to('2026-07-02');
    expect(await counters(one)).toMatchObject([{ start: june, events: 0, closed: true }]);
    await one.use(5, { at: '2026-06-30' });
    await damage(one, 'used = 6');
    expect(await found('2026-07-03T00:01')).toMatchObject({ differences: 1 });
  });

  it('one that a change of plan has cut off', async () => {
    const one = await charged();
    const newPlanId = s.plan({ metricMeteredCharge: [charge(one.metric.id, { standardAmount: 8 })] });
    await s.to('2026-06-16T00:10');
    await one.use(3, { at: '2026-06-15' });
    await one.use(5, { at: '2026-06-16T00:05' });
    expect(await counters(one)).toMatchObject([{ used: 8 }]);
    const cut = utc('2026-06-16');
    const change = { subscriptionId: one.id, newPlanId, quantity: 1, prorationDate: cut };
    await s.t.done(submitChange, change, s.merchant);
    expect(await counters(one)).toMatchObject([
      { used: 3, end: cut },
      { used: 5, start: cut },
    ]);
    await damage(one, 'used = 6', cut);
    expect(await found('2026-06-17T00:11')).toMatchObject({ differences: 1 });
  });

  it('one that a late event or a deletion changes after its time', async () => {
    const one = await charged();
    await one.use(5, { id: 'kept' });
    await s.to('2026-07-02');
    await damage(one, 'used = 6');
    expect(await found('2026-07-05')).toMatchObject({ differences: 0 });
    await s.record([s.event(one.userId, one.metric, 1, { eventTime: utc('2026-06-30') })]);
    expect(await found('2026-07-08')).toMatchObject({ differences: 1 });
    await mend();
    expect(await found('2026-07-11')).toMatchObject({ differences: 0 });
    await damage(one, 'used = 8');
    await s.forget(one.userId, one.metric, 'kept');
    expect(await found('2026-07-14')).toMatchObject({ differences: 1 });
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
    const one = await charged();
    const merchant = { ...s.merchant };
    await one.use(5);
    await damage(one, 'used = 6');
    await s.anew();
    await (await charged()).use(5);
    expect(await mend()).toEqual(['Counters mended: 0. Counters that were right: 1.']);
    expect(await counters(one)).toMatchObject([{ used: 6 }]);
    expect((await mend(merchant)).at(-1)).toBe('Counters mended: 1. Counters that were right: 0.');
  });
});
