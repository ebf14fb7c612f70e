import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  activateDiscount,
  deactivateDiscount,
  deleteDiscount,
  discountBillingType,
  discountPlanApplyType,
  discountStatus,
  discountType,
  discountUserScope,
  editDiscount,
  getDiscount,
  incrementDiscountQuantity,
  listDiscounts,
  listUserDiscounts,
  newDiscount,
  planType,
  previewDiscount,
  userDiscountStatus,
} from '@recur/contracts';
import * as discounts from '../../src/discounts/redemption.js';
import type { Application } from '../../src/discounts/uses.js';
import { type Shop, shop } from '../world/shop.js';

let s: Shop;
let day: number;
beforeAll(async () => {
  s = await shop();
  day = s.clock.now();
  s.knowPlan(7);
  s.knowUser(2);
  // copies of plan and users come with the first command that needs them
  await s.made({ userId: 1, lines: [{ planId: 7, quantity: 1 }] });
  await s.made({ userId: 2 });
});
afterAll(() => s.t.close());

const half = {
  billingType: discountBillingType.onetime,
  discountType: discountType.percentage,
  discountPercentage: 5000,
  startTime: 0,
  endTime: 0,
};
const made = async (code: string, over: object = {}) =>
  (await s.t.done(newDiscount, { code, ...half, ...over })).discount;
const detail = async (id: number) => (await s.t.done(getDiscount, { id })).discount;
const use = (code: string, userId: number, over: Partial<discounts.RedemptionRequest & Application> = {}) =>
  s.t.db.write(s.t.callerOf(), async tx => {
    const plan = { id: 7, type: planType.main, currency: 'EUR', intervalUnit: 'month', intervalCount: 1 };
    const submit = {
      code,
      userId,
      plan,
      currency: 'EUR',
      moment: tx.now,
      operation: 'create',
      paidInvoices: 0,
    } as const;
    await discounts.reserve(tx, { ...submit, invoiceId: `in_${code}_${userId}`, ...over });
    tx.log('Test()', 'Try');
    return {};
  });

describe('discount/new and edit', () => {
  it('keep every setting', async () => {
    await s.t.emitted();
    const group = {
      currency: ['EUR'],
      groupPlanIntervalSelector: [{ intervalUnit: 'month', intervalCount: 3 }],
      type: [1],
    };
    const settings = {
      billingType: discountBillingType.recurring,
      discountType: discountType.fixedAmount,
      discountAmount: 500,
      currency: 'EUR',
      cycleLimit: 3,
      startTime: 5,
      endTime: 9,

      name: 'Spring',
      metadata: { a: 1 },
      quantity: 7,
      userLimit: 2,
      userScope: discountUserScope.renewalsOnly,
      upgradeOnly: true,
      advance: true,
      planApplyType: discountPlanApplyType.groups,
      planIds: [7],
      planApplyGroup: group,
    };
    const discount = await made('ALL', { ...settings, discountPercentage: 0, upgradeLongPlanOnly: true });
    expect(discount).toMatchObject({
      ...settings,
      status: discountStatus.editable,
      code: 'ALL',
      upgradeLongerOnly: true,
      isDeleted: 0,
    });
    expect(await s.t.emitted()).toMatchObject([
      {
        type: 'operation.logged',
        data: { target: `Discount(${discount.id}-ALL)`, content: 'New', ids: { discountCode: 'ALL' } },
      },
    ]);
    const change = {
      id: discount.id,
      discountType: discountType.fixedAmount,
      discountAmount: 600,
      quantity: 8,
      planApplyType: discountPlanApplyType.all,
    };
    const { discount: edited } = await s.t.done(editDiscount, change);
    expect(edited).toEqual({ ...discount, discountAmount: 600, quantity: 8, planApplyType: discountPlanApplyType.all });
    expect(await detail(discount.id)).toMatchObject({ discountAmount: 600, plans: [{ id: 7 }], liveQuantity: 8 });
  });

  it('refuse settings that do not fit, and a code that is taken', async () => {
    await made('TAKEN');
    expect(await s.t.call(newDiscount, { code: 'TAKEN', ...half })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/code', message: 'is the code of another discount' }],
    });
    expect(await s.t.call(newDiscount, { code: 'X', ...half, discountPercentage: 0 })).toMatchObject({
      issues: [{ path: '/discountPercentage' }],
    });
    expect(await s.t.call(newDiscount, { code: ' ', ...half })).toMatchObject({ issues: [{ path: '/code' }] });
    expect(await s.t.done(newDiscount, { code: 'TAKEN', ...half }, { merchantId: 16 })).toMatchObject({
      discount: { merchantId: 16 },
    });
  });

  it('freeze the size once the discount was activated', async () => {
    const { id } = await made('FROZEN');
    await s.t.done(activateDiscount, { id });
    expect(
      await s.t.call(editDiscount, { id, discountType: discountType.percentage, discountPercentage: 1 }),
    ).toMatchObject({
      slug: 'discount_frozen',
      message: `Discount ${id} has been activated: cannot change percentage`,
    });
    const { discount } = await s.t.done(editDiscount, {
      id,
      discountType: discountType.percentage,
      name: 'Autumn',
      discountPercentage: 5000,
    });
    expect(discount).toMatchObject({ name: 'Autumn', status: discountStatus.active });
  });
});

describe('activate, deactivate and delete', () => {
  it('move the discount once', async () => {
    const { id } = await made('MOVES');
    expect(await s.t.call(deactivateDiscount, { id })).toMatchObject({
      slug: 'discount_wrong_state',
      message: `Discount ${id} is editable: cannot deactivate it`,
    });
    for (const [move, status] of [
      [activateDiscount, 2],
      [deactivateDiscount, 3],
      [activateDiscount, 2],
    ] as const) {
      await s.t.emitted();
      expect(await s.t.done(move, { id })).toEqual({});
      expect(await s.t.emitted()).toHaveLength(1);
      expect(await s.t.done(move, { id })).toEqual({});
      expect(await s.t.emitted()).toEqual([]);
      expect(await detail(id)).toMatchObject({ status });
    }
    expect(await s.t.done(deleteDiscount, { id })).toEqual({});
    for (const move of [activateDiscount, deactivateDiscount, deleteDiscount, getDiscount]) {
      expect(await s.t.call(move, { id })).toMatchObject({ slug: 'discount_not_found' });
    }
    expect(await s.t.call(editDiscount, { id, discountType: discountType.percentage })).toMatchObject({
      slug: 'discount_not_found',
    });
    expect(await s.t.call(incrementDiscountQuantity, { id, amount: 1 })).toMatchObject({ slug: 'discount_not_found' });
    expect(await made('MOVES')).toMatchObject({ status: discountStatus.editable });
  });

  it('an expired discount is active again once its endTime is later', async () => {
    const { id } = await made('EXPIRES', { endTime: s.clock.now() + 10 });
    await s.t.done(activateDiscount, { id });
    s.clock.advance(10);
    expect(await detail(id)).toMatchObject({ status: discountStatus.expired });
    expect(await s.t.call(activateDiscount, { id })).toMatchObject({ slug: 'discount_wrong_state' });
    await s.t.done(editDiscount, { id, discountType: discountType.percentage, endTime: s.clock.now() + 10 });
    expect(await detail(id)).toMatchObject({ status: discountStatus.active });
    s.clock.advance(10);
  });

  it("another merchant's discount is unknown", async () => {
    const { id } = await made('OTHER');
    for (const operation of [activateDiscount, deleteDiscount, getDiscount, listUserDiscounts]) {
      expect(await s.t.call(operation, { id }, { merchantId: 16 })).toMatchObject({ slug: 'discount_not_found' });
    }
  });
});

describe('discount/quantity_increment', () => {
  it('raises a limit, and makes none', async () => {
    const { id } = await made('UP', { quantity: 1 });
    expect(await s.t.done(incrementDiscountQuantity, { id, amount: 4 })).toMatchObject({ discount: { quantity: 5 } });
    await Promise.all(Array.from({ length: 8 }, () => s.t.done(incrementDiscountQuantity, { id, amount: 1 })));
    expect(await detail(id)).toMatchObject({ quantity: 13, quantityUsed: 0, liveQuantity: 13 });
    const { id: free } = await made('FREE');
    expect(await s.t.call(incrementDiscountQuantity, { id: free, amount: 1 })).toMatchObject({
      slug: 'discount_unlimited',
    });
  });
});

describe('the lists', () => {
  it('find discounts by status, kind, code and words', async () => {
    const found = async (input: object) => (await s.t.done(listDiscounts, input)).discounts.map(({ code }) => code);
    expect(await found({ status: '4' })).toEqual(['EXPIRES']);
    expect(await found({ status: [2] })).toEqual(['FROZEN']);
    expect(await found({ status: '10' })).toEqual(['MOVES']);
    expect(await found({ discountType: '2' })).toEqual(['ALL']);
    expect(await found({ billingType: [2] })).toEqual(['ALL']);
    expect(await found({ code: 'FREE' })).toEqual(['FREE']);
    expect(await found({ searchKey: 'rozE' })).toEqual(['FROZEN']);
    expect(await found({ searchKey: 'spring' })).toEqual(['ALL']);
    expect(await found({ currency: 'eur' })).toEqual(['ALL']);
    expect(await found({ createTimeEnd: day - 1 })).toEqual([]);
    const { total, discounts: page } = await s.t.done(listDiscounts, { count: 2, sortType: 'asc' });
    expect(page.map(({ code }) => code)).toEqual(['ALL', 'TAKEN']);
    expect(total).toBe(8);
  });

  it('find uses by user, e-mail, plan, subscription and status', async () => {
    const { id } = await made('USED', { quantity: 5 });
    await s.t.done(activateDiscount, { id });
    await use('USED', 1, { amount: 490n, subscriptionId: 'sub_1' });
    await use('USED', 2);
    await s.t.db.write(s.t.callerOf(), async tx => {
      await discounts.releaseDiscount(tx, { invoiceId: 'in_USED_2' });
      tx.log('Test()', 'Try');
      return {};
    });
    const found = async (input: object) =>
      (await s.t.done(listUserDiscounts, { id, ...input })).userDiscounts.map(({ invoiceId }) => invoiceId);
    const { userDiscounts, total } = await s.t.done(listUserDiscounts, { id });
    expect(total).toBe(2);
    expect(userDiscounts).toMatchObject([
      { status: userDiscountStatus.rolledBack, user: { id: 2 }, plan: { id: 7 } },
      {
        status: userDiscountStatus.used,
        code: 'USED',
        applyAmount: 490,
        currency: 'EUR',
        recurring: 0,
        subscriptionId: 'sub_1',
      },
    ]);
    expect(await found({ userIds: '1' })).toEqual(['in_USED_1']);
    expect(await found({ email: 'user2@example.com' })).toEqual(['in_USED_2']);
    expect(await found({ planIds: [8] })).toEqual([]);
    expect(await found({ subscriptionIds: 'sub_1' })).toEqual(['in_USED_1']);
    expect(await found({ status: [2] })).toEqual(['in_USED_2']);
    expect(await found({ childCode: 'X' })).toEqual([]);
    expect(await detail(id)).toMatchObject({ quantityUsed: 1, liveQuantity: 4 });
    expect(await s.t.call(listUserDiscounts, { id: 999_999 })).toMatchObject({ slug: 'discount_not_found' });
  });
});

describe('discount/plan_apply_preview', () => {
  const preview = (input: object) => s.t.done(previewDiscount, { planId: 7, ...input });
  it('says whether the code fits plan and user, and uses nothing', async () => {
    const { id } = await made('PRE', {
      planApplyType: discountPlanApplyType.listed,
      planIds: [7],
      userScope: discountUserScope.newUsers,
      userLimit: 1,
    });
    expect(await preview({ code: 'PRE' })).toMatchObject({
      valid: false,
      discountMessage: 'Discount code PRE is not active',
      discount: { id },
    });
    await s.t.done(activateDiscount, { id });
    expect(await preview({ code: 'PRE' })).toMatchObject({ valid: true, discountMessage: '', discount: { id } });
    s.knowPlan(8);
    expect(await preview({ code: 'PRE', planId: 8 })).toMatchObject({
      discountMessage: 'Discount code PRE does not apply to plan 8',
    });
    await use('PRE', 1);
    expect(await preview({ code: 'PRE', userId: 1 })).toMatchObject({
      discountMessage: 'Discount code PRE was used once',
    });
    expect(await preview({ code: 'PRE', email: 'USER2@example.com' })).toMatchObject({ valid: true });
    await s.t.rows(`update invoices set biz_type = 3, status = 'paid' where user_id = 2`);
    expect(await preview({ code: 'PRE', userId: 2 })).toMatchObject({
      discountMessage: 'Discount code PRE is for new customers only',
    });
    expect(await detail(id)).toMatchObject({ quantityUsed: 1 });
  });

  it('knows no unknown code or plan', async () => {
    expect(await preview({ code: 'NOPE' })).toEqual({
      discount: null,
      discountMessage: 'There is no discount code NOPE',
      valid: false,
    });
    expect(await s.t.call(previewDiscount, { code: 'PRE', planId: 999 })).toMatchObject({ slug: 'plan_not_found' });
  });
});
