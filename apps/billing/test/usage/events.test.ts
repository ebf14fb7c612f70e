import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  batchUsageEvents,
  deleteUsageEvent,
  ingestUsageEvents,
  listUsageEvents,
  newUsageEvent,
} from '@recur/contracts';
import { charge, day, limit, type Meter, meter, terms } from './meter.js';

let m: Meter;
beforeAll(async () => {
  m = await meter();
});
afterAll(() => m.t.close());

const send = (input: object, caller?: object) => m.t.call(newUsageEvent, input, caller);

describe('an event', () => {
  it('is counted and shown with what it costs', async () => {
    const calls = m.metric('chargeMetered');
    const sub = m.subscribed([terms({ charges: [charge(calls.id)] })]);
    await m.event(sub, calls, 5);
    const { merchantMetricEvent } = await m.t.done(
      newUsageEvent,
      m.input(sub, calls, 3, { metricProperties: { a: 1 } }),
    );
    expect(merchantMetricEvent).toMatchObject({
      ...{ userId: sub.userId, metricId: calls.id, aggregationPropertyInt: 3, aggregationPropertyData: '{"a":1}' },
      ...{ used: 8, metricLimit: 0, subscriptionIds: sub.subscriptionId, subscriptionPeriodStart: m.start },
      ...{ createTime: m.clock.now(), eventTime: m.clock.now(), chargeInvoiceId: '' },
      eventCharge: {
        chargeAmount: 30,
        totalChargeAmount: 80,
        currentValue: 8,
        unitAmount: 10,
        currency: 'EUR',
        planId: 1,
      },
    });
  });

  it.each([
    ['count', [{}, {}], 2],
    [
      'countUnique',
      [{ aggregationUniqueId: 'a' }, { aggregationUniqueId: 'a' }, { metricProperties: { amount: 'b' } }],
      2,
    ],
    ['latest', [{ aggregationValue: 9 }, { aggregationValue: 4, eventTime: -60 }], 9],
    ['max', [{ aggregationValue: 9 }, { aggregationValue: 4 }], 9],
    ['sum', [{ aggregationValue: 9 }, { metricProperties: { amount: 4 } }], 13],
  ] as const)('of a %s metric is aggregated', async (aggregation, events, expected) => {
    const metric = m.metric('chargeMetered', aggregation);
    const sub = m.subscribed([terms({ charges: [charge(metric.id)] })]);
    const used = [];
    for (const each of events) {
      const eventTime = 'eventTime' in each ? { eventTime: m.clock.now() + each.eventTime } : {};
      used.push(await m.event(sub, metric, undefined, { ...each, ...eventTime }));
    }
    expect(used.at(-1)).toBe(expected);
  });

  it('of which 64 repeats arrive at once counts once, and each is answered alike', async () => {
    const metric = m.metric('chargeMetered');
    const sub = m.subscribed([terms({ charges: [charge(metric.id)] })]);
    const input = m.input(sub, metric, 7);
    const answers = await Promise.all(Array.from({ length: 64 }, () => m.t.done(newUsageEvent, input)));
    const again = await m.t.done(newUsageEvent, { ...input, aggregationValue: 9 }, { idempotencyKey: 'k1' });
    expect(new Set([...answers, again].map(one => JSON.stringify(one))).size).toBe(1);
    expect(await m.counters(sub)).toMatchObject([{ events: 1, used: 7 }]);
  });

  it('is answered under its key after its metric was archived', async () => {
    const metric = m.metric('chargeMetered');
    const sub = m.subscribed([terms({ charges: [charge(metric.id)] })]);
    const [input, under] = [m.input(sub, metric, 7), { idempotencyKey: `event-${metric.id}` }];
    const first = await m.t.call(newUsageEvent, input, under);
    await m.t.rows('delete from metric_copies where id = $1', [metric.id]);
    m.metrics.delete(metric.id);
    expect(await m.t.call(newUsageEvent, input, under)).toMatchObject(first);
  });

  it('of which two pass a limit together: one is refused, in whatever way they come', async () => {
    const metric = m.metric('limitMetered');
    const sub = m.subscribed([terms({ limits: [limit(metric.id, 10)] })]);
    const [one, other] = [m.input(sub, metric, 6), m.input(sub, metric, 6)];
    const answers = await Promise.all([send(one), send(other, { idempotencyKey: 'k2' })]);
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
    expect(answers.find(({ ok }) => !ok)).toMatchObject({ slug: 'usage_limit_exceeded' });
    const { results } = await m.t.done(batchUsageEvents, {
      events: [m.input(sub, metric, 4), m.input(sub, metric, 1)],
    });
    expect(results.map(({ code }) => code)).toEqual([0, 52]);
    expect(await m.counters(sub)).toMatchObject([{ used: 10 }]);
  });

  it.each([
    ['a user that nobody knows', { userId: 999_999 }, 'user_not_found'],
    ['a metric that nobody knows', { metricCode: 'none' }, 'metric_not_found'],
    ['a user without a subscription', { userId: 1 }, 'usage_not_subscribed'],
    ['a product that is not subscribed to', { productId: 77 }, 'usage_not_subscribed'],
    ['a time far ahead', { eventTime: 'ahead' }, 'invalid_parameters'],
    ['a time before the subscription', { eventTime: 'before' }, 'invalid_parameters'],
    ['no value', { aggregationValue: undefined }, 'invalid_parameters'],
    ['no user', { userId: 0 }, 'invalid_parameters'],
  ])('with %s is refused', async (_, over, slug) => {
    const metric = m.metric('chargeMetered');
    const sub = m.subscribed([terms({ charges: [charge(metric.id)] })]);
    const times = { ahead: m.clock.now() + 301, before: m.start - 1 };
    const time = (over as { eventTime?: keyof typeof times }).eventTime;
    const answer = await send({ ...m.input(sub, metric, 1), ...over, ...(time && { eventTime: times[time] }) });
    expect(answer).toMatchObject({ ok: false, slug });
  });

  it('is told to come again while catalog is away, and counted once it is back', async () => {
    const metric = m.metric('chargeMetered');
    const sub = m.subscribed([terms({ charges: [charge(metric.id)] })]);
    const input = m.input(sub, metric, 1);
    m.catalog.away = true;
    const away = await send(input);
    m.catalog.away = false;
    expect(away).toMatchObject({ ok: false, slug: 'dependency_away' });
    expect(await send(input)).toMatchObject({ ok: true });
  });

  it('of an invoiced period is refused where the merchant refuses late usage', async () => {
    const metric = m.metric('chargeMetered');
    const sub = m.subscribed([terms({ charges: [charge(metric.id)] })], { lateUsage: 'refuse' });
    const [open] = sub.periods;
    m.change(sub, { periods: open ? [{ ...open, state: 'invoiced' }] : [] });
    expect(await m.event(sub, metric, 1)).toBe('usage_period_invoiced');
  });

  it('is taken in any month: partitions are made', async () => {
    const metric = m.metric('chargeMetered');
    const start = m.clock.now() - 34 * day;
    const sub = m.subscribed([terms({ charges: [charge(metric.id)] })], { start });
    const [open] = sub.periods;
    m.change(sub, { periods: open ? [{ ...open, start }] : [] });
    expect(await m.event(sub, metric, 2, { eventTime: start + 60 })).toBe(2);
    const partitions =
      await m.t.rows(`select relname from pg_class where relname ~ '^usage_events_2025|^usage_events_2026'
      and relkind = 'r' order by 1`);
    expect(partitions.map(({ relname }) => relname)).toEqual(
      expect.arrayContaining(['usage_events_202512', 'usage_events_202601']),
    );
  });
});

describe('a batch', () => {
  it('has a result for each event; a repeat within it counts once', async () => {
    const metric = m.metric('chargeMetered');
    const sub = m.subscribed([terms({ charges: [charge(metric.id)] })]);
    const first = m.input(sub, metric, 1);
    const events = [first, m.input(sub, metric, 2), first, { ...m.input(sub, metric, 4), metricCode: 'none' }];
    const { results } = await m.t.done(batchUsageEvents, { events }, { idempotencyKey: 'b1' });
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 53]);
    expect(results[2]).toEqual(results[0]);
    expect(results[3]).toMatchObject({ id: 0, message: 'No such metric' });
    expect(await m.counters(sub)).toMatchObject([{ events: 2, used: 3 }]);
    const again = await m.t.done(batchUsageEvents, { events }, { idempotencyKey: 'b1' });
    expect(again.results).toEqual(results);
  });
});

describe('NDJSON', () => {
  it('records a line each, and names those that are refused', async () => {
    const metric = m.metric('chargeMetered');
    const sub = m.subscribed([terms({ charges: [charge(metric.id)] })]);
    const good = Array.from({ length: 1_200 }, () => JSON.stringify(m.input(sub, metric, 1)));
    const lines = [good[0], '{', '', JSON.stringify({ ...m.input(sub, metric, 1), externalEventId: '' }), ...good].join(
      '\n',
    );
    const answer = await m.t.done(ingestUsageEvents, { lines });
    expect(answer.accepted).toBe(1_201);
    expect(answer.refused).toEqual([
      { line: 2, code: 51, message: 'The line is not valid JSON' },
      { line: 4, code: 51, message: 'externalEventId may not be blank' },
    ]);
    expect(await m.counters(sub)).toMatchObject([{ events: 1_200, used: 1_200 }]);
  });

  it('under a key is answered once: a line that was deleted since stays deleted', async () => {
    const metric = m.metric('chargeMetered');
    const sub = m.subscribed([terms({ charges: [charge(metric.id)] })]);
    const input = m.input(sub, metric, 1);
    const send = (lines: string) => m.t.call(ingestUsageEvents, { lines }, { idempotencyKey: `ingest-${metric.id}` });
    const first = await send(JSON.stringify(input));
    const { userId, externalEventId } = input;
    await m.t.done(deleteUsageEvent, { userId, externalEventId, metricCode: metric.code });
    expect(await send(JSON.stringify(input))).toMatchObject(first);
    expect(await m.counters(sub)).toMatchObject([{ events: 0, used: 0 }]);
  });
});

describe('a deletion', () => {
  const remove = (sub: { userId: number }, externalEventId: string, metricCode: string) =>
    m.t.call(deleteUsageEvent, { userId: sub.userId, externalEventId, metricCode });

  it.each(['count', 'countUnique', 'latest', 'max', 'sum'] as const)(
    'is as if a %s event had never been',
    async aggregation => {
      const metric = m.metric('chargeMetered', aggregation);
      const sub = m.subscribed([terms({ charges: [charge(metric.id)] })]);
      await m.event(sub, metric, 3, { aggregationUniqueId: 'a' });
      const before = await m.counters(sub);
      const last = m.input(sub, metric, 8, { aggregationUniqueId: 'b' });
      await m.t.done(newUsageEvent, last);
      expect(await m.counters(sub)).not.toEqual(before);
      expect(await remove(sub, last.externalEventId, metric.code)).toMatchObject({ ok: true });
      expect(await m.counters(sub)).toEqual(before);
      expect(await remove(sub, last.externalEventId, metric.code)).toMatchObject({ slug: 'usage_event_not_found' });
      expect(await send(last)).toMatchObject({ ok: true });
    },
  );

  it.each([
    [{ userId: 999_999 }, 'user_not_found'],
    [{ metricCode: 'none' }, 'metric_not_found'],
  ])('of %j is refused', async (over, slug) => {
    const metric = m.metric('chargeMetered');
    const sub = m.subscribed([terms()]);
    const input = { userId: sub.userId, externalEventId: 'x', metricCode: metric.code };
    expect(await m.t.call(deleteUsageEvent, { ...input, ...over })).toMatchObject({ slug });
  });
});

describe('the list', () => {
  it('shows events newest first, by user, metric and subscription, without deleted ones', async () => {
    const metric = m.metric('chargeMetered');
    const sub = m.subscribed([terms({ charges: [charge(metric.id)] })]);
    for (const value of [1, 2, 3]) await m.event(sub, metric, value);
    const gone = m.input(sub, metric, 4);
    await m.t.done(newUsageEvent, gone);
    await m.t.done(deleteUsageEvent, { ...gone, userId: sub.userId });
    for (const filter of [
      { userIds: [sub.userId] },
      { metricIds: [metric.id] },
      { subscriptionIds: [sub.subscriptionId] },
    ]) {
      const { events, total } = await m.t.done(listUsageEvents, filter);
      expect(events.map(event => event.aggregationPropertyInt)).toEqual([3, 2, 1]);
      expect(total).toBe(3);
      expect(events[0]).toMatchObject({ user: { id: sub.userId }, merchantMetric: { id: metric.id }, chargeStatus: 0 });
    }
  });
});
