import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { UsageRecounts } from '../../src/usage/recounts.js';
import { charge, type Metered, metered } from '../subscriptions/usage/metered.js';

let s: Metered;
beforeAll(async () => {
  s = await metered();
});
afterAll(() => s.t.close());

it('the daily recount agrees with all counters, and notices one that is wrong', async () => {
  await s.anew('2026-05-01');
  const metrics = (['count', 'countUnique', 'latest', 'max', 'sum'] as const).map(of => s.metric('chargeMetered', of));
  const { userId } = await s.subscriber({ metricMeteredCharge: metrics.map(({ id }) => charge(id)) });
  for (const metric of metrics) {
    await s.use(userId, metric, 3, { unique: 'a' });
    await s.use(userId, metric, 8, { unique: 'b', id: `gone-${metric.id}` });
    await s.use(userId, metric, 5, { unique: 'c' });
    await s.forget(userId, metric, `gone-${metric.id}`);
  }
  const recounts = s.t.app.get(UsageRecounts);
  await s.to('2026-05-02T01:00');
  expect(recounts.differences).toBe(0);
  await s.t.rows('update usage_counters set used = used + 1 where metric_id = $1', [metrics[3]?.id]);
  await s.to('2026-05-03T01:00');
  expect(recounts.differences).toBe(1);
});
