import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  bizType,
  cancelRefund,
  creditAccountType,
  creditDetail,
  creditRechargeStatus,
  editCreditConfig,
  incrementPromoCredit,
  invoiceStatus,
  markWireTransferSuccess,
  newCreditConfig,
  newCreditRecharge,
  paymentStatus,
  refundInvoice,
} from '@recur/contracts';
import { rechargeFailed, rechargePaid } from '../../src/credits/recharges.js';
import { type Shop, shop } from '../world/shop.js';

let s: Shop;
beforeAll(async () => {
  s = await shop();
});
afterAll(() => s.t.close());

const order = () => ({ userId: 1, currency: 'EUR', rechargeAmount: 5000, gatewayId: s.gateway.gatewayId });
const recharge = (over: object = {}) => s.t.call(newCreditRecharge, { ...order(), ...over });
const sold = async (over: object = {}) => s.t.done(newCreditRecharge, { ...order(), ...over });
/** Tells the recharge how its invoice ended. */
const ended = (how: 'paid' | 'failed' | 'cancelled', invoiceId: string) =>
  s.t.db.write(s.t.callerOf(), async tx => {
    await (how === 'paid' ? rechargePaid : rechargeFailed)(tx, { invoiceId });
    tx.log('Test()', 'Try');
    return {};
  });
const statusOf = async (rechargeId: string) => {
  const [row] = await s.t.rows('select status from credit_recharges where recharge_id = $1', [rechargeId]);
  return row?.status;
};

describe('credit/new_credit_recharge', () => {
  it('sells nothing below the minimum of the gateway', async () => {
    expect(await recharge({ rechargeAmount: 99 })).toMatchObject({ ok: false, slug: 'amount_below_minimum' });
  });

  it('makes an open invoice of bizType 4, whose payment adds its amount to the main account', async () => {
    const made = await sold({ name: 'Top-up', description: 'For May' });
    expect(made).toMatchObject({
      creditAccount: { type: creditAccountType.main, userId: 1, currency: 'EUR', amount: 0 },
      creditRecharge: {
        rechargeStatus: creditRechargeStatus.created,
        accountType: creditAccountType.main,
        totalAmount: 5000,
        paymentAmount: '5000',
        name: 'Top-up',
      },
      invoice: {
        bizType: bizType.creditRecharge,
        status: invoiceStatus.processing,
        totalAmount: 5000,
        taxAmount: 0,
        invoiceName: 'Top-up',
      },
      payment: { status: paymentStatus.created, totalAmount: 5000 },
      user: { id: 1 },
      paid: false,
    });
    const { creditAccount, creditRecharge, invoice, link } = made;
    expect(link).toBe(invoice.link);
    expect(creditRecharge).toMatchObject({ invoiceId: invoice.invoiceId, paymentId: invoice.paymentId });
    expect(await s.moves.receive(invoice.invoiceId)).toMatchObject({ ok: true });
    await ended('paid', invoice.invoiceId);
    await ended('paid', invoice.invoiceId);
    const { creditAccount: after, creditTransactions } = await s.t.done(creditDetail, { id: creditAccount.id });
    expect(after).toMatchObject({ amount: 5000, currencyAmount: 5000 });
    expect(creditTransactions).toMatchObject([
      { transactionType: 1, deltaAmount: 5000, invoiceId: invoice.invoiceId, bizId: creditRecharge.rechargeId },
    ]);
    expect(creditTransactions).toMatchObject([{ name: 'Top-up', description: 'For May' }]);
    expect(await statusOf(creditRecharge.rechargeId)).toBe('success');
  });

  it('adds what came where less than its price was accepted', async () => {
    const { creditAccount, invoice } = await sold();
    const before = (await s.t.done(creditDetail, { id: creditAccount.id })).creditAccount.amount;
    const short = {
      invoiceId: invoice.invoiceId,
      transferNumber: 't',
      reason: '',
      amountReceived: 4900,
      acceptShort: true,
    };
    await s.t.done(markWireTransferSuccess, short);
    expect((await s.t.done(creditDetail, { id: creditAccount.id })).creditAccount.amount).toBe(before + 4900);
  });

  it.each(['failed', 'cancelled'] as const)('adds nothing where the invoice is %s', async how => {
    const { creditRecharge, creditAccount, invoice } = await sold();
    await ended(how, invoice.invoiceId);
    await ended('paid', invoice.invoiceId);
    expect(await statusOf(creditRecharge.rechargeId)).toBe('failed');
    expect((await s.t.done(creditDetail, { id: creditAccount.id })).creditAccount.amount).toBe(9900);
  });

  it('takes an account in place of user and currency', async () => {
    const { creditAccount } = await sold();
    const by = { creditAccountId: creditAccount.id, userId: 0, currency: '' };
    expect(await sold(by)).toMatchObject({ creditAccount: { id: creditAccount.id }, user: { id: 1 } });
    expect(await recharge({ ...by, userId: 2 })).toMatchObject({ issues: [{ path: '/userId' }] });
    expect(await recharge({ ...by, currency: 'USD' })).toMatchObject({ issues: [{ path: '/currency' }] });
    const promo = await s.t.done(incrementPromoCredit, { userId: 1, amount: 1, currency: 'EUR' });
    expect(await recharge({ ...by, creditAccountId: promo.UserPromoCreditAccount.id })).toMatchObject({
      issues: [{ path: '/creditAccountId' }],
    });
    expect(await recharge({ creditAccountId: 999_999 })).toMatchObject({ slug: 'credit_account_not_found' });
  });

  it('refuses what it cannot sell, and leaves nothing', async () => {
    const before = await s.everything();
    expect(await recharge({ userId: 0 })).toMatchObject({ issues: [{ path: '/userId' }] });
    expect(await recharge({ currency: '' })).toMatchObject({ issues: [{ path: '/currency' }] });
    expect(await recharge({ userId: 999 })).toMatchObject({ slug: 'user_not_found' });
    expect(await recharge({ gatewayId: 999 })).toMatchObject({ slug: 'gateway_not_found' });
    expect(await recharge({ rechargeAmount: 0 })).toMatchObject({ issues: [{ path: '/rechargeAmount' }] });
    expect(await s.everything()).toEqual(before);
    await s.t.done(newCreditConfig, { type: creditAccountType.main, currency: 'EUR', rechargeEnable: 0 });
    expect(await recharge()).toMatchObject({
      slug: 'credit_recharge_disabled',
      message: 'Main accounts in EUR cannot be recharged',
    });
    await s.t.done(editCreditConfig, { type: creditAccountType.main, currency: 'EUR', rechargeEnable: 1 });
    expect(await recharge()).toMatchObject({ ok: true });
  });
});

describe('a recharge that is paid', () => {
  it('adds the amount to the account when its wire has arrived', async () => {
    const { creditAccount, invoice } = await sold({ currency: 'EUR', rechargeAmount: 700 });
    const before = await s.t.done(creditDetail, { id: creditAccount.id });
    await s.t.done(markWireTransferSuccess, { invoiceId: invoice.invoiceId, transferNumber: 'R-1' });
    const { creditAccount: after } = await s.t.done(creditDetail, { id: creditAccount.id });
    expect(after.amount).toBe(before.creditAccount.amount + 700);
  });

  it('and refunded takes the credit back, unless it was spent; a refund that is cancelled returns it', async () => {
    s.knowUser(40);
    const { creditAccount, invoice } = await sold({ userId: 40 });
    const { invoiceId } = invoice;
    await s.t.done(markWireTransferSuccess, { invoiceId, transferNumber: 'R-2' });
    const refunded = (refundAmount: number) => s.t.call(refundInvoice, { invoiceId, refundAmount, reason: '' });
    const state = async () => {
      const detail = await s.t.done(creditDetail, { id: creditAccount.id });
      return [detail.creditAccount.amount, detail.creditTransactions[0]?.transactionType];
    };
    const made = await refunded(2000);
    expect(await state()).toEqual([3000, 7]);
    await s.t.done(cancelRefund, { refundId: made.ok ? made.data.refund.refundId : '' });
    expect(await state()).toEqual([5000, 3]);
    await s.made({
      userId: 40,
      taxPercentage: 0,
      lines: [{ name: 'Plan', unitAmountExcludingTax: 4000 }],
      finish: true,
    });
    expect(await state()).toEqual([1000, 2]);
    expect(await refunded(1001)).toMatchObject({ slug: 'invoice_not_refundable' });
    expect(await refunded(1000)).toMatchObject({ ok: true });
    expect(await state()).toEqual([0, 7]);
  });
});
