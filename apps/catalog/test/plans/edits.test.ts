import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { activatePlan, editPlan, newMetric, newPlan, planDetail, publishPlan, unpublishPlan } from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import fc from 'fast-check';
import { catalog } from '../../src/service.js';

let t: TestService;
const monthly = { amount: 999, currency: 'USD', planName: 'Basic', intervalUnit: 'month', intervalCount: 1 };

beforeAll(async () => {
  t = await testService(catalog);
});
afterAll(() => t.close());
beforeEach(() => t.emitted());

const planOf = async (more: object = {}, caller = {}) => (await t.done(newPlan, { ...monthly, ...more }, caller)).plan;
const types = async () => (await t.emitted()).map(({ type, version }) => `${type} ${version}`);
async function active(more: object = {}) {
  const plan = await planOf(more);
  await t.done(activatePlan, { planId: plan.id });
  await t.emitted();
  return plan;
}

describe('plan/edit', () => {
  it('changes what is sent, and nothing else', async () => {
    const plan = await planOf({ metadata: { tier: 'b' }, externalPlanId: 'basic-1' });
    const addon = await planOf({ type: 2 });
    await t.emitted();
    const sent = { planName: 'Pro', amount: 1999, addonIds: [addon.id], multiTrials: [[{ name: 'First' }]] };
    const { plan: edited } = await t.done(editPlan, { planId: plan.id, ...sent });
    expect(edited).toEqual({
      ...plan,
      planName: 'Pro',
      amount: 1999,
      bindingAddonIds: String(addon.id),
      multiTrials: [expect.objectContaining({ name: 'First' })],
    });
    expect(await types()).toEqual(['plan.updated 2', 'operation.logged 1']);
    await t.done(editPlan, { planId: plan.id, ...sent });
    expect(await types()).toEqual([]);
  });

  it('checks what is sent as a new plan would be', async () => {
    const { id: planId } = await planOf();
    const other = await planOf({ externalPlanId: 'taken' });
    expect(await t.call(editPlan, { planId, externalPlanId: 'taken' })).toMatchObject({
      issues: [{ path: '/externalPlanId' }],
    });
    expect(await t.call(editPlan, { planId, addonIds: [other.id] })).toMatchObject({
      issues: [{ path: '/addonIds/0' }],
    });
    expect(await t.call(editPlan, { planId, addonIds: [9_999] })).toMatchObject({ slug: 'plan_not_found' });
    expect(await t.call(editPlan, { planId, productId: 9_999 })).toMatchObject({ slug: 'product_not_found' });
    expect(await t.call(editPlan, { planId, intervalUnit: 'year', intervalCount: 2 })).toMatchObject({
      issues: [{ path: '/intervalCount' }],
    });
    const year = { intervalUnit: 'year', intervalCount: 2 };
    for (const multiTrials of [[year], [[year]]]) {
      expect(await t.call(editPlan, { planId, multiTrials })).toMatchObject({ slug: 'invalid_parameters' });
    }
    // the stored count is too large for the unit that is sent
    await t.done(editPlan, { planId, intervalUnit: 'day', intervalCount: 300 });
    expect(await t.call(editPlan, { planId, intervalUnit: 'week' })).toMatchObject({
      issues: [{ path: '/intervalCount' }],
    });
    for (const unknown of [9_999, 0]) {
      expect(await t.call(editPlan, { planId: unknown, planName: 'x' })).toMatchObject({ slug: 'plan_not_found' });
    }
    expect(await t.call(editPlan, { planId }, { merchantId: 16 })).toMatchObject({ slug: 'plan_not_found' });
  });

  it('refuses what would make a plan too large to be told of, in however many steps', async () => {
    const { id: planId } = await planOf({ metadata: { text: 'x'.repeat(1_000_000) } });
    await t.done(editPlan, { planId, multiTrials: [{ metadata: { text: 'x'.repeat(1_000_000) } }] });
    await t.emitted();
    const metadata = { numbers: Array.from({ length: 990 }, () => 1e20) };
    const large = { multiTrials: Array.from({ length: 101 }, () => ({ metadata })) };
    expect(await t.call(editPlan, { planId, ...large }, { idempotencyKey: 'large' })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '', message: expect.stringMatching(`^plan ${planId} would have \\d+ bytes as JSON`) }],
    });
    expect(await types()).toEqual([]);
    const { plan } = await t.done(editPlan, { planId, metadata: {}, ...large }, { idempotencyKey: 'large enough' });
    expect((await t.done(planDetail, { planId })).plan.plan).toEqual(plan);
  });

  it('takes no more entries in lists of lists than in a list', async () => {
    const { id: planId } = await planOf();
    const half = Array.from({ length: 600 }, () => ({}));
    expect(await t.call(editPlan, { planId, multiTrials: [half, half] })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/multiTrials', message: 'multiTrials must have at most 1000 entries in total' }],
    });
    const { plan } = await t.done(editPlan, { planId, multiTrials: [half, ...half.slice(0, 400)] });
    expect(plan.multiTrials).toHaveLength(1_000);
  });

  it('leaves what is not sent: a tax configuration without addresses, and add-ons whatever became of them', async () => {
    const addon = await planOf({ type: 2 });
    const plan = await planOf({ usVATConfig: { active: true }, productName: 'Ours', addonIds: [addon.id] });
    await t.rows(`update plans set status = 'hardArchived' where id = $1`, [addon.id]);
    const { plan: edited } = await t.done(editPlan, { planId: plan.id, planName: 'Pro' });
    expect(edited).toEqual({ ...plan, planName: 'Pro' });
    await t.emitted();
    await t.done(editPlan, { planId: plan.id, addonIds: [addon.id, addon.id], usVATConfig: { active: true } });
    expect(await types()).toEqual([]);
    await t.done(editPlan, { planId: plan.id, autoUpgradePlanId: (await planOf()).id });
    const both = [addon.id, (await planOf({ type: 2 })).id];
    expect(await t.call(editPlan, { planId: plan.id, addonIds: both })).toMatchObject({
      issues: [{ path: '/addonIds/0' }],
    });
    expect(await t.rows('select product_name from plans where id = $1', [plan.id])).toEqual([{ product_name: 'Ours' }]);
  });

  it('says that a plan is frozen before anything else that is wrong with the change', async () => {
    const addon = await planOf({ type: 2, intervalCount: 3 });
    const { id: planId } = await active({ intervalCount: 3, addonIds: [addon.id] });
    for (const sent of [{ intervalUnit: 'year' }, { currency: 'EUR' }, { amount: 1, productId: 9_999 }]) {
      expect(await t.call(editPlan, { planId, ...sent })).toMatchObject({
        slug: 'plan_frozen',
        message: `Plan ${planId} is active: cannot edit its ${Object.keys(sent)[0]}`,
      });
    }
    await t.rows(`update plans set status = 'hardArchived' where id = $1`, [planId]);
    for (const sent of [{}, { planName: 'Pro' }, { addonIds: [] }]) {
      const message = `Plan ${planId} is hardArchived: cannot edit it`;
      expect(await t.call(editPlan, { planId, ...sent })).toMatchObject({ slug: 'plan_frozen', message });
    }
    expect(await types()).toEqual([]);
  });

  it('leaves an active plan such that it can be billed: what could not be activated is refused', async () => {
    const { merchantMetric } = await t.done(newMetric, { code: 'calls', metricName: 'Calls', type: 2 });
    const charge = (...ends: number[]) => ({
      metricMeteredCharge: [
        {
          metricId: merchantMetric.id,
          chargeType: 1,
          graduatedAmounts: ends.map(endValue => ({ startValue: 0, endValue, perAmount: 3 })),
        },
      ],
    });
    const { id: planId } = await active(charge(10, -1));
    for (const ends of [[10], [], [10, 5, -1]]) {
      expect(await t.call(editPlan, { planId, ...charge(...ends) })).toMatchObject({
        slug: 'invalid_parameters',
        issues: [{ path: '/metricMeteredCharge/0/graduatedAmounts' }],
      });
    }
    expect(await types()).toEqual([]);
    await t.done(editPlan, { planId, ...charge(10, 20, -1) });
    expect(await types()).toEqual(['plan.updated 3', 'operation.logged 1']);
    // what is not sold may be half done
    const { id: editing } = await planOf();
    await t.done(editPlan, { planId: editing, ...charge(10) });
  });

  it('binds add-ons to an active plan as its activation would: they become active too, or nothing happens', async () => {
    const { id: planId } = await active();
    const [seat, setup, lame] = [
      await planOf({ type: 2 }),
      await planOf({ type: 3 }),
      await planOf({ type: 2, intervalUnit: '', intervalCount: 0 }),
    ];
    await t.emitted();
    expect(await t.call(editPlan, { planId, addonIds: [seat.id, lame.id] })).toMatchObject({
      slug: 'plan_not_activatable',
      message: expect.stringContaining(`Plan ${lame.id} is editing`),
    });
    expect(await types()).toEqual([]);
    await t.done(editPlan, { planId, addonIds: [seat.id], onetimeAddonIds: [setup.id] });
    expect(await types()).toEqual(['plan.updated 3', 'plan.activated 2', 'operation.logged 1']);
    await t.done(editPlan, { planId, addonIds: [] });
    expect(await types()).toEqual(['plan.updated 4', 'operation.logged 1']);
    expect(await t.rows('select status from plans where id = any($1) order by id', [[seat.id, setup.id]])).toEqual([
      { status: 'active' },
      { status: 'editing' },
    ]);
  });

  it('leaves an add-on the currency of the plan that it is bound to, however many ask', async () => {
    const rounds = await Promise.all(
      Array.from({ length: 16 }, async () => {
        const [addon, main] = await Promise.all([planOf({ type: 3 }), planOf()]);
        await Promise.all([
          t.call(editPlan, { planId: addon.id, currency: 'EUR' }),
          t.call(editPlan, { planId: main.id, onetimeAddonIds: [addon.id] }),
        ]);
        return [addon.id, main.id];
      }),
    );
    const [both] = await t.rows(
      `select count(*) filter (where a.currency <> m.currency) as torn
         from plans a join plans m on a.id = any(m.onetime_addon_ids) where m.id = any($1)`,
      [rounds.flat()],
    );
    expect(both).toMatchObject({ torn: '0' });
    const addon = await planOf({ type: 2 });
    const main = await planOf({ addonIds: [addon.id] });
    expect(await t.call(editPlan, { planId: addon.id, currency: 'EUR' })).toMatchObject({
      issues: [{ path: '/currency', message: expect.stringContaining(`plan ${main.id}`) }],
    });
    await t.done(editPlan, { planId: main.id, addonIds: [] });
    await t.done(editPlan, { planId: addon.id, currency: 'EUR' });
  });

  it('never changes price, currency or interval of an active plan, whatever is sent', async () => {
    const { id: planId } = await active();
    const frozen = {
      amount: fc.nat(2_000),
      currency: fc.constantFrom('USD', 'EUR', 'usd'),
      intervalUnit: fc.constantFrom('day', 'month', ''),
      intervalCount: fc.nat(12),
    };
    const free = {
      planName: fc.constantFrom('Basic', 'Pro'),
      description: fc.constantFrom('', 'text'),
      trialAmount: fc.nat(3),
    };
    await fc.assert(
      fc.asyncProperty(fc.record({ ...frozen, ...free }, { requiredKeys: [] }), async sent => {
        const same = { ...monthly, ...sent, currency: (sent.currency ?? 'USD').toUpperCase() };
        const changes = Object.keys(frozen).filter(
          field => same[field as keyof typeof same] !== monthly[field as keyof typeof monthly],
        );
        const result = await t.call(editPlan, { planId, ...sent });
        if (changes.length > 0) {
          expect(result).toMatchObject({ slug: 'plan_frozen', message: expect.stringContaining(changes.join(', ')) });
        } else {
          expect(result.ok).toBe(true);
        }
        expect((await t.done(planDetail, { planId })).plan.plan).toMatchObject({
          amount: 999,
          currency: 'USD',
          intervalUnit: 'month',
          intervalCount: 1,
        });
      }),
      { numRuns: 60 },
    );
  });
});

describe('plan/publish and plan/unpublished', () => {
  it('show an active plan, and show it no more; once each', async () => {
    const plan = await active({ externalPlanId: 'shown' });
    await t.done(publishPlan, { externalPlanId: 'shown' });
    await t.done(publishPlan, { planId: plan.id });
    expect(await types()).toEqual(['plan.published 3', 'operation.logged 1']);
    expect((await t.done(planDetail, { planId: plan.id })).plan.plan.publishStatus).toBe(2);
    await t.done(unpublishPlan, { planId: plan.id });
    await t.done(unpublishPlan, { planId: plan.id });
    expect(await types()).toEqual(['plan.unpublished 4', 'operation.logged 1']);
  });

  it('refuse a plan that is not active, and one that nobody has', async () => {
    const { id: planId } = await planOf();
    await t.emitted();
    expect(await t.call(publishPlan, { planId })).toMatchObject({
      slug: 'plan_not_active',
      message: expect.stringContaining('editing'),
    });
    for (const operation of [publishPlan, unpublishPlan]) {
      expect(await t.call(operation, { planId }, { merchantId: 16 })).toMatchObject({ slug: 'plan_not_found' });
      expect(await t.call(operation, {})).toMatchObject({ slug: 'invalid_parameters' });
    }
    expect(await types()).toEqual([]);
  });
});
