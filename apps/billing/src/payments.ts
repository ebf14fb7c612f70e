import { Controller } from '@nestjs/common';
import { cancelPayment, type In, type PaymentDetail, paymentDetail } from '@recur/contracts';
import { type Caller, Db, Handle } from '@recur/platform';
import { paymentDetailsOf } from './details.js';
import { cancel } from './domain/payment.js';
import { withLines } from './drafting.js';
import { gateways, invoices, payments } from './tables.js';
import { invoiceView, paymentView } from './views.js';

@Controller()
export class Payments {
  constructor(private readonly db: Db) {}

  @Handle(paymentDetail)
  detail({ paymentId }: In<typeof paymentDetail>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const payment = await reader.get(payments, { paymentId }, 'payment_not_found');
      const [detail] = await paymentDetailsOf(reader, [payment]);
      return { paymentDetail: detail as PaymentDetail };
    });
  }

  @Handle(cancelPayment)
  cancel({ paymentId }: In<typeof cancelPayment>, caller: Caller) {
    return this.db.write(caller, async tx => {
      // which invoice it is for never changes; the lock order is invoice, then payment
      const { invoiceId } = await tx.get(payments, { paymentId }, 'payment_not_found');
      const row = await tx.lock(invoices, { invoiceId }, 'payment_not_found');
      const [payment, invoice, gateway] = await Promise.all([
        tx.lock(payments, { paymentId }, 'payment_not_found'),
        withLines(tx, row),
        tx.find(gateways, { gatewayId: row.gatewayId }),
      ]);
      const [cancelled, closed] = cancel(payment, invoice, tx.now);
      tx.save(payments, cancelled);
      tx.emit('payment.cancelled', cancelled, paymentView(cancelled));
      if (closed !== invoice) {
        tx.save(invoices, closed);
        tx.emit('invoice.cancelled', closed, invoiceView(closed, gateway, cancelled));
      }
      tx.log(`Payment(${paymentId})`, 'Cancel', { invoiceId, userId: cancelled.userId });
      return {};
    });
  }
}
