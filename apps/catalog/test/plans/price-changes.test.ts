import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { confirmPriceChange, editPlan, planDetail, planType, previewPriceChange } from '@recur/contracts';
import { planStates, type Shelf, shelf } from './shelf.js';

let s: Shelf;
const counts = { activeAffectedSubscriptions: 2, totalAffectedSubscriptions: 3 };
const asked: unknown[] = [];
const answering = () =>
  s.t.bus.answer('billing', async (_, payload) => {
    asked.push(JSON.parse(payload));
    return { ok: true, bytes: JSON.stringify(counts) };
  });
beforeAll(async () => {
  s = await shelf();
});
afterAll(() => s.t.close());
beforeEach(() => {
  asked.length = 0;
  answering();
});

const confirm = (planId: number, newAmount: number, over: object = {}) =>
  s.t.call(confirmPriceChange, { planId, newAmount, confirmOldAmount: 999, reason: 'Costs', ...over });

describe('a price change', () => {
  it('is previewed with the subscriptions that it concerns, and changes nothing', async () => {
    const plan = await s.inState('active');
    await s.types();
    expect(await s.t.done(previewPriceChange, { planId: plan.id, newAmount: 1200 })).toEqual({
      planId: plan.id,
      oldAmount: 999,
      newAmount: 1200,
      ...counts,
    });
    expect(asked).toEqual([{ planId: plan.id, isAddon: false, currency: 'USD', newAmount: 1200 }]);
    expect(await s.types()).toEqual([]);
  });

  it('is confirmed: the plan has the new amount, and its amounts a history', async () => {
    const plan = await s.inState('active');
    await s.types();
    expect(await confirm(plan.id, 1200)).toMatchObject({
      ok: true,
      data: { planId: plan.id, oldAmount: 999, newAmount: 1200, ...counts },
    });
    expect(await s.types()).toEqual(['plan.price_changed 3', 'operation.logged 1']);
    s.clock.advance(60);
    await confirm(plan.id, 1100, { confirmOldAmount: 1200, reason: '' });
    const [first, later] = [plan.createTime, plan.createTime + 60];
    const { plan: detail } = await s.t.done(planDetail, { planId: plan.id });
    expect(detail.plan).toMatchObject({
      amount: 1100,
      priceChange: { no: 2, oldAmount: 1200, newAmount: 1100, reason: '', createTime: later },
    });
    expect(detail.amountHistory).toEqual([
      { amount: 999, currency: 'USD', from: first, reason: '' },
      { amount: 1200, currency: 'USD', from: first, reason: 'Costs' },
      { amount: 1100, currency: 'USD', from: later, reason: '' },
    ]);
  });

  it('leaves a plan without one with the amount that it was made with', async () => {
    const plan = await s.planOf();
    await s.t.done(editPlan, { planId: plan.id, amount: 500 });
    const { plan: detail } = await s.t.done(planDetail, { planId: plan.id });
    expect(detail.plan.priceChange).toBeNull();
    expect(detail.amountHistory).toEqual([{ amount: 500, currency: 'USD', from: plan.createTime, reason: '' }]);
  });

  it.each(planStates)('of a plan that is %s: only an active one has it', async state => {
    const { id } = await s.inState(state);
    const slug = state === 'deleted' ? 'plan_not_found' : 'plan_not_active';
    const isActive = state === 'active' || state === 'published';
    const outcome = isActive ? { ok: true } : { ok: false, slug };
    expect(await s.t.call(previewPriceChange, { planId: id, newAmount: 1200 })).toMatchObject(outcome);
    expect(await confirm(id, 1200)).toMatchObject(outcome);
    expect(asked).toHaveLength(isActive ? 2 : 0);
  });

  it.each([
    ['an amount that it does not have now', {}, { confirmOldAmount: 998 }, '/confirmOldAmount'],
    ['the amount that it has', {}, { newAmount: 999 }, '/newAmount'],
    ['a one-time add-on', { type: planType.onetimeAddon }, {}, '/planId'],
    ['less than nothing', {}, { newAmount: -1 }, '/newAmount'],
  ])('is refused for %s', async (_, more, over, path) => {
    const { id } = await s.inState('active', more);
    expect(await confirm(id, 1200, over)).toMatchObject({ ok: false, slug: 'invalid_parameters', issues: [{ path }] });
  });

  it('says the amount of now where another is confirmed', async () => {
    const { id } = await s.inState('active');
    const refusal = await confirm(id, 1200, { confirmOldAmount: 1 });
    expect(refusal).toMatchObject({ issues: [{ message: `is 1: the amount of plan ${id} is 999` }] });
  });

  it('of a recurring add-on asks for those that sell it', async () => {
    const { id } = await s.inState('active', { type: planType.recurringAddon });
    await confirm(id, 1200);
    expect(asked).toEqual([{ planId: id, isAddon: true, currency: 'USD', newAmount: 1200 }]);
  });

  it('waits for billing, and changes nothing without it', async () => {
    const { id } = await s.inState('active');
    s.t.bus.remove('billing');
    expect(await confirm(id, 1200)).toMatchObject({ ok: false, slug: 'dependency_away' });
    answering();
    expect(await confirm(id, 1200)).toMatchObject({ ok: true });
  });

  it('is answered again under the same key, without a second one', async () => {
    const { id } = await s.inState('active');
    const input = { planId: id, newAmount: 1200, confirmOldAmount: 999 };
    const first = await s.t.call(confirmPriceChange, input, { idempotencyKey: 'once' });
    s.t.bus.remove('billing');
    const again = await s.t.call(confirmPriceChange, input, { idempotencyKey: 'once' });
    expect(again).toMatchObject({ ok: true, data: first.ok && first.data });
  });

  it('is made once of 64 that confirm the same amount at once', async () => {
    const { id } = await s.inState('active');
    const all = await Promise.all(Array.from({ length: 64 }, (_, n) => confirm(id, 2000 + n)));
    expect(all.filter(({ ok }) => ok)).toHaveLength(1);
    const refused = all.flatMap(result => (result.ok ? [] : [result.issues[0]?.path]));
    expect(refused).toEqual(Array.from({ length: 63 }, () => '/confirmOldAmount'));
    const rows = await s.t.rows('select no from plan_price_changes where plan_id = $1', [id]);
    expect(rows).toEqual([{ no: 1 }]);
  });
});
