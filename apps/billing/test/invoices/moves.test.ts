import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  cancelInvoice,
  cancelPayment,
  clearInvoicePayment,
  deleteInvoice,
  editInvoice,
  finishInvoice,
  invoiceStatus,
  newPayment,
  paymentStatus,
  type Slug,
} from '@recur/contracts';
import { type InvoiceState, invoiceStates, type Shop, shop } from '../world/shop.js';

let s: Shop;
beforeAll(async () => {
  s = await shop();
});
afterAll(() => s.t.close());

const logged = (target: string, content: string) => ({ type: 'operation.logged', data: { target, content } });

describe.each(invoiceStates.filter(state => state !== 'reversed'))('the last event of an invoice that is %s', state => {
  it('says what its detail answers, but for the user, who changes without it', async () => {
    await s.t.emitted();
    const { invoiceId, paymentId } = await s.inState(state);
    const last = (await s.t.emitted()).findLast(
      ({ aggregate, aggregateId }) => aggregate === 'invoice' && aggregateId === invoiceId,
    );
    const detail = await s.detail(invoiceId);
    expect(last?.data).toEqual({ ...detail, userAccount: null });
    expect(detail.payment?.paymentId ?? '').toBe(detail.paymentId);
    if (detail.paymentId !== '') expect(detail.payment).toEqual(await s.payment(paymentId));
  });
});

describe('invoice/delete', () => {
  it('deletes a draft, and a repeat changes nothing', async () => {
    const { invoiceId } = await s.inState('draft');
    await s.t.emitted();
    expect(await s.t.done(deleteInvoice, { invoiceId })).toEqual({});
    const [deleted, log, ...more] = await s.t.emitted();
    expect(deleted).toMatchObject({
      type: 'invoice.deleted',
      version: 2,
      data: { invoiceId, status: invoiceStatus.pending },
    });
    expect(log).toMatchObject(logged(`Invoice(${invoiceId})`, 'Delete'));
    expect(more).toEqual([]);
    expect((await s.detail(invoiceId)).isDeleted).toBe(s.clock.now());
    s.clock.advance(60);
    const before = await s.everything();
    expect(await s.t.done(deleteInvoice, { invoiceId })).toEqual({});
    expect(await s.everything()).toEqual(before);
  });
});

describe('invoice/clearPayment', () => {
  it('cancels the payment; the invoice stays open without one', async () => {
    const { invoiceId, paymentId } = await s.inState('open');
    await s.t.emitted();
    expect(await s.t.done(clearInvoicePayment, { invoiceId })).toEqual({});
    const [cancelled, updated, log, ...more] = await s.t.emitted();
    expect(cancelled).toMatchObject({
      type: 'payment.cancelled',
      version: 2,
      data: { paymentId, status: paymentStatus.cancelled },
    });
    expect(updated).toMatchObject({
      type: 'invoice.updated',
      version: 3,
      data: { status: invoiceStatus.processing, paymentId: '', link: '' },
    });
    expect(log).toMatchObject(logged(`Invoice(${invoiceId})`, 'ClearPayment'));
    expect(more).toEqual([]);
    expect(await s.detail(invoiceId)).toMatchObject({
      status: invoiceStatus.processing,
      paymentId: '',
      link: '',
      paymentLink: '',
      payment: null,
    });
    expect(await s.payment(paymentId)).toMatchObject({ status: paymentStatus.cancelled, cancelTime: s.clock.now() });
  });
});

describe('invoice/cancel', () => {
  it('cancels the payment first, then the invoice', async () => {
    const { invoiceId, paymentId } = await s.inState('open');
    await s.t.emitted();
    expect(await s.t.done(cancelInvoice, { invoiceId })).toEqual({});
    const [payment, invoice, note, log, ...more] = await s.t.emitted();
    expect(payment).toMatchObject({
      type: 'payment.cancelled',
      version: 2,
      data: { paymentId, status: paymentStatus.cancelled },
    });
    expect(invoice).toMatchObject({
      type: 'invoice.cancelled',
      version: 3,
      data: { invoiceId, status: invoiceStatus.cancelled, paymentId },
    });
    expect(note).toMatchObject({
      type: 'invoice.created',
      version: 1,
      data: { status: invoiceStatus.paid, number: expect.stringMatching(/^CN-/) },
    });
    expect(log).toMatchObject(logged(`Invoice(${invoiceId})`, 'Cancel'));
    expect(more).toEqual([]);
    expect(await s.detail(invoiceId)).toMatchObject({
      status: invoiceStatus.cancelled,
      payment: { status: paymentStatus.cancelled },
    });
  });

  it('needs no payment, and leaves one that has failed as it is', async () => {
    const { invoiceId } = await s.inState('cleared');
    await s.t.emitted();
    await s.t.done(cancelInvoice, { invoiceId });
    expect(await s.types()).toEqual(['invoice.cancelled 4', 'invoice.created 1', 'operation.logged 1']);
    const other = await s.inState('open');
    await s.t.rows(`update payments set status = 'failed' where payment_id = $1`, [other.paymentId]);
    await s.t.emitted();
    await s.t.done(cancelInvoice, { invoiceId: other.invoiceId });
    expect(await s.types()).toEqual(['invoice.cancelled 3', 'invoice.created 1', 'operation.logged 1']);
  });
});

describe('payment/cancel', () => {
  it('takes the open invoice with it', async () => {
    const { invoiceId, paymentId } = await s.inState('open');
    await s.t.emitted();
    expect(await s.t.done(cancelPayment, { paymentId })).toEqual({});
    const [payment, invoice, note, log, ...more] = await s.t.emitted();
    expect(payment).toMatchObject({
      type: 'payment.cancelled',
      version: 2,
      data: { paymentId, status: paymentStatus.cancelled },
    });
    expect(invoice).toMatchObject({
      type: 'invoice.cancelled',
      version: 3,
      data: { invoiceId, status: invoiceStatus.cancelled },
    });
    expect(note).toMatchObject({
      type: 'invoice.created',
      version: 1,
      data: { status: invoiceStatus.paid, number: expect.stringMatching(/^CN-/) },
    });
    expect(log).toMatchObject(logged(`Payment(${paymentId})`, 'Cancel'));
    expect(more).toEqual([]);
  });

  it.each<[InvoiceState, string]>([
    ['cleared', 'cancelled'],
    ['cancelled', 'cancelled'],
    ['paid', 'success'],
    ['failed', 'failed'],
  ])('of an invoice that is %s is refused: the payment is %s', async (state, status) => {
    const { paymentId } = await s.inState(state);
    const before = await s.everything();
    expect(await s.t.call(cancelPayment, { paymentId })).toMatchObject({
      slug: 'payment_not_open',
      message: `Payment ${paymentId} is ${status}: cannot cancel it`,
    });
    expect(await s.everything()).toEqual(before);
  });
});

/** Refusal of each move in each state, except for states in which it succeeds. */
const words: Record<InvoiceState, string> = {
  draft: 'pending',
  deleted: 'deleted',
  open: 'processing',
  cleared: 'processing',
  paid: 'paid',
  failed: 'failed',
  cancelled: 'cancelled',
  reversed: 'reversed',
};
const refusals: [string, InvoiceState[], Slug, (invoiceId: string) => Promise<unknown>][] = [
  ['delete', ['draft', 'deleted'], 'invoice_not_draft', id => s.moves.delete(id)],
  ['clear', ['open'], 'invoice_not_open', id => s.moves.clear(id)],
  ['cancel', ['open', 'cleared'], 'invoice_not_open', id => s.moves.cancel(id)],
  ['pay', ['open'], 'invoice_not_open', id => s.moves.receive(id)],
  ['finish', ['draft'], 'invoice_not_draft', id => s.t.call(finishInvoice, { invoiceId: id, daysUtilDue: 1 })],
  ['edit', ['draft'], 'invoice_not_draft', id => s.t.call(editInvoice, { invoiceId: id, name: 'Other' })],
  [
    'collect',
    ['open', 'cleared'],
    'invoice_not_open',
    invoiceId => s.t.call(newPayment, { invoiceId, gatewayId: s.gateway.gatewayId }),
  ],
];

describe.each(refusals)('%s', (move, allowed, slug, call) => {
  it.each(invoiceStates.filter(state => !allowed.includes(state)))(
    'is refused for an invoice that is %s',
    async state => {
      const { invoiceId } = await s.inState(state);
      const before = await s.everything();
      const refusal = await call(invoiceId);
      expect(refusal).toMatchObject({ ok: false });
      if (state === 'deleted') expect(refusal).toMatchObject({ slug: 'invoice_not_found' });
      else if (state === 'cleared' && slug === 'invoice_not_open')
        expect(refusal).toMatchObject({
          slug: 'invoice_without_payment',
          message: `Invoice ${invoiceId} has no current payment: cannot ${move} it`,
        });
      else
        expect(refusal).toMatchObject({ slug, message: `Invoice ${invoiceId} is ${words[state]}: cannot ${move} it` });
      expect(await s.everything()).toEqual(before);
    },
  );
});

describe('every move', () => {
  const calls: [string, InvoiceState, (invoiceId: string, caller: object, paymentId: string) => Promise<unknown>][] = [
    ['invoice/delete', 'draft', (invoiceId, caller) => s.t.call(deleteInvoice, { invoiceId }, caller)],
    ['invoice/clearPayment', 'open', (invoiceId, caller) => s.t.call(clearInvoicePayment, { invoiceId }, caller)],
    ['invoice/cancel', 'open', (invoiceId, caller) => s.t.call(cancelInvoice, { invoiceId }, caller)],
    ['payment/cancel', 'open', (_, caller, paymentId) => s.t.call(cancelPayment, { paymentId }, caller)],
    ['invoice/edit', 'draft', (invoiceId, caller) => s.t.call(editInvoice, { invoiceId, name: 'Other' }, caller)],
    [
      'payment/new',
      'cleared',
      (invoiceId, caller) => s.t.call(newPayment, { invoiceId, gatewayId: s.gateway.gatewayId }, caller),
    ],
  ];

  it.each(calls)('%s is done once under a key', async (_, state, call) => {
    const { invoiceId, paymentId } = await s.inState(state);
    await s.t.emitted();
    const key = { idempotencyKey: `once ${invoiceId}` };
    const results = await Promise.all(Array.from({ length: 8 }, () => call(invoiceId, key, paymentId)));
    const [{ data } = { data: undefined }] = results as { data?: object }[];
    expect(results).toEqual(results.map(() => expect.objectContaining({ ok: true, data })));
    expect((await s.t.emitted()).filter(({ type }) => type === 'operation.logged')).toHaveLength(1);
    expect(await call(invoiceId, key, paymentId)).toMatchObject({ ok: true, replayOf: expect.any(String) });
  });

  it.each(calls)('%s knows no invoice of another merchant', async (_, state, call) => {
    const { invoiceId, paymentId } = await s.inState(state);
    const before = await s.everything();
    const foreign = await call(invoiceId, { merchantId: 16 }, paymentId);
    expect(foreign).toMatchObject({ slug: expect.stringMatching(/^(invoice|payment)_not_found$/) });
    expect(foreign).toEqual(await call('in_nowhere', {}, 'pay_nowhere'));
    expect(await s.everything()).toEqual(before);
  });
});
