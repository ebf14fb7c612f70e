import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  deleteDiscount,
  discountBillingType,
  discountPlanApplyType,
  discountType,
  discountUserScope,
  getDiscount,
  planType,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import * as discounts from '../../src/discounts/redemption.js';
import type { Application } from '../../src/discounts/uses.js';
import { priceLines } from '../../src/pricing/price.js';
import { billing } from '../../src/service.js';
import { line } from '../pricing/samples.js';
import { activeCode, within } from '../world/shop.js';

const clock = new MovableClock();
let t: TestService;
beforeAll(async () => {
  t = await testService(billing, { clock });
});
afterAll(() => t.close());

const inTx = <T>(run: (tx: Tx) => Promise<T>) => within(t, run);
const inReader = async <T>(run: (reader: Parameters<typeof discounts.check>[0]) => Promise<T>): Promise<T> => {
  const results: T[] = [];
  await t.db.read(t.callerOf(), async reader => {
    results.push(await run(reader));
    return {};
  });
  return results.at(-1) as T;
};

/** The id of an active code. */
const code = async (name: string, settings: Parameters<typeof activeCode>[2] = {}) =>
  (await activeCode(t, name, settings)).id;

const plan = { id: 7, type: planType.main, currency: 'EUR', intervalUnit: 'month', intervalCount: 1 };
const submit = (name: string, over: Partial<discounts.RedemptionRequest> = {}): discounts.RedemptionRequest => ({
  code: name,
  userId: 1,
  plan,
  currency: 'EUR',
  moment: clock.now(),
  operation: 'create',
  paidInvoices: 0,
  ...over,
});
let invoices = 0;
const reserve = (name: string, over: Partial<discounts.RedemptionRequest & Application> = {}) =>
  inTx(tx => discounts.reserve(tx, { ...submit(name, over), invoiceId: `in_${++invoices}`, ...over }));
/** The reason of a refusal; undefined for a success. */
const reason = (attempt: Promise<unknown>) =>
  attempt.then(
    () => undefined,
    (error: Rejected) => {
      if (!(error instanceof Rejected)) throw error;
      return error.issues[0]?.message;
    },
  );
const used = async (id: number) => (await t.done(getDiscount, { id })).discount.quantityUsed;

describe('reserve', () => {
  it('answers the discount as pricing takes it, and records the use', async () => {
    const id = await code('FIXED', {
      discountType: discountType.fixedAmount,
      discountPercentage: 0,
      discountAmount: 2500,
      currency: 'EUR',
    });
    const granted = await reserve('FIXED', { subscriptionId: 'sub_1', invoiceId: 'in_fixed', amount: 1999n });
    expect(granted).toMatchObject({ discountId: id, terms: { kind: 'fixed', amount: 2500n }, recurring: false });
    expect(priceLines([line(1999n)], { discount: granted.terms }).amounts.discountAmount).toBe(1999n);
    expect(await used(id)).toBe(1);
    const [row] = await t.rows('select * from user_discounts where use_id = $1', [granted.useId]);
    expect(row).toMatchObject({ status: 'used', invoice_id: 'in_fixed', subscription_id: 'sub_1', amount: '1999' });
  });

  it('refuses with the reason, for which check asks without a lock', async () => {
    await code('NARROW', {
      planApplyType: discountPlanApplyType.listed,
      planIds: [8],
      userScope: discountUserScope.newUsers,
    });
    await code('DOLLARS', {
      discountType: discountType.fixedAmount,
      discountPercentage: 0,
      discountAmount: 5,
      currency: 'USD',
    });
    const reasons: [string, Partial<discounts.RedemptionRequest>, string | undefined][] = [
      ['NONE', {}, 'There is no discount code NONE'],
      ['narrow', {}, 'There is no discount code narrow'],
      ['NARROW', {}, 'Discount code NARROW does not apply to plan 7'],
      ['NARROW', { plan: { ...plan, id: 8 }, paidInvoices: 1 }, 'Discount code NARROW is for new customers only'],
      ['NARROW', { plan: { ...plan, id: 8 } }, undefined],
      ['DOLLARS', {}, 'Discount code DOLLARS is in USD, not in EUR'],
    ];
    for (const [name, over, expected] of reasons) {
      const checked = await inReader(reader => discounts.check(reader, submit(name, over)));
      expect('problem' in checked ? checked.message : undefined).toBe(expected);
      expect(await reason(reserve(name, over))).toBe(expected);
    }
  });

  it('is taken exactly 10 times by 64 at once where there are 10', async () => {
    const id = await code('TEN', { quantity: 10 });
    const reasons = await Promise.all(
      Array.from({ length: 64 }, (_, at) => reason(reserve('TEN', { userId: at + 1 }))),
    );
    expect(reasons.filter(one => one === undefined)).toHaveLength(10);
    expect([...new Set(reasons)].sort()).toEqual(['Discount code TEN is used up', undefined]);
    expect(await used(id)).toBe(10);
    const [row] = await t.rows(`select count(*)::integer as uses from user_discounts where discount_id = $1`, [id]);
    expect(row).toEqual({ uses: 10 });
  });

  it('is taken exactly 3 times by 64 calls of one user at once where each has 3, and 3 times by another', async () => {
    await code('THREE', { userLimit: 3 });
    const attempts = Array.from({ length: 64 }, (_, at) => reason(reserve('THREE', { userId: 1 + (at % 2) })));
    const reasons = await Promise.all(attempts);
    expect(reasons.filter(one => one === undefined)).toHaveLength(6);
    expect(reasons).toContain('Discount code THREE was used 3 times');
  });
});

describe('giveBack', () => {
  it('frees the use for somebody else, once', async () => {
    const id = await code('ONE', { quantity: 1 });
    await reserve('ONE', { invoiceId: 'in_one' });
    expect(await reason(reserve('ONE'))).toBe('Discount code ONE is used up');
    const back = () => inTx(tx => discounts.releaseDiscount(tx, { invoiceId: 'in_one' }));
    await Promise.all(Array.from({ length: 16 }, back));
    expect(await used(id)).toBe(0);
    expect(await reason(reserve('ONE'))).toBe(undefined);
    await back();
    expect(await used(id)).toBe(1);
  });

  it('raced with reserve, leaves as many uses as there are, and never more than the quantity', async () => {
    const id = await code('RACE', { quantity: 5, userLimit: 2 });
    const one = async (at: number) => {
      const invoiceId = `in_race_${at}`;
      const refused = await reason(reserve('RACE', { userId: 1 + (at % 8), invoiceId }));
      if (refused === undefined && at % 2 === 0) await inTx(tx => discounts.releaseDiscount(tx, { invoiceId }));
    };
    await Promise.all(Array.from({ length: 48 }, (_, at) => one(at)));
    const [row] = await t.rows(
      `select count(*)::integer as uses from user_discounts where discount_id = $1 and status = 'used'`,
      [id],
    );
    expect(row).toEqual({ uses: await used(id) });
    expect(await used(id)).toBeLessThanOrEqual(5);
    const users = await t.rows(
      `select user_id from user_discounts where discount_id = $1 and status = 'used' group by user_id having count(*) > 2`,
      [id],
    );
    expect(users).toEqual([]);
  });

  it('knows a use that got no invoice', async () => {
    const id = await code('WAITING', { quantity: 1 });
    const { useId } = await reserve('WAITING', { invoiceId: '' });
    await inTx(tx => discounts.releaseUse(tx, useId));
    await inTx(tx => discounts.releaseUse(tx, useId));
    expect(await used(id)).toBe(0);
  });

  it('of an invoice that used none does nothing', async () => {
    await inTx(tx => discounts.releaseDiscount(tx, { invoiceId: 'in_unknown' }));
    await inTx(tx => discounts.releaseDiscount(tx, { invoiceId: '' }));
  });
});

describe('a recurring discount', () => {
  const bound = { subscriptionId: 'sub_9' };
  const next = (discountId: number) => inReader(reader => discounts.nextCycle(reader, { discountId, ...bound }));
  const cycle = (discountId: number, invoiceId: string, over: Partial<Application> = {}) =>
    inTx(tx =>
      discounts.useCycle(tx, { discountId, userId: 1, planId: 7, currency: 'EUR', ...bound, invoiceId, ...over }),
    );

  it('cycleLimit 3: invoices 1, 2, 3 and an upgrade between 2 and 3 are discounted, invoice 4 is not', async () => {
    const id = await code('CYCLES', { billingType: discountBillingType.recurring, cycleLimit: 3, quantity: 1 });
    await reserve('CYCLES', { ...bound, invoiceId: 'in_c1' });
    expect(await next(id)).toMatchObject({ recurring: true, terms: { kind: 'percentage', percentage: 1000 } });
    await cycle(id, 'in_c2');
    await cycle(id, 'in_upgrade', { cycle: false });
    expect(await next(id)).toBeDefined();
    await cycle(id, 'in_c3');
    expect(await next(id)).toBeUndefined();
    // cycles count for no quantity, and one comes back with its invoice
    expect(await used(id)).toBe(1);
    await inTx(tx => discounts.releaseDiscount(tx, { invoiceId: 'in_c2' }));
    expect(await next(id)).toBeDefined();
    expect(await used(id)).toBe(1);
  });

  it('outlives its endTime and its deletion, and ends with a plan that it does not fit', async () => {
    const over = {
      billingType: discountBillingType.recurring,
      planApplyType: discountPlanApplyType.listed,
      planIds: [7],
      endTime: clock.now() + 100,
    };
    const id = await code('BOUND', over);
    await reserve('BOUND', { ...bound, invoiceId: 'in_b1' });
    clock.advance(200);
    expect(await reason(reserve('BOUND'))).toBe('Discount code BOUND has expired');
    await t.done(deleteDiscount, { id });
    expect(await reason(reserve('BOUND'))).toBe('There is no discount code BOUND');
    expect(await next(id)).toMatchObject({ code: 'BOUND' });
    expect(await inReader(reader => discounts.appliesToPlan(reader, id, plan))).toBe(true);
    expect(await inReader(reader => discounts.appliesToPlan(reader, id, { ...plan, id: 8 }))).toBe(false);
  });

  it('given with a submit is a code that its subscription alone has', async () => {
    const settings = { billingType: 'recurring', percentage: 5000, cycleLimit: 2 } as const;
    const use = { userId: 1, planId: 7, currency: 'EUR', subscriptionId: 'sub_own', invoiceId: 'in_own' };
    const { discountId, code: own } = await inTx(tx => discounts.createPrivateDiscount(tx, settings, use));
    expect(await reason(reserve(own))).toBe(`There is no discount code ${own}`);
    expect(await reason(reserve(own, { subscriptionId: 'sub_own' }))).toBe(undefined);
    const subscription = { discountId, subscriptionId: 'sub_own' };
    expect(await inReader(reader => discounts.nextCycle(reader, subscription))).toBeUndefined();
  });
});

describe('a one-time discount', () => {
  it('of a first invoice of 0 waits for the next: the use gets its invoice then', async () => {
    const id = await code('TRIAL');
    const { useId } = await reserve('TRIAL', { subscriptionId: 'sub_3', invoiceId: '', cycle: false });
    await inTx(tx => discounts.attach(tx, useId, { invoiceId: 'in_t2', amount: 490n, cycle: true }));
    const [row] = await t.rows('select invoice_id, amount, cycle from user_discounts where use_id = $1', [useId]);
    expect(row).toEqual({ invoice_id: 'in_t2', amount: '490', cycle: true });
    expect(await inReader(reader => discounts.nextCycle(reader, { discountId: id, subscriptionId: 'sub_3' }))).toBe(
      undefined,
    );
  });
});
