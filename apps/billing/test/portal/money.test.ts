import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  archiveGateway,
  createSubscription,
  creditAccountType,
  explainInvoice,
  incrementPromoCredit,
  invoiceStatus,
  type Operation,
  planType,
  portalCreditDetail,
  portalInvoiceDetail,
  portalInvoiceList,
  portalMethodDelete,
  portalMethodList,
  portalMethodNew,
  portalMethodSetDefault,
  portalUsageList,
  restoreGateway,
  type Slug,
  setupWireTransfer,
} from '@recur/contracts';
import { type CardShop, cardShop } from '../world/cards.js';
import { visitor } from '../world/shop.js';

let c: CardShop;
beforeAll(async () => {
  c = await cardShop();
  await c.stranger(16);
});
afterAll(() => c.t.close());

const t = () => c.t;
const wire = (userId: number) => c.made({ userId, gatewayId: c.gateway.gatewayId, finish: true });
const detail = (invoiceId: string, userId: number) => t().done(portalInvoiceDetail, { invoiceId }, visitor(userId));
const methods = async (userId: number) => (await t().done(portalMethodList, {}, visitor(userId))).methods;
const add = async (userId: number, scenario: string) =>
  (await t().done(portalMethodNew, { gatewayId: c.gatewayId, data: { scenario } }, visitor(userId))).method?.id ?? '';
const refused = async (operation: Operation, input: object, slug: Slug, as = visitor(1)) =>
  expect(await t().call(operation, input, as)).toMatchObject({ ok: false, slug });

describe("a user's invoices", () => {
  it('are listed without drafts, and shown with the explanation and how to pay by transfer', async () => {
    const userId = await c.userWithCard();
    await c.made({ userId });
    const { invoiceId, number, totalAmount } = await wire(userId);
    const { invoices, total } = await t().done(portalInvoiceList, {}, visitor(userId));
    expect([invoices.map(invoice => invoice.invoiceId), total]).toEqual([[invoiceId], 1]);
    const shown = await detail(invoiceId, userId);
    expect(shown.invoice).toMatchObject({ invoiceId, number, totalAmount, merchant: { name: 'Acme' } });
    expect(shown.invoice.sendPdf).toContain(`/documents/15/${invoiceId}/`);
    expect(shown.explanation).toEqual(await t().done(explainInvoice, { invoiceId }));
    expect(shown.collecting).toMatchObject({ automatic: false, nextAttemptTime: 0, actionUrl: '' });
    expect(shown.collecting?.deadline).toBe(c.clock.now() + c.term);
    expect(shown.transfer).toMatchObject({ reference: number, amount: totalAmount, currency: 'EUR', qr: '' });
    expect(JSON.stringify(shown)).not.toMatch(/metadata|createFrom|webhook|Secret/);
    await c.receive(invoiceId);
    const paid = await detail(invoiceId, userId);
    expect(paid).toMatchObject({ invoice: { status: invoiceStatus.paid }, collecting: null, transfer: null });
  });

  it('tell the QR code of a SEPA transfer where the account can have one', async () => {
    const bank = { accountHolder: 'Acme GmbH', address: 'Berlin', iban: 'DE89370400440532013000' };
    const theirs = { merchantId: 17 };
    await t().done(setupWireTransfer, { currency: 'EUR', minimumAmount: 0, bank }, theirs);
    c.knowUser(9, {}, 17);
    const { invoiceId, number } = await c.made({ userId: 9, finish: true }, theirs);
    const { transfer } = await t().done(portalInvoiceDetail, { invoiceId }, visitor(9, 17));
    expect(transfer).toMatchObject({ bank: { ...bank, swiftCode: '' }, reference: number });
    expect(transfer?.qr).toMatch(/^BCD\n002\n1\nSCT\n\nAcme GmbH\nDE89370400440532013000\nEUR\d+\.\d\d\n/);
  });

  it('tell of the next charge, and where a payment is to be confirmed', async () => {
    const declined = await c.charged('declines_softly');
    const { collecting, invoice, transfer } = await detail(declined.invoiceId, declined.userId);
    expect(collecting).toMatchObject({ automatic: true, attempts: 1, failures: 1 });
    expect(collecting?.nextAttemptTime).toBeGreaterThan(c.clock.now());
    expect([invoice.payment?.failureReason, transfer]).toEqual([expect.stringMatching(/./), null]);
    const waiting = await c.charged('needs_action');
    const shown = await detail(waiting.invoiceId, waiting.userId);
    expect(shown.collecting?.actionUrl).toMatch(/\/gateway\/\d+\/sandbox\//);
  });
});

describe("a user's payment methods", () => {
  it('are saved, listed, made the default and deleted', async () => {
    const userId = await c.userWithCard();
    const first = await add(userId, 'succeeds');
    c.clock.advance(10);
    const second = await add(userId, 'declines_softly');
    const defaults = async () => (await methods(userId)).map(({ id, isDefault }) => [id, isDefault]);
    expect(await defaults()).toEqual([
      [second, false],
      [first, true],
    ]);
    expect((await methods(userId))[0]).toMatchObject({ gatewayId: c.gatewayId, type: 'card' });
    await t().emitted();
    const which = { gatewayId: c.gatewayId, paymentMethodId: second };
    await t().done(portalMethodSetDefault, which, visitor(userId));
    expect(await t().emitted()).toMatchObject([{ data: { content: 'SetDefaultPaymentMethod' } }]);
    await t().done(portalMethodSetDefault, which, visitor(userId));
    expect(await t().emitted()).toEqual([]);
    expect(await defaults()).toEqual([
      [second, true],
      [first, false],
    ]);
    await t().done(portalMethodDelete, which, visitor(userId));
    expect(await defaults()).toEqual([[first, true]]);
  });

  it('have one default, however many are chosen at once', async () => {
    const userId = await c.userWithCard();
    const ids = [];
    for (const scenario of ['succeeds', 'declines_softly', 'declines_hard']) ids.push(await add(userId, scenario));
    const choose = (paymentMethodId: string) =>
      t().call(portalMethodSetDefault, { gatewayId: c.gatewayId, paymentMethodId }, visitor(userId));
    const answers = await Promise.all([...ids, ...ids, ...ids].map(choose));
    expect(answers.every(({ ok }) => ok)).toBe(true);
    expect((await methods(userId)).filter(({ isDefault }) => isDefault)).toHaveLength(1);
  });

  it('are refused as the merchant would be', async () => {
    const { gatewayId } = c;
    await refused(portalMethodNew, { gatewayId: 9_999 }, 'gateway_not_found');
    await refused(portalMethodNew, { gatewayId: c.gateway.gatewayId }, 'gateway_without_methods');
    await refused(portalMethodNew, { gatewayId, data: {} }, 'user_not_found', visitor(4_999));
    const full = await c.userWithCard('succeeds');
    await t().rows(
      `insert into payment_methods select 15, 'pm_full' || n, $1, $2, 'card', false, '{}', 'x' || n, 1
       from generate_series(1, 49) n`,
      [gatewayId, full],
    );
    const another = { gatewayId, data: { scenario: 'declines_hard' } };
    await refused(portalMethodNew, another, 'too_many_payment_methods', visitor(full));
    await t().done(archiveGateway, { gatewayId });
    await refused(portalMethodNew, { gatewayId, data: {} }, 'gateway_archived');
    await t().done(restoreGateway, { gatewayId });
  });
});

describe('usage and credit', () => {
  it('are those of the user', async () => {
    const userId = await c.userWithCard('succeeds');
    c.knowPlan(10, { amount: 3000, type: planType.main, intervalUnit: 'month', intervalCount: 1 });
    const { subscription } = await t().done(createSubscription, { userId, planId: 10, gatewayId: c.gatewayId });
    await c.drain();
    const { subscriptionId } = subscription;
    const { userMetric } = await t().done(portalUsageList, { subscriptionId }, visitor(userId));
    expect(userMetric).toEqual({ limitStats: [], meteredChargeStats: [], recurringChargeStats: [] });
    await refused(portalUsageList, { subscriptionId }, 'subscription_not_found', visitor(1));
    await t().done(incrementPromoCredit, { userId, currency: 'EUR', amount: 500 });
    const { creditAccounts, creditTransactions } = await t().done(portalCreditDetail, {}, visitor(userId));
    expect(creditAccounts).toMatchObject([{ type: creditAccountType.promo, currency: 'EUR', amount: 500 }]);
    expect(creditTransactions).toMatchObject([{ deltaAmount: 500, creditAmountAfter: 500 }]);
  });
});

describe("another's invoice and payment method", () => {
  it('are as unknown as those that do not exist, to a user of the same merchant and of another, and stay as they are', async () => {
    const userId = await c.userWithCard();
    const { invoiceId } = await wire(userId);
    const paymentMethodId = await add(userId, 'succeeds');
    const other = visitor(await c.userWithCard());
    const stranger = visitor(userId, 16);
    const { gatewayId } = c;
    const asked: readonly (readonly [Operation, object, object])[] = [
      [portalInvoiceDetail, { invoiceId }, { invoiceId: 'in_none' }],
      [portalMethodDelete, { gatewayId, paymentMethodId }, { gatewayId, paymentMethodId: 'pm_none' }],
      [portalMethodSetDefault, { gatewayId, paymentMethodId }, { gatewayId, paymentMethodId: 'pm_none' }],
    ];
    const before = [await c.everything(), await methods(userId)];
    for (const [operation, theirs, none] of asked) {
      for (const caller of [other, stranger]) {
        const answer = await t().call(operation, theirs, caller);
        expect([operation.name, answer]).toEqual([operation.name, await t().call(operation, none, caller)]);
        expect(answer).toMatchObject({ slug: expect.stringMatching(/_not_found$/) });
      }
    }
    for (const caller of [other, stranger]) {
      expect(await t().done(portalInvoiceList, {}, caller)).toEqual({ invoices: [], total: 0 });
      expect(await t().done(portalMethodList, {}, caller)).toEqual({ methods: [] });
      expect(await t().done(portalCreditDetail, {}, caller)).toEqual({ creditAccounts: [], creditTransactions: [] });
    }
    for (const operation of [portalInvoiceList, portalMethodList, portalCreditDetail]) {
      expect(await t().call(operation, {})).toMatchObject({ slug: 'permission_denied' });
    }
    expect([await c.everything(), await methods(userId)]).toEqual(before);
    // a draft is not shown to its own user either
    const draft = await c.made({ userId });
    await refused(portalInvoiceDetail, { invoiceId: draft.invoiceId }, 'invoice_not_found', visitor(userId));
  });
});
