import { Controller } from '@nestjs/common';
import { type In, paymentStatus, splitPayments } from '@recur/contracts';
import { type Caller, Db, Handle } from '@recur/platform';
import { gatewaysById } from '../../gateways/lookup.js';
import { dueOf } from '../domain/invoice.js';
import { invoices, payments } from '../tables.js';

/** invoice/split_payments: what an invoice was, or is being, collected by. */
@Controller()
export class SplitPayments {
  constructor(private readonly db: Db) {}

  @Handle(splitPayments)
  list({ invoiceId }: In<typeof splitPayments>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const invoice = await reader.get(invoices, { invoiceId, kind: 'invoice' }, 'invoice_not_found');
      const [all, gateways] = await Promise.all([
        reader.all(payments, { invoiceId }, 'order by create_time, payment_id'),
        gatewaysById(reader),
      ]);
      const paid = all.filter(({ status }) => status === 'success');
      const shown = paid.length > 0 ? paid : all.filter(({ paymentId }) => paymentId === invoice.paymentId);
      return {
        payments: shown.map((payment, at) => {
          const { paymentId, currency, status, gatewayId, link, createTime, paidTime } = payment;
          return {
            paymentId,
            currency,
            gatewayId,
            link,
            createTime,
            paidTime,
            splitSequence: at + 1,
            totalAmount: Number(payment.totalAmount),
            status: paymentStatus[status],
            gatewayName: gateways.get(gatewayId)?.gatewayName ?? '',
          };
        }),
        totalAmount: Number(invoice.totalAmount - invoice.partialCreditPaid),
        paidAmount: Number(paid.reduce((sum, { paymentAmount }) => sum + paymentAmount, 0n)),
        remainingAmount: invoice.status === 'processing' ? Number(dueOf(invoice)) : 0,
      };
    });
  }
}
