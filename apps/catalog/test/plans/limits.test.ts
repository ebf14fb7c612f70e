import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  activatePlan,
  deleteMetric,
  deletePlanLimit,
  editPlanLimit,
  newMetric,
  newPlan,
  newPlanLimit,
  type Operation,
  planDetail,
} from '@recur/contracts';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import { catalog } from '../../src/service.js';

let t: TestService;
const clock = new MovableClock();
const monthly = { amount: 999, currency: 'USD', planName: 'Basic', intervalUnit: 'month', intervalCount: 1 };

beforeAll(async () => {
  t = await testService(catalog, { clock });
});
afterAll(() => t.close());
beforeEach(() => t.emitted());

let codes = 0;
const metricOf = async (type = 1) =>
  (await t.done(newMetric, { code: `code ${++codes}`, metricName: 'Calls', type })).merchantMetric;
const planOf = async (more: object = {}) => (await t.done(newPlan, { ...monthly, ...more })).plan;
const detailOf = async (planId: number) => (await t.done(planDetail, { planId })).plan;
const limitsOf = async (planId: number) => (await detailOf(planId)).metricPlanLimits;
const events = async () => (await t.emitted()).map(({ type, version }) => `${type} ${version}`);
const issues = async (operation: Operation, input: object) => {
  const result = await t.call(operation, input);
  return result.ok ? 'accepted' : [result.slug, ...result.issues.map(({ path, message }) => `${path} ${message}`)];
};
/** The rows that say which metrics a plan names. */
const rowsOf = (planId: number) =>
  t.rows('select use, metric_id, metric_limit from plan_metrics where plan_id = $1 order by use, metric_id', [planId]);

describe('metric/plan/limit/new', () => {
  it('is one more limit of the plan, which says so', async () => {
    const [metric, other] = [await metricOf(), await metricOf()];
    const plan = await planOf({ metricLimits: [{ metricId: other.id, metricLimit: 1 }] });
    await t.done(activatePlan, { planId: plan.id });
    await t.emitted();
    clock.advance(9);
    const input = { planId: plan.id, metricId: metric.id, metricLimit: 100 };
    const { merchantMetricPlanLimit: limit } = await t.done(newPlanLimit, input);
    const times = { createTime: clock.now(), gmtModify: clock.now() };
    expect(limit).toEqual({ ...input, ...times, id: limit.id, merchantId: 15, quantity: 0, merchantMetric: metric });
    const [updated, logged, ...more] = await t.emitted();
    const metricLimits = [...plan.metricLimits, { metricId: metric.id, metricLimit: 100 }];
    expect(updated).toMatchObject({ type: 'plan.updated', version: 3, data: { ...plan, status: 2, metricLimits } });
    expect(logged).toMatchObject({
      data: { target: `Plan(${plan.id})`, content: 'NewMetricLimit', ids: { planId: plan.id } },
    });
    expect(more).toEqual([]);
    expect((await limitsOf(plan.id))[1]).toEqual(limit);
  });

  it('refuses what it does not know, what does not fit, and a second limit', async () => {
    const [metric, charged, { id: planId }] = [await metricOf(), await metricOf(2), await planOf()];
    const input = { planId, metricId: metric.id, metricLimit: 1 };
    expect(await issues(newPlanLimit, { ...input, planId: 9_000_000 })).toEqual(['plan_not_found']);
    expect(await issues(newPlanLimit, { ...input, planId: 0 })).toEqual(['plan_not_found']);
    expect(await issues(newPlanLimit, { ...input, metricId: 9_000_000 })).toEqual([
      'metric_not_found',
      '/metricId names no metric',
    ]);
    expect(await issues(newPlanLimit, { ...input, metricId: charged.id })).toEqual([
      'invalid_parameters',
      '/metricId must be limitMetered or limitRecurring, not chargeMetered',
    ]);
    expect(await t.call(newPlanLimit, { planId, metricId: '1', metricLimit: -1 })).toMatchObject({
      issues: [{ path: '/metricId' }, { path: '/metricLimit' }],
    });
    const all = await Promise.all(Array.from({ length: 64 }, () => t.call(newPlanLimit, input)));
    expect(all.filter(({ ok }) => ok)).toHaveLength(1);
    expect(await issues(newPlanLimit, input)).toEqual([
      'invalid_parameters',
      `/metricId is already limited by plan ${planId}`,
    ]);
    expect(await limitsOf(planId)).toHaveLength(1);
  });

  it('makes at most a thousand of one plan', async () => {
    const { id: planId } = await planOf();
    const many = `select jsonb_agg(jsonb_build_object('metricId', n, 'metricLimit', 1)) from generate_series(1000001, 1001000) n`;
    await t.rows(`update plans set metric_limits = (${many}) where id = $1`, [planId]);
    const { id: metricId } = await metricOf();
    expect(await issues(newPlanLimit, { planId, metricId, metricLimit: 1 })).toEqual([
      'invalid_parameters',
      '/planId names a plan that already has 1000 limits',
    ]);
  });

  it('has all limits that are made at once', async () => {
    const { id: planId } = await planOf();
    const all = await Promise.all(Array.from({ length: 12 }, () => metricOf()));
    await t.emitted();
    await Promise.all(all.map(({ id: metricId }) => t.done(newPlanLimit, { planId, metricId, metricLimit: 1 })));
    const versions = (await t.emitted()).filter(({ type }) => type === 'plan.updated').map(({ version }) => version);
    expect(versions.sort((a, b) => a - b)).toEqual(all.map((_, at) => at + 2));
    expect(new Set((await limitsOf(planId)).map(({ id }) => id)).size).toBe(12);
  });
});

describe('metric/plan/limit/edit and delete', () => {
  async function limited() {
    const metric = await metricOf();
    const plan = await planOf({ metricLimits: [{ metricId: metric.id, metricLimit: 5 }] });
    const [limit] = await limitsOf(plan.id);
    await t.emitted();
    return { metric, plan, limit, metricPlanLimitId: limit?.id ?? 0 };
  }

  it('change the entry of the plan', async () => {
    const { plan, limit, metricPlanLimitId } = await limited();
    clock.advance(3);
    const { merchantMetricPlanLimit: edited } = await t.done(editPlanLimit, { metricPlanLimitId, metricLimit: 7 });
    expect(edited).toEqual({ ...limit, metricLimit: 7, gmtModify: clock.now() });
    expect(await limitsOf(plan.id)).toEqual([edited]);
    expect((await detailOf(plan.id)).plan.metricLimits).toEqual([{ metricId: limit?.metricId, metricLimit: 7 }]);
    expect(await events()).toEqual(['plan.updated 2', 'operation.logged 1']);
    expect(await t.done(editPlanLimit, { metricPlanLimitId, metricLimit: 7 })).toEqual({
      merchantMetricPlanLimit: edited,
    });
    expect(await events()).toEqual([]);
    expect(await t.done(deletePlanLimit, { metricPlanLimitId })).toEqual({ merchantMetricPlanLimit: edited });
    expect(await events()).toEqual(['plan.updated 3', 'operation.logged 1']);
    expect(await limitsOf(plan.id)).toEqual([]);
    expect(await rowsOf(plan.id)).toEqual([]);
  });

  it('know no limit that is gone, unknown or a charge', async () => {
    const { metricPlanLimitId } = await limited();
    const charged = await planOf({ metricMeteredCharge: [{ metricId: (await metricOf(2)).id }] });
    const [row] = await t.rows('select id from plan_metrics where plan_id = $1', [charged.id]);
    await t.done(deletePlanLimit, { metricPlanLimitId });
    for (const id of [metricPlanLimitId, 9_000_000, 0, Number(row?.id)]) {
      expect(await issues(editPlanLimit, { metricPlanLimitId: id, metricLimit: 1 })).toEqual(['plan_limit_not_found']);
      expect(await issues(deletePlanLimit, { metricPlanLimitId: id })).toEqual(['plan_limit_not_found']);
    }
  });

  it('leave a plan that is archived for good as it is', async () => {
    const { plan, metric, metricPlanLimitId } = await limited();
    await t.rows(`update plans set status = 'hardArchived' where id = $1`, [plan.id]);
    const other = await metricOf();
    expect(await issues(editPlanLimit, { metricPlanLimitId, metricLimit: 1 })).toEqual(['plan_frozen']);
    expect(await issues(deletePlanLimit, { metricPlanLimitId })).toEqual(['plan_frozen']);
    expect(await issues(newPlanLimit, { planId: plan.id, metricId: other.id, metricLimit: 1 })).toEqual([
      'plan_frozen',
    ]);
    await t.done(deleteMetric, { metricId: metric.id });
  });

  it('happen once, and one after the other', async () => {
    const { plan, metricPlanLimitId } = await limited();
    const edits = Array.from({ length: 8 }, (_, at) =>
      t.call(editPlanLimit, { metricPlanLimitId, metricLimit: 10 + at }),
    );
    const deletions = Array.from({ length: 8 }, () => t.call(deletePlanLimit, { metricPlanLimitId }));
    const deleted = (await Promise.all(deletions)).filter(({ ok }) => ok);
    const edited = (await Promise.all(edits)).filter(({ ok }) => ok);
    expect(deleted).toHaveLength(1);
    expect(await limitsOf(plan.id)).toEqual([]);
    const versions = (await t.emitted()).filter(({ type }) => type === 'plan.updated').map(({ version }) => version);
    expect(versions.sort((a, b) => a - b)).toEqual(Array.from({ length: edited.length + 1 }, (_, at) => at + 2));
  });
});
