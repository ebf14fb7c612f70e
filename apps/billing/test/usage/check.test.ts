import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { checkUsage } from '@recur/contracts';
import { charge, limit, type Metered, metered } from '../world/usage.js';

let s: Metered;
beforeAll(async () => {
  s = await metered();
});
afterAll(() => s.t.close());
beforeEach(() => s.anew('2026-06-01'));

const check = (userId: number, { code: metricCode }: { code: string }, over: object = {}) =>
  s.t.done(checkUsage, { userId, metricCode, ...over }, s.merchant);

it.each(['sum', 'count', 'max', 'latest', 'countUnique'] as const)(
  'of a limit agrees with what is recorded next, value by value: %s',
  async aggregation => {
    const metric = s.metric('limitMetered', aggregation);
    const { userId } = await s.subscriber({ amount: 1000, metricLimits: [limit(metric.id, 10)] });
    const taken: boolean[] = [];
    for (const [value, unique] of [
      [4, 'a'],
      [4, 'a'],
      [3, 'b'],
      [2, 'c'],
      [-1, 'b'],
      [9, 'd'],
      [1, 'e'],
      [12, 'f'],
      [10, 'g'],
      [1, 'h'],

      [5, 'i'],
      [0, 'j'],
      [11, 'k'],
      [1, 'a'],
      [1, 'l'],
      [1, 'm'],
      [1, 'n'],
    ] as [number, string][]) {
      const foreseen = await check(userId, metric, { aggregationValue: value, aggregationUniqueId: unique });
      const [used, total] = await s.standing(userId, metric);
      expect(foreseen).toMatchObject({ currentValue: used, totalLimit: total, left: Math.max(0, 10 - Number(used)) });
      const refusal = await s.use(userId, metric, value, { unique });
      expect([value, unique, foreseen.allowed, foreseen.reason]).toEqual([value, unique, refusal === '', refusal]);
      taken.push(foreseen.allowed);
    }
    // neither all nor none: the limit was met
    expect(new Set(taken).size).toBe(2);
  },
);

it('says when the period ends, that a charge has no limit, and counts nothing', async () => {
  const [metric, free] = [s.metric('chargeMetered'), s.metric('limitMetered', 'countUnique')];
  const { userId } = await s.subscriber({ amount: 1000, metricMeteredCharge: [charge(metric.id)] });
  await s.use(userId, metric, 7);
  const answer = { allowed: true, reason: '', currentValue: 7, isLimited: false, totalLimit: 0, left: 0 };
  const periodEnd = Date.UTC(2026, 6, 1) / 1000;
  for (let at = 0; at < 2; at++)
    expect(await check(userId, metric, { aggregationValue: 5 })).toEqual({ ...answer, periodEnd });
  // the plan does not have this limit, so it is 0; a blank id is a new one
  expect(await check(userId, free)).toMatchObject({ allowed: false, reason: 'usage_limit_exceeded', isLimited: true });
});

it.each(['sum', 'countUnique', 'max'] as const)(
  'of a recurring charge reads what was counted long ago: %s',
  async aggregation => {
    const metric = s.metric('chargeRecurring', aggregation);
    const { userId } = await s.subscriber({ amount: 1000, metricRecurringCharge: [charge(metric.id)] });
    await s.use(userId, metric, 7, { unique: 'a' });
    await s.to('2026-09-15');
    await s.use(userId, metric, 2, { unique: 'b' });
    const [used] = await s.standing(userId, metric);
    expect(await check(userId, metric)).toMatchObject({ allowed: true, currentValue: used });
    expect(used).toBe({ sum: 9, countUnique: 2, max: 7 }[aggregation]);
  },
);

it('of a charge without a price agrees with its current value', async () => {
  const metric = s.metric('chargeMetered');
  const { userId } = await s.subscriber({ amount: 1000 });
  await s.use(userId, metric, 7);
  expect(await s.standing(userId, metric)).toEqual([7, 0]);
  expect(await check(userId, metric)).toMatchObject({ allowed: true, currentValue: 7 });
});

it('of a user without a subscription is a reason; of an unknown one an error', async () => {
  const metric = s.metric('limitMetered');
  const userId = await s.userWithCard();
  const none = { allowed: false, reason: 'usage_not_subscribed', periodEnd: 0 };
  expect(await check(userId, metric)).toMatchObject(none);
  const answers = [
    { userId: 999_999, metricCode: metric.code },
    { userId, metricCode: 'none' },
    { metricCode: 'none' },
    { userId, metricCode: metric.code, aggregationUniqueId: 'a sum has no ids' },
  ];
  const slugs: string[] = [];
  for (const asked of answers) {
    const result = await s.t.call(checkUsage, asked, s.merchant);
    slugs.push(result.ok ? '' : result.slug);
  }
  expect(slugs).toEqual(['user_not_found', 'metric_not_found', 'invalid_parameters', 'invalid_parameters']);
});
