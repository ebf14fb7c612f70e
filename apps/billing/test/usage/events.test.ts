import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  aggregationType,
  batchUsageEvents,
  chargeStatus,
  deleteUsageEvent,
  ingestUsageEvents,
  listUsageEvents,
  metricType,
  newUsageEvent,
} from '@recur/contracts';
import { utc } from '../world/clock.js';
import { charge, limit, type Metered, metered } from '../world/usage.js';

let s: Metered;
type Metric = ReturnType<Metered['metric']>;
const aggregations = ['count', 'countUnique', 'latest', 'max', 'sum'] as const;
/** Metrics that the plan of all subscribers prices at 10, and one of which it allows 10. */
const priced = {} as Record<(typeof aggregations)[number], Metric>;
let limited: Metric;
let planId: number;
/** A subscriber since 1 May; it is 11 May. */
let older: Awaited<ReturnType<typeof subscriber>>;
const start = utc('2026-05-01');
const now = utc('2026-05-11');

beforeAll(async () => {
  s = await metered('2026-05-01');
  await s.anew();
  for (const each of aggregations) priced[each] = s.metric('chargeMetered', each);
  limited = s.metric('limitMetered');
  planId = s.plan({
    metricMeteredCharge: Object.values(priced).map(({ id }) => charge(id)),
    metricLimits: [limit(limited.id, 10)],
  });
  older = await subscriber();
  await s.to('2026-05-11');
});
afterAll(() => s.t.close());

/** A user who is subscribed to the plan from now on. */
async function subscriber() {
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({ userId, planId });
  return { userId, id };
}

const under = (idempotencyKey: string) => ({ ...s.merchant, idempotencyKey });
const send = (input: object, caller: object = s.merchant) => s.t.call(newUsageEvent, input, caller);
/** How many events of a metric a user has, and what they come to. */
async function counted(userId: number, metric: Metric) {
  const { total } = await s.t.done(listUsageEvents, { userIds: [userId], metricIds: [metric.id] }, s.merchant);
  const [value] = await s.standing(userId, metric);
  return [total, value];
}

describe('an event', () => {
  it('is counted and shown with what it costs', async () => {
    const { userId, id } = older;
    await s.use(userId, priced.sum, 5);
    const input = s.event(userId, priced.sum, 3, { metricProperties: { a: 1 } });
    const { merchantMetricEvent } = await s.t.done(newUsageEvent, input, s.merchant);
    expect(merchantMetricEvent).toMatchObject({
      userId,
      metricId: priced.sum.id,
      aggregationPropertyInt: 3,
      aggregationPropertyData: '{"a":1}',
      used: 8,
      metricLimit: 0,
      subscriptionIds: id,
      subscriptionPeriodStart: start,
      createTime: now,
      eventTime: now,
      chargeInvoiceId: '',
      eventCharge: {
        chargeAmount: 30,
        totalChargeAmount: 80,
        currentValue: 8,
        unitAmount: 10,
        currency: 'EUR',
        planId,
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
    ['latest', [{ aggregationValue: 9, eventTime: now + 60 }, { aggregationValue: 4 }], 9],
    ['max', [{ aggregationValue: 9 }, { aggregationValue: 4 }], 9],
    ['sum', [{ aggregationValue: 9 }, { metricProperties: { amount: 4 } }], 13],
  ] as const)('of a %s metric is aggregated', async (aggregation, events, expected) => {
    const { userId } = await subscriber();
    const used = [];
    for (const each of events) {
      const input = s.event(userId, priced[aggregation], undefined, each);
      used.push((await s.t.done(newUsageEvent, input, s.merchant)).merchantMetricEvent.used);
    }
    expect(used.at(-1)).toBe(expected);
  });

  it('of which 64 repeats arrive at once counts once, and each is answered alike', async () => {
    const { userId } = await subscriber();
    const input = s.event(userId, priced.sum, 7);
    const answers = await Promise.all(Array.from({ length: 64 }, () => s.t.done(newUsageEvent, input, s.merchant)));
    const again = await s.t.done(newUsageEvent, { ...input, aggregationValue: 9 }, under('k1'));
    expect(new Set([...answers, again].map(one => JSON.stringify(one))).size).toBe(1);
    expect(await counted(userId, priced.sum)).toEqual([1, 7]);
  });

  it('is answered under its key after its metric was archived', async () => {
    const metric = s.metric();
    const input = s.event(older.userId, metric, 7);
    const first = await send(input, under('archived'));
    expect(first).toMatchObject({ ok: true });
    const types = { type: metricType.chargeMetered, aggregationType: aggregationType.sum };
    s.knowMetric(metric.id, { ...types, archived: true }, s.merchant.merchantId);
    await s.t.rows('delete from metric_copies where id = $1', [metric.id]);
    expect(await send(s.event(older.userId, metric, 7))).toMatchObject({ slug: 'metric_not_found' });
    expect(await send(input, under('archived'))).toMatchObject(first);
  });

  it('of which two pass a limit together: one is refused, in whatever way they come', async () => {
    const { userId } = await subscriber();
    const [one, other] = [s.event(userId, limited, 6), s.event(userId, limited, 6)];
    const answers = await Promise.all([send(one), send(other, under('k2'))]);
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
    expect(answers.find(({ ok }) => !ok)).toMatchObject({ slug: 'usage_limit_exceeded' });
    const { results } = await s.useMany(userId, limited, [4, 1]);
    expect(results.map(({ code }) => code)).toEqual([0, 52]);
    expect(await s.standing(userId, limited)).toEqual([10, 10]);
  });

  it.each([
    ['a user that nobody knows', { userId: 999_999 }, 'user_not_found'],
    ['a metric that nobody knows', { metricCode: 'none' }, 'metric_not_found'],
    ['a product that is not subscribed to', { productId: 77 }, 'usage_not_subscribed'],
    ['a time far ahead', { eventTime: now + 301 }, 'invalid_parameters'],
    ['a time before the subscription', { eventTime: start - 1 }, 'invalid_parameters'],
    ['no value', { aggregationValue: undefined }, 'invalid_parameters'],
    ['no user', { userId: 0 }, 'invalid_parameters'],
  ])('with %s is refused', async (_, over, slug) => {
    expect(await send(s.event(older.userId, priced.sum, 1, over))).toMatchObject({ ok: false, slug });
  });

  it('of a user without a subscription is refused', async () => {
    const refused = { ok: false, slug: 'usage_not_subscribed' };
    expect(await send(s.event(await s.userWithCard(), priced.sum, 1))).toMatchObject(refused);
  });

  it('is told to come again while catalog is away, and counted once it is back', async () => {
    const input = s.event(older.userId, s.metric(), 1);
    const back = s.away('catalog');
    const away = await send(input);
    back();
    expect(away).toMatchObject({ ok: false, slug: 'dependency_away' });
    expect(await send(input)).toMatchObject({ ok: true });
  });
});

describe('a batch', () => {
  it('has a result for each event; a repeat within it counts once', async () => {
    const { userId } = await subscriber();
    const first = s.event(userId, priced.sum, 1);
    const events = [first, s.event(userId, priced.sum, 2), first, s.event(userId, { code: 'none' }, 4)];
    const { results } = await s.t.done(batchUsageEvents, { events }, under('b1'));
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 53]);
    expect(results[2]).toEqual(results[0]);
    expect(results[3]).toMatchObject({ id: 0, message: 'No such metric' });
    expect(await counted(userId, priced.sum)).toEqual([2, 3]);
    const again = await s.t.done(batchUsageEvents, { events }, under('b1'));
    expect(again.results).toEqual(results);
  });
});

describe('NDJSON', () => {
  it('records a line each, and names those that are refused', async () => {
    const { userId } = await subscriber();
    const good = Array.from({ length: 1_200 }, () => JSON.stringify(s.event(userId, priced.sum, 1)));
    const unnamed = JSON.stringify(s.event(userId, priced.sum, 1, { externalEventId: '' }));
    const lines = [good[0], '{', '', unnamed, ...good].join('\n');
    const answer = await s.t.done(ingestUsageEvents, { lines }, s.merchant);
    expect(answer.accepted).toBe(1_201);
    expect(answer.refused).toEqual([
      { line: 2, code: 51, message: 'The line is not valid JSON' },
      { line: 4, code: 51, message: 'externalEventId may not be blank' },
    ]);
    expect(await counted(userId, priced.sum)).toEqual([1_200, 1_200]);
  });

  it('under a key is answered once: a line that was deleted since stays deleted', async () => {
    const { userId } = await subscriber();
    const lines = JSON.stringify(s.event(userId, priced.sum, 1, { externalEventId: 'line' }));
    const ingest = () => s.t.call(ingestUsageEvents, { lines }, under('ingest'));
    const first = await ingest();
    await s.forget(userId, priced.sum, 'line');
    expect(await ingest()).toMatchObject(first);
    expect(await counted(userId, priced.sum)).toEqual([0, 0]);
  });
});

describe('a deletion', () => {
  it.each(aggregations)('is as if a %s event had never been', async aggregation => {
    const metric = priced[aggregation];
    const { userId } = await subscriber();
    const remove = (externalEventId: string) =>
      s.t.call(deleteUsageEvent, { userId, externalEventId, metricCode: metric.code }, s.merchant);
    await s.use(userId, metric, 3, { unique: 'a' });
    const before = await counted(userId, metric);
    const last = s.event(userId, metric, 8, { aggregationUniqueId: 'b' });
    expect(await send(last)).toMatchObject({ ok: true });
    const after = await counted(userId, metric);
    expect(after[1]).toBeGreaterThan(Number(before[1]));
    expect(await remove(last.externalEventId)).toMatchObject({ ok: true });
    expect(await counted(userId, metric)).toEqual(before);
    expect(await remove(last.externalEventId)).toMatchObject({ slug: 'usage_event_not_found' });
    expect(await send(last)).toMatchObject({ ok: true });
    expect(await counted(userId, metric)).toEqual(after);
  });

  it.each([
    [{ userId: 999_999 }, 'user_not_found'],
    [{ metricCode: 'none' }, 'metric_not_found'],
  ])('of %j is refused', async (over, slug) => {
    const input = { userId: older.userId, externalEventId: 'x', metricCode: priced.sum.code };
    expect(await s.t.call(deleteUsageEvent, { ...input, ...over }, s.merchant)).toMatchObject({ slug });
  });
});

describe('the list', () => {
  it('shows events newest first, by user, metric and subscription, without deleted ones', async () => {
    const metric = s.metric();
    const { userId, id } = await subscriber();
    for (const value of [1, 2, 3]) await s.use(userId, metric, value);
    await s.use(userId, metric, 4, { id: 'gone' });
    await s.forget(userId, metric, 'gone');
    for (const filter of [{ userIds: [userId] }, { metricIds: [metric.id] }, { subscriptionIds: [id] }]) {
      const { events, total } = await s.t.done(listUsageEvents, filter, s.merchant);
      expect(events.map(event => event.aggregationPropertyInt)).toEqual([3, 2, 1]);
      expect(total).toBe(3);
      expect(events[0]).toMatchObject({
        user: { id: userId },
        merchantMetric: { id: metric.id },
        chargeStatus: chargeStatus.open,
      });
    }
  });
});

it('events are taken in any month: partitions are made', async () => {
  await s.anew('2028-02-15');
  const metric = s.metric();
  const { userId } = await s.subscriber({ metricMeteredCharge: [charge(metric.id)] });
  await s.to('2028-03-10');
  const made = async () =>
    (
      await s.t.rows(
        `select relname from pg_class where relname like 'usage\\_events\\_2028%' and relkind = 'r' order by 1`,
      )
    ).map(({ relname }) => relname);
  expect(await made()).toEqual([]);
  await s.use(userId, metric, 2, { at: '2028-02-16' });
  await s.use(userId, metric, 3);
  expect(await made()).toEqual(expect.arrayContaining(['usage_events_202802', 'usage_events_202803']));
  expect(await s.standing(userId, metric)).toEqual([5, 0]);
});
