import { describe, expect, it } from '@jest/globals';
import { bizType } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import * as collection from '../../../src/invoices/domain/collection.js';
import { termDeadline } from '../../../src/invoices/domain/deadlines.js';
import { type Draft, type DraftContext, editDraft, newDraft } from '../../../src/invoices/domain/draft.js';
import * as invoices from '../../../src/invoices/domain/invoice.js';
import { type Invoice, invoiceLifecycle } from '../../../src/invoices/domain/invoice.js';
import { type Payment, paymentLifecycle } from '../../../src/invoices/domain/payment.js';

const given: Draft & DraftContext = {
  id: 1,
  invoiceId: 'in_1',
  merchantId: 15,
  userId: 9,
  bizType: bizType.manualInvoice,
  createFrom: 'Admin',
  invoiceName: 'March',
  currency: 'USD',
  taxBps: 825,
  gatewayId: 0,
  lines: [
    { unitAmountExcludingTax: 1999n, quantity: 3, planId: 0, name: 'Seat', description: '' },
    { unitAmountExcludingTax: 500n, quantity: 1, planId: 4, name: 'Basic', description: 'a plan' },
  ],
  now: 1000,
};
const finishing = {
  number: '7',
  gatewayId: 3,
  link: 'https://pay.example/invoice/t',
  daysUntilDue: 3,
  pdfLink: '',
  documentKey: '',
  now: 2000,
};
const drafted = newDraft(given, given);
const finished = invoices.finishInvoice(drafted, finishing);
const [payment, open] = collection.openPayment(finished, { paymentId: 'pay_1', now: 2000 });
const success = { gatewayPaymentId: 'T-1', now: 3000 };
/** A time after the payment term of `open`. */
const LATE = 1_000_000;
const zero = newDraft(
  {
    ...given,
    lines: [{ unitAmountExcludingTax: 0n, quantity: 1, planId: 0, name: '', description: '' }],
  },
  given,
);

describe('an invoice', () => {
  it('starts as a draft, priced', () => {
    expect(drafted).toMatchObject({ status: 'pending', number: '', version: 0, createTime: 1000, finishTime: 0 });
    expect(drafted).toMatchObject({ totalAmount: 7033n, taxAmount: 536n, paymentId: '', link: '', deletedTime: 0 });
    expect(drafted.lines.map(line => line.lineId)).toEqual(['in_1_1', 'in_1_2']);
    expect(drafted.lines[1]).toMatchObject({ planId: 4, name: 'Basic', amount: 541n });
    expect(drafted).not.toHaveProperty('now');
  });

  it('is finished under its number', () => {
    expect(finished).toEqual({
      ...drafted,
      ...without(finishing, 'now'),
      status: 'processing',
      finishTime: 2000,
      modifyTime: 2000,
    });
  });

  it('needs a gateway to be finished', () => {
    const refusal = attempt(() => invoices.finishInvoice(drafted, { ...finishing, gatewayId: 0 }));
    expect(refusal).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/gatewayId' }] });
  });

  it('is paid at once, without a gateway or a link, where nothing is to be paid', () => {
    const paid = invoices.finishInvoice(zero, { ...finishing, gatewayId: 0 });
    expect(paid).toMatchObject({
      status: 'paid',
      number: '7',
      link: '',
      gatewayId: 0,
      finishTime: 2000,
      paidTime: 2000,
    });
    expect(attempt(() => collection.openPayment(paid, { paymentId: 'pay_1', now: 1 }))).toMatchObject({
      slug: 'invoice_not_open',
    });
  });

  it('is edited as a whole, and priced anew, while it is a draft', () => {
    const lines = [{ unitAmountExcludingTax: 100n, quantity: 2, planId: 0, name: 'Talk', description: '' }];
    const edited = editDraft(drafted, { ...drafted, invoiceName: 'April', taxBps: 1000, lines }, 1500);
    expect(edited).toMatchObject({ invoiceName: 'April', totalAmount: 220n, taxAmount: 20n, modifyTime: 1500 });
    expect(edited.lines).toMatchObject([{ lineId: 'in_1_1', name: 'Talk', amount: 220n }]);
    expect(editDraft(drafted, drafted, drafted.modifyTime)).toEqual(drafted);
  });

  it('is deleted while it is a draft, and makes no move any more', () => {
    const deleted = invoices.deleteDraft(drafted, 1500);
    expect(deleted).toEqual({ ...drafted, deletedTime: 1500, modifyTime: 1500 });
    expect(attempt(() => invoices.finishInvoice(deleted, finishing))).toMatchObject({
      slug: 'invoice_not_draft',
      message: 'Invoice in_1 is deleted: cannot finish it',
    });
    expect(attempt(() => invoices.deleteDraft(deleted, 1))).toMatchObject({
      message: 'Invoice in_1 is deleted: cannot delete it',
    });
  });

  it('expires twenty minutes after its term', () => {
    const due = 2000 + 3 * 86_400 + 1_200;
    expect(termDeadline(open)).toBe(due);
    expect(invoices.markExpired(open, due)).toEqual({ ...open, status: 'failed', modifyTime: due });
    expect(() => invoices.markExpired(open, due - 1)).toThrow('in_1 is payable until');
  });
});

describe('a payment', () => {
  it('is opened for what the invoice comes to, and is its current one', () => {
    expect(payment).toMatchObject({ paymentId: 'pay_1', status: 'created', totalAmount: 7033n, paymentAmount: 0n });
    expect(payment).toMatchObject({
      invoiceId: 'in_1',
      gatewayId: 3,
      currency: 'USD',
      link: finished.link,
      version: 0,
    });
    expect(open).toEqual({ ...finished, paymentId: 'pay_1' });
    expect(() => collection.openPayment(open, { paymentId: 'pay_2', now: 1 })).toThrow('in_1 has payment pay_1');
  });

  it('pays its invoice', () => {
    const [paid, settled] = collection.receivePayment(payment, open, success);
    expect(paid).toMatchObject({ status: 'success', paymentAmount: 7033n, gatewayPaymentId: 'T-1', paidTime: 3000 });
    expect(settled).toEqual({ ...open, status: 'paid', paidTime: 3000, modifyTime: 3000 });
  });

  it('may succeed after it failed', () => {
    expect(collection.receivePayment({ ...payment, status: 'failed' }, open, success)[0].status).toBe('success');
  });

  it('takes its open invoice with it when it is cancelled, and leaves another as it is', () => {
    const [cancelled, closed] = collection.cancelPayment(payment, open, 3000);
    expect(cancelled).toEqual({ ...payment, status: 'cancelled', cancelTime: 3000, modifyTime: 3000 });
    expect(closed).toEqual({ ...open, status: 'cancelled', modifyTime: 3000 });
    const failed: Invoice = { ...open, status: 'failed' };
    expect(collection.cancelPayment(payment, failed, 3000)[1]).toBe(failed);
  });

  it('is cancelled where it is cleared, and its invoice is payable again', () => {
    const [cancelled, cleared] = collection.clearPayment(open, payment, 3000);
    expect(cancelled).toEqual({ ...payment, status: 'cancelled', cancelTime: 3000, modifyTime: 3000 });
    expect(cleared).toEqual({ ...open, paymentId: '', link: '', modifyTime: 3000 });
    expect(attempt(() => collection.clearPayment(cleared, undefined, 1))).toMatchObject({
      slug: 'invoice_without_payment',
    });
  });

  it('ends with its invoice, unless it has failed already', () => {
    expect(collection.voidInvoice(open, payment, 3000)).toEqual(collection.cancelPayment(payment, open, 3000));
    const [failed, expired] = collection.expireInvoice(open, payment, LATE);
    expect(failed).toMatchObject({ status: 'failed', reason: 'The invoice was not paid in time', modifyTime: LATE });
    expect(expired).toEqual({ ...open, status: 'failed', modifyTime: LATE });
    for (const current of [undefined, { ...payment, status: 'failed' as const }]) {
      expect(collection.voidInvoice(open, current, 3000)).toMatchObject([undefined, { status: 'cancelled' }]);
      expect(collection.expireInvoice(open, current, LATE)).toMatchObject([undefined, { status: 'failed' }]);
    }
  });

  it('is opened once more for an invoice that has none, or whose payment has failed', () => {
    const another = { paymentId: 'pay_2', gatewayId: 4, link: 'https://pay.example/invoice/u', now: 3000 };
    const [, cleared] = collection.clearPayment(open, payment, 2500);
    const [second, collected] = collection.openAnotherPayment(cleared, undefined, { ...another, countryCode: 'DE' });
    expect(second).toMatchObject({
      ...without(another, 'now'),
      status: 'created',
      countryCode: 'DE',
      createTime: 3000,
    });
    expect(collected).toEqual({ ...open, ...without(another, 'now'), modifyTime: 3000 });
    expect(collection.openAnotherPayment(open, { ...payment, status: 'failed' }, another)[1]).toEqual(collected);
    expect(attempt(() => collection.openAnotherPayment(open, payment, another))).toMatchObject({
      slug: 'payment_exists',
      message: 'Payment pay_1 of invoice in_1 is created: cannot open another',
    });
  });

  it('is not taken for a payment of another invoice', () => {
    const other = { ...open, invoiceId: 'in_2' };
    expect(() => collection.cancelPayment(payment, other, 1)).toThrow('pay_1 is not of invoice in_2');
    expect(() => collection.receivePayment(payment, { ...open, merchantId: 16 }, success)).toThrow('not of invoice');
    expect(() => collection.clearPayment(other, payment, 1)).toThrow('not of invoice');
    expect(() => collection.voidInvoice(other, payment, 1)).toThrow('not of invoice');
  });
});

describe('a transfer', () => {
  const receive = (currency: string, minimumAmount: bigint) =>
    attempt(() => collection.receiveTransfer(payment, open, { currency, minimumAmount }, success));

  it('is received from the minimum on, in the same currency', () => {
    expect(receive('USD', 7033n)).toEqual(collection.receivePayment(payment, open, success));
    expect(receive('USD', 7034n)).toMatchObject({
      slug: 'amount_below_minimum',
      message: 'Invoice in_1 comes to 7033: the gateway receives 7034 or more',
    });
    expect(receive('EUR', 0n)).toMatchObject({
      slug: 'currency_mismatch',
      message: 'Invoice in_1 is in USD: the gateway receives EUR',
    });
  });

  it('is received once', () => {
    const [paid, settled] = collection.receivePayment(payment, open, success);
    const again = attempt(() =>
      collection.receiveTransfer(paid, settled, { currency: 'EUR', minimumAmount: 0n }, success),
    );
    expect(again).toMatchObject({ slug: 'invoice_not_open', message: 'Invoice in_1 is paid: cannot pay it' });
  });
});

describe('the lifecycles', () => {
  it('allow these moves and no other', () => {
    const legal = (table: Record<string, Record<string, string>>) =>
      Object.entries(table).flatMap(([state, moves]) =>
        Object.entries(moves).map(([move, next]) => `${state} ${move} ${next}`),
      );
    expect(invoiceLifecycle.states).toEqual([
      'init',
      'pending',
      'processing',
      'paid',
      'failed',
      'cancelled',
      'reversed',
    ]);
    expect(legal(invoiceLifecycle.table)).toEqual([
      'init draft pending',
      'pending edit pending',
      'pending delete pending',
      'pending finish processing',
      'pending settle paid',
      'processing collect processing',
      'processing clear processing',
      'processing pay paid',
      'processing expire failed',
      'processing cancel cancelled',
      'paid reverse reversed',
    ]);
    expect(paymentLifecycle.states).toEqual(['created', 'success', 'failed', 'cancelled']);
    expect(legal(paymentLifecycle.table)).toEqual([
      'created succeed success',
      'created fail failed',
      'created cancel cancelled',
      'failed succeed success',
    ]);
  });
});

describe('every illegal move from every state is refused', () => {
  const moves: [string, string, (invoice: Invoice) => Invoice][] = [
    ['finish', 'invoice_not_draft', invoice => invoices.finishInvoice(invoice, finishing)],
    ['pay', 'invoice_not_open', invoice => invoices.markPaid(invoice, 3000)],
    ['cancel', 'invoice_not_open', invoice => invoices.markInvoiceCancelled(invoice, 3000)],
    ['clear', 'invoice_not_open', invoice => invoices.detachPayment(invoice, 3000)],
    ['expire', 'invoice_not_open', invoice => invoices.markExpired(invoice, LATE)],
    ['delete', 'invoice_not_draft', invoice => invoices.deleteDraft(invoice, 3000)],
    ['edit', 'invoice_not_draft', invoice => editDraft(invoice, drafted, 3000)],
    ['collect', 'invoice_not_open', invoice => invoices.attachPayment({ ...invoice, paymentId: '' }, payment, 3000)],
  ];

  it.each(moves)('invoice: %s', (move, slug, run) => {
    let refused = 0;
    for (const status of invoiceLifecycle.states) {
      const before: Invoice = { ...open, status };
      const next = (invoiceLifecycle.table[status] as Record<string, string>)[move];
      const outcome = attempt(() => run(before));
      expect(before).toEqual({ ...open, status });
      if (next !== undefined) {
        expect(outcome).toMatchObject({ status: next, version: before.version });
      } else {
        refused++;
        expect(outcome).toBeInstanceOf(Rejected);
        expect(outcome).toMatchObject({ slug, message: `Invoice in_1 is ${status}: cannot ${move} it` });
      }
    }
    expect(refused).toBe(6);
  });

  it('invoice: opening a payment', () => {
    for (const status of invoiceLifecycle.states) {
      const outcome = attempt(() => collection.openPayment({ ...finished, status }, { paymentId: 'pay_9', now: 1 }));
      if (status === 'processing') expect(outcome).toHaveLength(2);
      else expect(outcome).toMatchObject({ slug: 'invoice_not_open' });
    }
  });

  it('payment and invoice: every pair of states', () => {
    let refused = 0;
    for (const status of paymentLifecycle.states) {
      for (const invoiceStatus of invoiceLifecycle.states) {
        const before: Payment = { ...payment, status };
        const invoice: Invoice = { ...open, status: invoiceStatus };
        const succeeded = attempt(() => collection.receivePayment(before, invoice, success));
        const cancelled = attempt(() => collection.cancelPayment(before, invoice, 3000));
        const paid = paymentLifecycle.next(status, 'succeed');
        if (invoiceStatus !== 'processing') expect(succeeded).toMatchObject({ slug: 'invoice_not_open' });
        else if (!paid) expect(succeeded).toMatchObject({ slug: 'payment_not_open' });
        else expect(succeeded).toMatchObject([{ status: 'success' }, { status: 'paid' }]);
        for (const end of [collection.voidInvoice, collection.clearPayment, collection.expireInvoice]) {
          const ended = attempt(() => end(invoice, before, LATE));
          const stays = status === 'failed' && end !== collection.clearPayment;
          if (invoiceStatus !== 'processing') expect(ended).toMatchObject({ slug: 'invoice_not_open' });
          else if (status === 'created' || stays) expect(ended).toHaveLength(2);
          else expect(ended).toMatchObject({ slug: 'payment_not_open' });
        }
        if (status === 'created') expect(cancelled).toMatchObject([{ status: 'cancelled' }, {}]);
        else {
          refused++;
          const message = `Payment pay_1 is ${status}: cannot cancel it`;
          expect(cancelled).toMatchObject({ slug: 'payment_not_open', message });
        }
      }
    }
    expect(refused).toBe(21);
  });
});

function attempt(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    if (error instanceof Rejected) return error;
    throw error;
  }
}

function without<T extends object, K extends keyof T>(value: T, key: K): Omit<T, K> {
  const { [key]: _, ...rest } = value;
  return rest;
}
