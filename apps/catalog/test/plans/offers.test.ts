import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  archiveCheckout,
  bindAddons,
  newCheckout,
  newMetric,
  planDetail,
  portalLook,
  portalPlanDetail,
  portalPlanList,
  setDefaultCheckout,
} from '@recur/contracts';
import type { TestCaller } from '@recur/platform/testing';
import { planStates, type Shelf, shelf } from './shelf.js';

let s: Shelf;
beforeAll(async () => {
  s = await shelf();
});
afterAll(() => s.t.close());

const visitor: TestCaller = { merchantId: 15, actor: { kind: 'user', id: '3', display: 'user-3@example.com' } };
const offer = async (planId: number, checkoutId?: number) =>
  s.t.done(portalPlanDetail, { planId, checkoutId }, visitor);

describe('plan/detail of the hosted pages', () => {
  it('shows what a buyer needs, and nothing that the merchant keeps for itself', async () => {
    const { merchantMetric: metric } = await s.t.done(newMetric, { code: 'calls', metricName: 'Calls', unit: 'call' });
    const product = await s.productOf();
    const [sold, drafted] = [await s.inState('active', { type: 2 }), await s.inState('editing', { type: 2 })];
    const plan = await s.inState('active', {
      productId: product.id,
      addonIds: [sold.id],
      internalName: 'secret',
      metadata: { margin: 'secret' },
      externalPlanId: 'secret',
      metricLimits: [{ metricId: metric.id, metricLimit: 100 }],
      multiCurrencies: [{ currency: 'EUR', exchangeRate: 0.9 }],
    });
    await s.t.done(bindAddons, { planId: plan.id, action: 1, addonIds: [drafted.id] });
    await s.t.rows(`update plans set status = 'softArchived' where id = $1`, [drafted.id]);
    const shown = await offer(plan.id);
    expect(shown.plan.plan).toMatchObject({ id: plan.id, planName: plan.planName, amount: 999, currency: 'USD' });
    expect(shown.plan.plan.multiCurrencies).toEqual([{ currency: 'EUR', disable: false }]);
    expect(shown.plan.product).toMatchObject({ id: product.id, productName: 'Seats' });
    expect(shown.plan.addons.map(({ id }) => id)).toEqual([sold.id]);
    expect(shown.plan.metricPlanLimits).toMatchObject([
      { metricLimit: 100, merchantMetric: { code: 'calls', metricName: 'Calls', unit: 'call' } },
    ]);
    expect(JSON.stringify(shown)).not.toContain('secret');
    // the merchant sees all of it
    expect(JSON.stringify(await s.t.done(planDetail, { planId: plan.id }))).toContain('secret');
  });

  it('is of active main plans only, and of the own merchant', async () => {
    for (const state of planStates) {
      const { id: planId } = await s.inState(state);
      const shown = await s.t.call(portalPlanDetail, { planId }, visitor);
      const isSold = state === 'active' || state === 'published';
      expect([state, shown.ok ? 'shown' : shown.slug]).toEqual([state, isSold ? 'shown' : 'plan_not_found']);
    }
    const addon = await s.inState('active', { type: 2 });
    const main = await s.inState('active');
    const refused = { slug: 'plan_not_found' };
    expect(await s.t.call(portalPlanDetail, { planId: addon.id }, visitor)).toMatchObject(refused);
    expect(await s.t.call(portalPlanDetail, { planId: main.id }, { ...visitor, merchantId: 16 })).toMatchObject(
      refused,
    );
  });

  it("comes with the template that the link names, else the plan's, else the default", async () => {
    const template = async (name: string) =>
      (await s.t.done(newCheckout, { name, data: { color: name }, stagingData: { color: 'secret' } })).merchantCheckout
        .id;
    const bare = await s.inState('active');
    expect((await offer(bare.id)).checkout).toBeNull();
    const [own, named, usual] = [await template('own'), await template('named'), await template('usual')];
    const plan = await s.inState('active', { checkoutTemplateId: own });
    await s.t.done(setDefaultCheckout, { checkoutId: usual });
    expect((await s.t.done(portalLook, {}, visitor)).checkout).toEqual({ name: 'usual', data: { color: 'usual' } });
    expect((await s.t.done(portalLook, {}, { ...visitor, merchantId: 16 })).checkout).toBeNull();
    const lookOf = async (planId: number, checkoutId?: number) => (await offer(planId, checkoutId)).checkout;
    expect(await lookOf(plan.id, named)).toEqual({ name: 'named', data: { color: 'named' } });
    expect(await lookOf(plan.id)).toMatchObject({ name: 'own' });
    expect(await lookOf(bare.id)).toMatchObject({ name: 'usual' });
    await s.t.done(archiveCheckout, { checkoutId: named });
    expect(await lookOf(plan.id, named)).toMatchObject({ name: 'own' });
  });
});

describe('plan/list of the hosted pages', () => {
  it('has the published main plans of the product, newest first', async () => {
    const { id: productId } = await s.productOf();
    const made: number[] = [];
    for (const state of planStates) made.push((await s.inState(state, { productId })).id);
    s.clock.advance(1);
    const newest = await s.inState('published', { productId });
    await s.inState('published', { productId, type: 2 });
    await s.inState('published');
    const { plans, total } = await s.t.done(portalPlanList, { productId }, visitor);
    expect(plans.map(({ plan }) => plan.id)).toEqual([newest.id, made[planStates.indexOf('published')]]);
    expect(total).toBe(2);
    const others = await s.t.done(portalPlanList, { productId }, { ...visitor, merchantId: 16 });
    expect(others).toEqual({ plans: [], total: 0 });
  });
});
