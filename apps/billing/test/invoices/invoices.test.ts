import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  emptyOf,
  finishInvoice,
  invoiceDetail,
  invoiceStatus,
  MerchantState,
  markWireTransferSuccess,
  newInvoice,
  Plan,
  paymentDetail,
  paymentStatus,
  planStatus,
  setupWireTransfer,
  User,
} from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { billing } from '../../src/service.js';

let t: TestService;
const user = { ...emptyOf(User), id: 7, merchantId: 15, email: 'ada@example.com' };
const plan = {
  ...emptyOf(Plan),
  id: 3,
  merchantId: 15,
  status: planStatus.active,
  planName: 'Pro',
  amount: 4900,
  currency: 'EUR',
};
const lines = [
  { name: 'Seats', quantity: 3, unitAmountExcludingTax: 1999 },
  { name: 'Support', quantity: 1, unitAmountExcludingTax: 500 },
];
const draft = { userId: 7, currency: 'eur', taxPercentage: 825, lines };

/** Answers billing's questions to the owning services. */
function owners(known: Record<string, object>) {
  for (const owner of ['identity', 'catalog']) {
    t.bus.answer(owner, async (_, payload, caller) => {
      const { aggregate, id } = JSON.parse(payload);
      const data = caller.merchantId === 15 ? known[`${aggregate} ${id}`] : undefined;
      return { ok: true, bytes: JSON.stringify({ item: data ? { merchantId: 15, version: 1, data } : null }) };
    });
  }
}

beforeAll(async () => {
  t = await testService(billing);
  owners({ 'user 7': user, 'plan 3': plan, 'merchant 15': { ...emptyOf(MerchantState), id: 15 } });
});
afterAll(() => t.close());

describe('invoice/new', () => {
  it('prices a draft to the cent, with one event and one log entry', async () => {
    await t.emitted();
    const { invoice } = await t.done(newInvoice, draft);
    expect(invoice).toMatchObject({
      status: invoiceStatus.pending,
      number: '',
      currency: 'EUR',
      taxAmount: 536,
      totalAmount: 7033,
      gateway: null,
    });
    expect(invoice.lines.map(({ tax, amount }) => [tax, amount])).toEqual([
      [495, 6492],
      [41, 541],
    ]);
    const [created, logged, ...more] = await t.emitted();
    expect(created).toMatchObject({
      type: 'invoice.created',
      aggregateId: invoice.invoiceId,
      version: 1,
      data: invoice,
    });
    expect(logged).toMatchObject({
      type: 'operation.logged',
      data: { target: `Invoice(${invoice.invoiceId})`, content: 'New' },
    });
    expect(more).toEqual([]);
    expect((await t.done(invoiceDetail, { invoiceId: invoice.invoiceId })).invoice).toMatchObject({
      ...invoice,
      userAccount: { email: 'ada@example.com' },
    });
  });

  it('takes price and name from a plan, and refuses one in another currency', async () => {
    const { invoice } = await t.done(newInvoice, { ...draft, lines: [{ planId: 3, quantity: 2 }] });
    expect(invoice.lines[0]).toMatchObject({ name: 'Pro', unitAmountExcludingTax: 4900, quantity: 2, plan: { id: 3 } });
    expect(await t.call(newInvoice, { ...draft, currency: 'USD', lines: [{ planId: 3 }] })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/lines/0/planId' }],
    });
  });

  it('says which field is wrong, all at once', async () => {
    const result = await t.call(newInvoice, {
      userId: 'x',
      currency: 'XXX',
      taxPercentage: 1,
      lines: [{ quantity: 0 }],
    });
    expect(!result.ok && result.issues.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['/userId', '/currency', '/lines/0/quantity']),
    );
  });

  it('knows no user, plan or gateway of nobody or of another merchant', async () => {
    expect(await t.call(newInvoice, { ...draft, userId: 8 })).toMatchObject({ slug: 'user_not_found' });
    expect(await t.call(newInvoice, { ...draft, lines: [{ planId: 4 }] })).toMatchObject({ slug: 'plan_not_found' });
    expect(await t.call(newInvoice, { ...draft, gatewayId: 99 })).toMatchObject({ slug: 'gateway_not_found' });
    const stranger = await t.call(newInvoice, draft, { merchantId: 16 });
    expect(stranger).toMatchObject({ slug: 'user_not_found' });
  });

  it('cannot be finished without a gateway, unless there is nothing to pay', async () => {
    expect(await t.call(newInvoice, { ...draft, finish: true })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/gatewayId' }],
    });
    const free = [{ name: 'Gift', unitAmountExcludingTax: 0 }];
    const { invoice } = await t.done(newInvoice, { ...draft, lines: free, finish: true });
    expect(invoice).toMatchObject({ status: invoiceStatus.paid, paymentId: '', number: 'INV-000001', totalAmount: 0 });
  });
});

describe('with a wire-transfer gateway', () => {
  beforeAll(async () => {
    const bank = JSON.stringify({ accountHolder: 'Acme', address: 'Main St 1', iban: 'canary-iban' });
    const { gateway } = await t.done(setupWireTransfer, { currency: 'EUR', minimumAmount: 100, bank });
    expect(gateway).toMatchObject({ gatewayName: 'wire_transfer', isDefault: true, bank: { iban: 'canary-iban' } });
  });

  it('there is one, and its bank account is encrypted', async () => {
    expect(await t.call(setupWireTransfer, { currency: 'EUR', minimumAmount: 100 })).toMatchObject({
      slug: 'gateway_exists',
    });
    const everything = await t.rows('select gateways::text from gateways union all select envelope::text from outbox');
    expect(JSON.stringify(everything)).not.toContain('canary-iban');
  });

  it('an invoice goes from draft to paid, event by event', async () => {
    const { invoice: drafted } = await t.done(newInvoice, draft);
    const { invoiceId } = drafted;
    await t.emitted();
    const { invoice } = await t.done(finishInvoice, { invoiceId, daysUtilDue: 5 });
    expect(invoice).toMatchObject({
      status: invoiceStatus.processing,
      dayUtilDue: 5,
      paymentId: expect.stringMatching(/^pay_/),
    });
    expect(invoice.link).toMatch(/\/portal\/invoice\/[\w-]{43}$/);
    const types = async () => (await t.emitted()).map(({ type, version }) => `${type} ${version}`);
    expect(await types()).toEqual(['invoice.process 2', 'payment.created 1', 'operation.logged 1']);
    expect(await t.call(finishInvoice, { invoiceId, daysUtilDue: 5 })).toMatchObject({ slug: 'invoice_not_draft' });
    await t.done(markWireTransferSuccess, { invoiceId, transferNumber: 'T-1', reason: 'seen' });
    expect(await types()).toEqual(['payment.success 2', 'invoice.paid 3', 'operation.logged 1']);
    const { paymentDetail: paid } = await t.done(paymentDetail, { paymentId: invoice.paymentId });
    expect(paid).toMatchObject({
      payment: { status: paymentStatus.success, paymentAmount: 7033, gatewayPaymentId: 'T-1' },
      invoice: { status: invoiceStatus.paid },
      gateway: { gatewayName: 'wire_transfer' },
      user: { email: 'ada@example.com' },
    });
    expect(await t.call(markWireTransferSuccess, { invoiceId, transferNumber: 'T-2' })).toMatchObject({
      slug: 'invoice_not_open',
    });
  });

  it('numbers 64 invoices that are finished at once without a gap, rollbacks among them', async () => {
    const merchant = { merchantId: 21 };
    t.bus.answer('identity', async () => ({
      ok: true,
      bytes: JSON.stringify({ item: { merchantId: 21, version: 1, data: { ...user, merchantId: 21 } } }),
    }));
    await t.done(setupWireTransfer, { currency: 'EUR', minimumAmount: 100 }, merchant);
    const drafts = await Promise.all(Array.from({ length: 64 }, () => t.done(newInvoice, draft, merchant)));
    const finished = await Promise.all(
      drafts.flatMap(({ invoice: { invoiceId } }) => [
        t.call(finishInvoice, { invoiceId, daysUtilDue: 3 }, merchant),
        t.call(finishInvoice, { invoiceId, daysUtilDue: 3 }, merchant),
      ]),
    );
    const numbers = finished.flatMap(result =>
      result.ok ? [Number(result.data.invoice.number.replace('INV-', ''))] : [],
    );
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 64 }, (_, at) => at + 1));
  });

  it('marks one transfer once, however many say so at once', async () => {
    owners({ 'user 7': user });
    const { invoice } = await t.done(newInvoice, { ...draft, finish: true });
    const input = { invoiceId: invoice.invoiceId, transferNumber: 'T' };
    const results = await Promise.all(Array.from({ length: 16 }, () => t.call(markWireTransferSuccess, input)));
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
  });
});

it('maps its tables as the migrations make them', async () => {
  expect(await t.drift()).toEqual([]);
});
