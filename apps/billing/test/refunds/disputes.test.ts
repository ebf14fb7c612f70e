import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type Invoice,
  invoiceDetail,
  invoiceStatus,
  paymentStatus,
  refundInvoice,
  refundStatus,
} from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { InvoiceOutcomes } from '../../src/invoices/outcomes.js';
import { refunds } from '../../src/invoices/payment-tables.js';
import { changeInvoiceSettings } from '../../src/invoices/settings.js';
import type { InvoiceState } from '../../src/invoices/state.js';
import { invoiceAggregate } from '../../src/invoices/views.js';
import { lockRefund, reverseRefund, settledRefund } from '../../src/refunds/book.js';
import { Disputes } from '../../src/refunds/disputes.js';
import { receiveOverpayment } from '../../src/refunds/overpayments.js';
import { type Shop, shop } from '../world/shop.js';

let s: Shop;
const ends: string[] = [];
const keeps: boolean[] = [];
beforeAll(async () => {
  s = await shop();
  const outcomes = s.t.app.get(InvoiceOutcomes);
  for (const outcome of ['paid', 'failed', 'cancelled', 'ended'] as const) {
    const carriedOut = outcomes[outcome].bind(outcomes);
    outcomes[outcome] = async (tx, invoice) => {
      ends.push(`${outcome} ${invoice.invoiceId}`);
      await carriedOut(tx, invoice);
    };
  }
  const reversed = outcomes.reversed.bind(outcomes);
  outcomes.reversed = async (tx, invoice, options) => {
    keeps.push(options.keep);
    ends.push(`reversed ${invoice.invoiceId}`);
    await reversed(tx, invoice, options);
  };
});
afterAll(() => s.t.close());

const paid = async (): Promise<Invoice> => {
  const { invoiceId } = await s.made({ finish: true });
  await s.moves.receive(invoiceId);
  return s.detail(invoiceId);
};
/** The effect of a gateway's callback, in its transaction. */
const reported = ({ invoiceId }: Invoice, run: (tx: Tx, invoice: InvoiceState) => unknown) =>
  s.t.db.write(s.t.callerOf(), async tx => {
    await run(tx, await tx.lock(invoiceAggregate, invoiceId, 'invoice_not_found'));
    return {};
  });
const refund = ({ invoiceId }: Invoice, refundAmount = 100) =>
  s.t.call(refundInvoice, { invoiceId, refundAmount, reason: '' });
const disputes = () => s.t.app.get(Disputes);

describe('a chargeback', () => {
  it('stops refunds until it is won', async () => {
    const invoice = await paid();
    await reported(invoice, (tx, state) => disputes().open(tx, state));
    expect(await refund(invoice)).toMatchObject({ slug: 'payment_disputed' });
    await reported(invoice, (tx, state) => disputes().won(tx, state));
    expect(await refund(invoice)).toMatchObject({ ok: true });
  });

  it('of the whole that is lost reverses the invoice, with a refund by the system, and tells its owner', async () => {
    const invoice = await paid();
    await reported(invoice, (tx, state) => disputes().open(tx, state));
    await s.t.emitted();
    await reported(invoice, (tx, state) => disputes().lost(tx, state, 7033n));
    const types = (await s.t.emitted()).map(({ type }) => type);
    expect(types).toEqual([
      'invoice.updated',
      'invoice.created',
      'refund.created',
      'invoice.reversed',
      'refund.success',
      'invoice.paid',
      'operation.logged',
    ]);
    const { invoice: after, creditNotes } = await s.t.done(invoiceDetail, { invoiceId: invoice.invoiceId });
    expect([after.status, creditNotes]).toMatchObject([
      invoiceStatus.reversed,
      [{ status: invoiceStatus.paid, totalAmount: -7033 }],
    ]);
    expect(ends).toContain(`reversed ${invoice.invoiceId}`);
    expect(await refund(invoice)).toMatchObject({ slug: 'invoice_not_refundable' });
    await reported(invoice, (tx, state) => disputes().lost(tx, state, 7033n));
    expect((await s.t.done(invoiceDetail, { invoiceId: invoice.invoiceId })).creditNotes).toHaveLength(1);
  });

  it('of less leaves it paid; what was refunded before is not refunded again', async () => {
    const invoice = await paid();
    expect(await refund(invoice, 6000)).toMatchObject({ ok: true });
    await reported(invoice, (tx, state) => disputes().lost(tx, state, 3000n));
    const { invoice: after, creditNotes } = await s.t.done(invoiceDetail, { invoiceId: invoice.invoiceId });
    expect(after.status).toBe(3);
    expect(creditNotes.map(({ totalAmount }) => totalAmount).toSorted()).toEqual([-1033, -6000]);
  });
});

describe('outcomes', () => {
  it('are told to end what a refund ends, and to keep what the merchant keeps after a dispute', async () => {
    const first = await paid();
    await s.t.done(refundInvoice, {
      invoiceId: first.invoiceId,
      refundAmount: 100,
      reason: '',
      cancelSubscription: true,
    });
    expect(ends).toContain(`ended ${first.invoiceId}`);
    const second = await paid();
    await refund(second);
    expect(ends).not.toContain(`ended ${second.invoiceId}`);
    expect(keeps).not.toContain(true);
    await s.t.db.write(s.t.callerOf(), async tx => {
      await changeInvoiceSettings(tx, { keepAfterDispute: true });
      tx.log('Invoices(settings)', 'Update');
      return {};
    });
    await reported(first, (tx, state) => disputes().lost(tx, state, 7033n));
    expect(keeps.at(-1)).toBe(true);
  });
});

describe('money', () => {
  it('for a payment that was cancelled is a surplus, once; payment and invoice stay as they are', async () => {
    s.knowUser(61);
    const invoice = await s.made({ userId: 61, finish: true });
    await s.moves.cancel(invoice.invoiceId);
    const late = (tx: Tx, state: InvoiceState) => {
      if (!state.payment) throw new Error('the payment is not there');
      return receiveOverpayment(tx, state, state.payment, { gatewayPaymentId: 'ch_1', amount: 7033n });
    };
    for (let time = 0; time < 2; time++) {
      await reported(invoice, async (tx, state) => {
        await late(tx, state);
        tx.log('Payment', 'Surplus');
      });
    }
    expect(await s.detail(invoice.invoiceId)).toMatchObject({
      status: invoiceStatus.cancelled,
      surplusAmount: 7033,
      payment: { status: paymentStatus.cancelled },
    });
    expect(await s.t.rows('select balance from credit_accounts where user_id = 61')).toEqual([{ balance: '7033' }]);
  });

  it('that a gateway could not refund, or that the bank sent back', async () => {
    s.knowUser(62);
    const { invoiceId } = await s.made({ userId: 62, finish: true });
    await s.moves.receive(invoiceId);
    const [failing, returning] = [await s.detail(invoiceId), await s.detail(invoiceId)];
    const settle = (move: 'fail' | 'succeed') =>
      s.t.db.write(s.t.callerOf(), async tx => {
        const [open] = await tx.all(refunds, { invoiceId, status: 'created' });
        if (!open) throw new Error('no open refund');
        await settledRefund(
          tx,
          await lockRefund(tx, open),
          { move, explanation: 'Closed', gatewayRefundId: 'g' },
          move,
        );
        return {};
      });
    expect(await refund(failing, 100)).toMatchObject({ ok: true });
    await settle('fail');
    expect(await refund(returning, 200)).toMatchObject({ ok: true });
    await settle('succeed');
    await s.t.emitted();
    await s.t.db.write(s.t.callerOf(), async tx => {
      const [done] = await tx.all(refunds, { invoiceId, status: 'success' });
      if (done) await reverseRefund(tx, await lockRefund(tx, done), 'Account unknown');
      return {};
    });
    expect((await s.t.emitted())[0]).toMatchObject({
      type: 'refund.reversed',
      data: { status: refundStatus.reversed },
    });
    expect(await s.t.rows('select status from refunds where invoice_id = $1 order by 1', [invoiceId])).toEqual([
      { status: 'failed' },
      { status: 'reversed' },
    ]);
    expect(await s.t.rows('select balance from credit_accounts where user_id = 62')).toEqual([{ balance: '200' }]);
  });
});

it('an invoice that ends is followed by its outcome', async () => {
  const [one, other, third] = await Promise.all([1, 2, 3].map(() => s.made({ finish: true })));
  await s.moves.receive(one?.invoiceId ?? '');
  await s.moves.cancel(other?.invoiceId ?? '');
  s.clock.advance(s.term);
  await s.drain();
  expect(ends).toEqual(
    expect.arrayContaining([`paid ${one?.invoiceId}`, `cancelled ${other?.invoiceId}`, `failed ${third?.invoiceId}`]),
  );
});
