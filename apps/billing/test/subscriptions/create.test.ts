import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createSubscription, markWireTransferSuccess, planType, previewSubscription } from '@recur/contracts';
import { type Shop, shop } from '../shop.js';

const DAY = 86_400;
let s: Shop;
let user = 100;
beforeAll(async () => {
  s = await shop();
  s.knowPlan(10, { amount: 3000, intervalUnit: 'month', intervalCount: 1, type: planType.main, bindingAddonIds: '11' });
  s.knowPlan(11, { amount: 500, intervalUnit: 'month', intervalCount: 1, type: planType.recurringAddon });
});
afterAll(() => s.t.close());

const newUser = () => {
  user += 1;
  s.knowUser(user);
  return user;
};
const create = (over: object) => s.t.done(createSubscription, { planId: 10, ...over });
const receive = (invoiceId: string) => s.t.done(markWireTransferSuccess, { invoiceId, transferNumber: 'T-1' });
const statusOf = async (subscriptionId: string) => {
  const [row] = await s.t.rows('select status from subscriptions where subscription_id = $1', [subscriptionId]);
  return row?.status;
};

describe('create_submit', () => {
  it('makes a subscription with an open first invoice, which its payment activates', async () => {
    const userId = newUser();
    await s.types();
    const made = await create({ userId, quantity: 2, addonParams: [{ addonPlanId: 11, quantity: 3 }] });
    expect(made).toMatchObject({ paid: false, subscription: { status: 1, amount: 7500, currency: 'EUR' } });
    expect(await s.types()).toEqual([
      'subscription.created 1',
      'invoice.created 1',
      'invoice.process 2',
      'payment.created 1',
      'operation.logged 1',
    ]);
    const invoice = await s.detail(made.invoiceId);
    expect(invoice).toMatchObject({ totalAmount: 7500, status: 2, invoiceName: 'SubscriptionCreate' });
    expect(invoice.lines.map(line => line.amountExcludingTax)).toEqual([6000, 1500]);
    expect(invoice.periodEnd).toBe(made.subscription.currentPeriodEnd);
    await receive(made.invoiceId);
    expect(await statusOf(made.subscription.subscriptionId)).toBe('active');
    expect(await s.types()).toContain('subscription.activated 2');
  });
});

it('previews what it makes', async () => {
  const userId = newUser();
  const terms = { planId: 10, userId, quantity: 3, addonParams: [{ addonPlanId: 11, quantity: 1 }] };
  const preview = await s.t.done(previewSubscription, terms);
  const made = await create({ ...terms, confirmTotalAmount: preview.totalAmount, confirmCurrency: 'EUR' });
  const invoice = await s.detail(made.invoiceId);
  expect(invoice.totalAmount).toBe(preview.totalAmount);
  expect(invoice.lines.map(({ lineId: _, ...line }) => line)).toEqual(
    preview.invoice.lines.map(({ lineId: _, ...line }) => line),
  );
  expect(DAY).toBe(86_400);
});
