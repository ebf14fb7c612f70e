import { Controller } from '@nestjs/common';
import {
  cancelRefund,
  createMarkRefund,
  type In,
  listRefunds,
  markRefundSuccess,
  newRefund,
  type RefundDetail,
  refundDetails,
  refundInvoice,
  refundStatus,
} from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, each, given, Handle, type Reader, sorted, type Tx } from '@recur/platform';
import { usersByEmail, usersById } from '../customers/users.js';
import { refundType } from '../invoices/crediting/credit-refunds.js';
import { assertUnsent, type Refund, theOpenOne } from '../invoices/domain/refund.js';
import { namesOfCodes } from '../invoices/lists/details.js';
import { payments, refunds } from '../invoices/payment-tables.js';
import type { InvoiceState } from '../invoices/state.js';
import { invoices } from '../invoices/tables.js';
import { invoiceAggregate, paymentView, refundView } from '../invoices/views.js';
import { lockRefund } from './book.js';
import { RefundSettlement } from './sending.js';

@Controller()
export class RefundList {
  constructor(private readonly db: Db) {}

  @Handle(refundDetails)
  detail({ refundId }: In<typeof refundDetails>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const refund = await reader.get(refunds, { refundId }, 'refund_not_found');
      const [detail] = await detailedRefunds(reader, [refund]);
      return { refundDetail: detail as RefundDetail };
    });
  }

  @Handle(listRefunds)
  list(input: In<typeof listRefunds>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { paymentId, page, count, email, status } = input;
      const userIds = email ? await usersByEmail(reader, email) : undefined;
      const { rows, total } = await reader.page({
        from: refunds,
        where: [
          ['payment_id = ?', paymentId],
          ['user_id = any(?)', userIds],
          ['user_id = ?', given(input.userId)],
          ['gateway_id = ?', given(input.gatewayId)],
          each('status', status ? namesOfCodes(refundStatus, [status]) : undefined),
          ['currency = ?', given(input.currency)],
        ],
        order: sorted({ createTime: 'create_time' }, {}, 'refund_id'),
        page,
        count,
      });
      return { refundDetails: await detailedRefunds(reader, rows), total };
    });
  }
}

async function detailedRefunds(reader: Reader, rows: readonly Refund[]): Promise<RefundDetail[]> {
  const paymentIds = rows.map(({ paymentId }) => paymentId).filter(id => id !== '');
  const [paid, users] = await Promise.all([
    reader.among(payments, 'paymentId', paymentIds),
    usersById(
      reader,
      rows.map(({ userId }) => userId),
    ),
  ]);
  return rows.map(refund => {
    const payment = paid.find(({ paymentId }) => paymentId === refund.paymentId);
    const user = users.get(refund.userId) ?? null;
    return { refund: refundView(refund), payment: payment ? paymentView(payment) : null, user };
  });
}

/** Refunds of paid invoices. */
@Controller()
export class Refunds {
  constructor(
    private readonly db: Db,
    private readonly settlement: RefundSettlement,
  ) {}

  @Handle(refundInvoice)
  refund(input: In<typeof refundInvoice>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { paymentId, invoiceId } = input;
      const invoice = await (input.cancelSubscription
        ? this.settlement.lock(tx, invoiceId)
        : lockInvoice(tx, invoiceId));
      if (paymentId && paymentId !== invoice.paymentId) {
        throw invalid('/paymentId', `is not the payment of the invoice, which is ${invoice.paymentId || 'none'}`);
      }
      const { refundAmount, reason, refundNo: externalRefundId, cancelSubscription } = input;
      const request = { amount: BigInt(refundAmount), type: refundType.gateway, reason, externalRefundId };
      const refund = await this.settlement.make(tx, invoice, request, cancelSubscription);
      logRefund(tx, invoice);
      return { refund: refundView(refund) };
    });
  }

  @Handle(createMarkRefund)
  createMark({ invoiceId, refundAmount, reason }: In<typeof createMarkRefund>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const invoice = await lockInvoice(tx, invoiceId);
      const request = { amount: BigInt(refundAmount), type: refundType.byHand, reason };
      const refund = await this.settlement.make(tx, invoice, request);
      logRefund(tx, invoice);
      return { refund: refundView(refund) };
    });
  }

  @Handle(newRefund)
  create(input: In<typeof newRefund>, caller: Caller) {
    return this.db.writeJoined(caller, newRefund.name, async tx => {
      const { paymentId, externalRefundId, reason, metadata } = input;
      // a payment never changes its invoice, so this may be read before the locks
      const { invoiceId, currency } = await tx.get(payments, { paymentId }, 'payment_not_found');
      const invoice = await tx.lock(invoiceAggregate, invoiceId, 'payment_not_found');
      if (invoice.paymentId !== paymentId) {
        throw new Rejected('invoice_not_refundable', `Payment ${paymentId} is not the one that paid ${invoiceId}`);
      }
      if (input.currency !== currency) {
        throw invalid('/currency', `is ${input.currency}: the payment is in ${currency}`);
      }
      const amount = BigInt(input.refundAmount);
      const request = { amount, type: refundType.gateway, reason, externalRefundId, metadata };
      const { refundId, status } = await this.settlement.make(tx, invoice, request);
      logRefund(tx, invoice);
      return { externalRefundId, paymentId, refundId, status: refundStatus[status] };
    });
  }

  @Handle(markRefundSuccess)
  markSuccess({ invoiceId, reason }: In<typeof markRefundSuccess>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const named = await tx.get(invoices, { invoiceId, deletedTime: 0 }, 'invoice_not_found');
      const isNote = named.kind === 'credit_note';
      const original = isNote ? named.originalInvoiceId : invoiceId;
      // the invoice's lock keeps its refunds as they are
      await tx.lock(invoiceAggregate, original, 'invoice_not_found');
      const where = isNote ? { creditNoteId: invoiceId } : { invoiceId };
      const refund = theOpenOne(await tx.all(refunds, where), invoiceId);
      const outcome = { move: 'succeed', explanation: reason, gatewayRefundId: '' } as const;
      await this.settlement.settle(tx, await lockRefund(tx, refund), outcome, 'MarkSuccess');
      return {};
    });
  }

  @Handle(cancelRefund)
  cancel({ refundId }: In<typeof cancelRefund>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const locked = await lockRefund(tx, await tx.get(refunds, { refundId }, 'refund_not_found'));
      assertUnsent(locked.refund);
      await this.settlement.settle(tx, locked, { move: 'cancel', explanation: '', gatewayRefundId: '' }, 'Cancel');
      return {};
    });
  }
}

const lockInvoice = (tx: Tx, invoiceId: string): Promise<InvoiceState> =>
  tx.lock(invoiceAggregate, { invoiceId, kind: 'invoice', deletedTime: 0 }, 'invoice_not_found');

const logRefund = (tx: Tx, { invoiceId, userId }: InvoiceState) =>
  tx.log(`Invoice(${invoiceId})`, 'Refund', { invoiceId, userId });
