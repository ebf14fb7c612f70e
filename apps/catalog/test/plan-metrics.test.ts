import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  activatePlan,
  deleteMetric,
  deletePlanLimit,
  editMetric,
  editPlan,
  editPlanLimit,
  listPlans,
  newMetric,
  newPlan,
  newPlanLimit,
  type Operation,
  type Plan,
  planDetail,
} from '@recur/contracts';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import fc from 'fast-check';
import { metrics } from '../src/metric-tables.js';
import { catalog } from '../src/service.js';

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
        '/metricLimits/0/metricId must be limitMetered or limitRecurring, and is chargeMetered',
        '/metricLimits/2/metricId names a metric that the list has already',
        '/metricMeteredCharge/0/metricId must be chargeMetered, and is chargeRecurring',
        '/metricRecurringCharge/0/metricId must be chargeRecurring, and is limitRecurring',
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
      issues: [{ path: '/metricLimits/0/metricId', message: expect.stringContaining('and is chargeMetered') }],
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
      '/metricId must be limitMetered or limitRecurring, and is chargeMetered',
    ]);
    expect(await t.call(newPlanLimit, { planId, metricId: '1', metricLimit: -1 })).toMatchObject({
      issues: [{ path: '/metricId' }, { path: '/metricLimit' }],
    });
    const all = await Promise.all(Array.from({ length: 64 }, () => t.call(newPlanLimit, input)));
    expect(all.filter(({ ok }) => ok)).toHaveLength(1);
    expect(await issues(newPlanLimit, input)).toEqual([
      'invalid_parameters',
      `/metricId is limited by plan ${planId} already`,
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
      '/planId names a plan with 1000 limits, and it cannot have one more',
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

describe('a metric that is deleted while a plan with it becomes active', () => {
  const RACES = 24;
  /** What makes a plan with the metric an active one. */
  const ways: Record<string, (metricId: number) => Promise<() => Promise<{ ok: boolean }>>> = {
    'plan/activate': async metricId => {
      const plan = await planOf({ metricLimits: [{ metricId, metricLimit: 1 }] });
      return () => t.call(activatePlan, { planId: plan.id });
    },
    'plan/activate of what it is an add-on of': async metricId => {
      const addon = await planOf({ type: 2, metricLimits: [{ metricId, metricLimit: 1 }] });
      const plan = await planOf({ addonIds: [addon.id] });
      return () => t.call(activatePlan, { planId: plan.id });
    },
    'plan/edit': async metricId => {
      const plan = await activePlan();
      return () => t.call(editPlan, { planId: plan.id, metricLimits: [{ metricId, metricLimit: 1 }] });
    },
    'metric/plan/limit/new': async metricId => {
      const plan = await activePlan();
      return () => t.call(newPlanLimit, { planId: plan.id, metricId, metricLimit: 1 });
    },
  };
  async function activePlan(): Promise<Plan> {
    const plan = await planOf();
    await t.done(activatePlan, { planId: plan.id });
    return plan;
  }

  it.each(Object.entries(ways))('%s: exactly one wins', async (_, prepare) => {
    const won = { plan: 0, deletion: 0 };
    for (let race = 0; race < RACES; race++) {
      const { id: metricId } = await metricOf();
      const use = await prepare(metricId);
      const deletion = () => t.call(deleteMetric, { metricId });
      const [first, second] = race % 2 === 0 ? [use, deletion] : [deletion, use];
      const outcomes = await Promise.all([first(), second()]);
      expect(outcomes.filter(({ ok }) => ok)).toHaveLength(1);
      won[outcomes[race % 2]?.ok ? 'plan' : 'deletion']++;
    }
    const used =
      await t.rows(`select 1 from plan_metrics join plans on plans.id = plan_id join metrics on metrics.id = metric_id
      where plans.status = 'active' and deleted_time > 0`);
    expect(used).toEqual([]);
    expect(won.plan + won.deletion).toBe(RACES);
  });

  it.each(Object.entries(ways))('%s waits for a deletion that has begun, and finds it', async (_, prepare) => {
    const { id } = await metricOf();
    const use = await prepare(id);
    let outcome = { ok: true };
    let using: Promise<unknown> = Promise.resolve();
    await t.db.write(t.callerOf(), async tx => {
      const metric = await tx.lock(metrics, { id }, 'metric_not_found');
      using = use().then(result => {
        outcome = result;
      });
      await Promise.race([using, someoneWaits()]);
      tx.save(metrics, { ...metric, deletedTime: tx.now });
      tx.log(`Metric(${id})`, 'Delete');
      return {};
    });
    await using;
    expect(outcome.ok).toBe(false);
  });

  async function someoneWaits(): Promise<void> {
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    while ((await t.rows(waiting)).length === 0) await new Promise(resolve => setImmediate(resolve));
  }
});
