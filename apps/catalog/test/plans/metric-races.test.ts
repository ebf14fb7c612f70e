import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { activatePlan, deleteMetric, editPlan, newMetric, newPlan, newPlanLimit, type Plan } from '@recur/contracts';
import { blockedBy, ownProcess, type TestService, testService } from '@recur/platform/testing';
import { metrics } from '../../src/metrics/tables.js';
import { catalog } from '../../src/service.js';

let t: TestService;
const monthly = { amount: 999, currency: 'USD', planName: 'Basic', intervalUnit: 'month', intervalCount: 1 };

beforeAll(async () => {
  t = await testService(catalog);
});
afterAll(() => t.close());

let codes = 0;
const metricOf = async () => (await t.done(newMetric, { code: `code ${++codes}`, metricName: 'Calls' })).merchantMetric;
const planOf = async (more: object = {}) => (await t.done(newPlan, { ...monthly, ...more })).plan;

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
      where plans.status = 'active' and metrics.deleted_time > 0`);
    expect(used).toEqual([]);
    expect(won.plan + won.deletion).toBe(RACES);
  });

  it.each(Object.entries(ways))('%s waits for a deletion that has begun, and finds it', async (_, prepare) => {
    const { id } = await metricOf();
    const use = await prepare(id);
    let outcome: { ok: boolean } | undefined;
    let using: Promise<unknown> = Promise.resolve();
    await t.db.write(t.callerOf(), async tx => {
      const metric = await tx.lock(metrics, { id }, 'metric_not_found');
      const [process] = await tx.run(ownProcess, []);
      using = use().then(result => {
        outcome = result;
      });
      while (!outcome && (await blockedBy(t, process?.pid)).length === 0);
      tx.save(metrics, { ...metric, deletedTime: tx.now });
      tx.log(`Metric(${id})`, 'Delete');
      return {};
    });
    await using;
    expect(outcome).toMatchObject({ ok: false });
  });
});
