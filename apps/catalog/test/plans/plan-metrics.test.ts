import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  activatePlan,
  deleteMetric,
  editMetric,
  editPlan,
  listPlans,
  newMetric,
  newPlan,
  type Operation,
  planDetail,
} from '@recur/contracts';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import fc from 'fast-check';
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
const metricOf = async (type = 1, caller = {}) =>
  (await t.done(newMetric, { code: `code ${++codes}`, metricName: 'Calls', type }, caller)).merchantMetric;
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

describe('the metrics of a plan', () => {
  it('are there, live, and of a type that the list takes; all fields at fault are named', async () => {
    const [metered, charged, recurring, recurringLimit, gone] = await Promise.all(
      [1, 2, 3, 4, 1].map(type => metricOf(type)),
    );
    const id = (of: { id: number } | undefined) => ({ metricId: of?.id ?? 0 });
    const limit = (of: { id: number } | undefined) => ({ ...id(of), metricLimit: 1 });
    await t.done(deleteMetric, id(gone));
    const foreign = await metricOf(1, { merchantId: 16 });
    const planId = (await planOf()).id;
    for (const [operation, base] of [
      [newPlan, monthly],
      [editPlan, { planId }],
    ] as [Operation, object][]) {
      const unknown = {
        metricLimits: [limit(metered), limit(gone), limit(foreign)],
        metricMeteredCharge: [{ metricId: 9_000_000 }],
        metricRecurringCharge: [{ metricId: 0 }],
      };
      expect(await issues(operation, { ...base, ...unknown })).toEqual([
        'metric_not_found',
        '/metricLimits/1/metricId names no metric',
        '/metricLimits/2/metricId names no metric',
        '/metricMeteredCharge/0/metricId names no metric',
        '/metricRecurringCharge/0/metricId names no metric',
      ]);
      const unfit = {
        metricLimits: [limit(charged), limit(metered), limit(metered)],
        metricMeteredCharge: [id(recurring)],
        metricRecurringCharge: [id(recurringLimit)],
      };
      expect(await issues(operation, { ...base, ...unfit })).toEqual([
        'invalid_parameters',
        '/metricLimits/0/metricId must be limitMetered or limitRecurring, not chargeMetered',
        '/metricLimits/2/metricId is already in the list',
        '/metricMeteredCharge/0/metricId must be chargeMetered, not chargeRecurring',
        '/metricRecurringCharge/0/metricId must be chargeRecurring, not limitRecurring',
      ]);
      const fit = {
        metricLimits: [limit(recurringLimit), limit(metered)],
        metricMeteredCharge: [id(charged)],
        metricRecurringCharge: [id(recurring)],
      };
      expect(await issues(operation, { ...base, ...fit })).toBe('accepted');
    }
  });

  it('are shown with it, limits as rows with an id, in the order of the plan', async () => {
    const [one, two, charged, recurring] = [await metricOf(1), await metricOf(4), await metricOf(2), await metricOf(3)];
    const metricLimits = [two, one].map(({ id: metricId }, at) => ({ metricId, metricLimit: at + 5 }));
    const graduatedAmounts = [{ startValue: 0, endValue: -1, flatAmount: 2, perAmount: 1 }];
    const plan = await planOf({
      metricLimits,
      metricMeteredCharge: [{ metricId: charged.id, chargeType: 1, graduatedAmounts }],
      metricRecurringCharge: [{ metricId: recurring.id, standardAmount: 3, standardStartValue: 1 }],
    });
    const detail = await detailOf(plan.id);
    expect(detail.plan).toEqual(plan);
    const times = { createTime: clock.now(), gmtModify: clock.now() };
    expect(detail.metricPlanLimits).toEqual(
      [two, one].map((merchantMetric, at) => ({
        id: expect.any(Number),
        merchantId: 15,
        planId: plan.id,
        metricId: merchantMetric.id,
        metricLimit: at + 5,
        quantity: 0,
        ...times,
        merchantMetric,
      })),
    );
    expect(detail.metricMeteredCharge).toEqual([{ ...plan.metricMeteredCharge[0], merchantMetric: charged }]);
    expect(detail.metricRecurringCharge).toEqual([{ ...plan.metricRecurringCharge[0], merchantMetric: recurring }]);
    const { plans } = await t.done(listPlans, { planIds: [plan.id] });
    expect(plans).toEqual([detail]);
  });

  it('of an add-on are looked at when it becomes active with its plan', async () => {
    const metric = await metricOf();
    const addon = await planOf({ type: 2, metricLimits: [{ metricId: metric.id, metricLimit: 1 }] });
    const plan = await planOf({ addonIds: [addon.id] });
    const [other] = [await planOf()];
    await t.done(activatePlan, { planId: other.id });
    await t.done(deleteMetric, { metricId: metric.id });
    await t.emitted();
    for (const [operation, input] of [
      [activatePlan, { planId: plan.id }],
      [editPlan, { planId: other.id, addonIds: [addon.id] }],
    ] as [Operation, object][]) {
      expect(await t.call(operation, input)).toMatchObject({
        slug: 'plan_not_activatable',
        message: expect.stringContaining(`Plan ${addon.id} is editing`),
      });
    }
    expect(await events()).toEqual([]);
  });

  it('of another type than when they were named keep a plan from becoming active', async () => {
    const metric = await metricOf();
    const plan = await planOf({ metricLimits: [{ metricId: metric.id, metricLimit: 1 }] });
    await t.done(editMetric, { metricId: metric.id, metricName: 'X', type: 2 });
    expect(await t.call(activatePlan, { planId: plan.id })).toMatchObject({
      slug: 'plan_not_activatable',
      issues: [{ path: '/metricLimits/0/metricId', message: expect.stringContaining('not chargeMetered') }],
    });
  });

  it('are kept as rows however the plan is edited', async () => {
    const types = { metricLimits: 1, metricMeteredCharge: 2, metricRecurringCharge: 3 };
    const uses = {
      metricLimits: 'limit',
      metricMeteredCharge: 'meteredCharge',
      metricRecurringCharge: 'recurringCharge',
    };
    type List = keyof typeof types;
    const of = Object.fromEntries(
      await Promise.all(
        Object.entries(types).map(async ([list, type]) => [
          list,
          await Promise.all([1, 2, 3].map(() => metricOf(type))),
        ]),
      ),
    ) as Record<List, { id: number }[]>;
    const { id: planId } = await planOf();
    const some = (list: List) =>
      fc
        .option(fc.uniqueArray(fc.record({ at: fc.nat(2), metricLimit: fc.nat(9) }), { selector: ({ at }) => at }), {
          nil: undefined,
        })
        .map(chosen => chosen?.map(({ at, metricLimit }) => ({ metricId: of[list][at]?.id ?? 0, metricLimit })));
    const edits = fc.record({
      metricLimits: some('metricLimits'),
      metricMeteredCharge: some('metricMeteredCharge'),
      metricRecurringCharge: some('metricRecurringCharge'),
    });
    for (const edit of fc.sample(edits, 30)) {
      const before = new Map((await limitsOf(planId)).map(limit => [limit.metricId, limit]));
      clock.advance(1);
      const { plan } = await t.done(editPlan, { planId, ...edit });
      const named = (Object.keys(uses) as List[]).flatMap(list =>
        plan[list].map(entry => ({
          use: uses[list],
          metric_id: String(entry.metricId),
          metric_limit: String('metricLimit' in entry ? entry.metricLimit : 0),
        })),
      );
      const key = (row: object) => JSON.stringify(row);
      expect((await rowsOf(planId)).map(key).sort()).toEqual(named.map(key).sort());
      for (const limit of await limitsOf(planId)) {
        const known = before.get(limit.metricId);
        const unchanged = known?.metricLimit === limit.metricLimit;
        expect(limit.id).toBe(known?.id ?? limit.id);
        expect([limit.createTime, limit.gmtModify]).toEqual([
          known?.createTime ?? clock.now(),
          unchanged ? known?.gmtModify : clock.now(),
        ]);
      }
    }
  });
});
