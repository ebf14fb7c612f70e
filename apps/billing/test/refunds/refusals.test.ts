import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  createMarkRefund,
  editInvoice,
  explainInvoice,
  newCreditRecharge,
  newInvoice,
  newPayment,
  newRefund,
  type Operation,
  userStatus,
} from '@recur/contracts';
import { type Shop, shop } from '../world/shop.js';

let s: Shop;
beforeAll(async () => {
  s = await shop();
  s.knowUser(2, { status: userStatus.suspended });
});
afterAll(() => s.t.close());

const refused = async (operation: Operation, input: object) => {
  const before = await s.everything();
  const answer = await s.t.call(operation, input);
  expect(await s.everything()).toEqual(before);
  return 'slug' in answer ? answer.slug : 'done';
};
const markRefund = (invoiceId: string) => ({ invoiceId, refundAmount: 1, reason: 'A part' });
const refund = (paymentId: string) => ({ paymentId, externalRefundId: 'R-1', currency: 'EUR', refundAmount: 1 });

describe('a refund is refused, and changes nothing', () => {
  it('where its invoice or payment is unknown', async () => {
    expect(await refused(createMarkRefund, markRefund('in_unknown'))).toBe('invoice_not_found');
    expect(await refused(newRefund, refund('pay_unknown'))).toBe('payment_not_found');
    expect(await refused(explainInvoice, { invoiceId: 'in_unknown' })).toBe('invoice_not_found');
  });

  it('before the money has arrived', async () => {
    const { invoiceId, paymentId } = await s.inState('open');
    expect(await refused(createMarkRefund, markRefund(invoiceId))).toBe('invoice_not_refundable');
    expect(await refused(newRefund, refund(paymentId))).toBe('invoice_not_refundable');
  });

  it('while the payment is disputed', async () => {
    const { invoiceId, paymentId } = await s.inState('paid');
    await s.t.rows(`update payments set dispute = 'open' where payment_id = $1`, [paymentId]);
    expect(await refused(createMarkRefund, markRefund(invoiceId))).toBe('payment_disputed');
    expect(await refused(newRefund, refund(paymentId))).toBe('payment_disputed');
  });
});

describe('an amount below the minimum of the gateway is refused, and changes nothing', () => {
  const lines = [{ name: 'Stamp', unitAmountExcludingTax: 99 }];
  const small = () => ({ ...s.order, taxPercentage: 0, lines });

  it('where an invoice is made or edited and finished at once', async () => {
    expect(await refused(newInvoice, { ...small(), finish: true })).toBe('amount_below_minimum');
    const { invoiceId } = await s.made();
    const edit = { invoiceId, taxPercentage: 0, lines, finish: true };
    expect(await refused(editInvoice, edit)).toBe('amount_below_minimum');
  });

  it('where a payment is made', async () => {
    const { gatewayId } = s.gateway;
    const payment = { userId: 1, gatewayId, currency: 'EUR', totalAmount: 99, externalPaymentId: 'P-1' };
    expect(await refused(newPayment, payment)).toBe('amount_below_minimum');
  });
});

it('a recharge is refused for a suspended user and through an archived gateway', async () => {
  const recharge = { userId: 1, currency: 'EUR', rechargeAmount: 5000, gatewayId: s.gateway.gatewayId };
  expect(await refused(newCreditRecharge, { ...recharge, userId: 2 })).toBe('user_inactive');
  await s.t.rows('update gateways set archived = true, is_default = false');
  expect(await refused(newCreditRecharge, recharge)).toBe('gateway_archived');
});
