import { Injectable } from '@nestjs/common';
import { cancelPayment, type In, paymentDetail } from '@recur/contracts';
import { type Caller, Db, Handle } from '@recur/platform';
import { cancel } from './domain/payment.js';
import { withLines } from './drafting.js';
import { gateways, invoices, payments, users } from './tables.js';
import { gatewayView, invoiceView, paymentView } from './views.js';

@Injectable()
export class Payments {
  constructor(private readonly db: Db) {}

  @Handle(paymentDetail)
  detail({ paymentId }: In<typeof paymentDetail>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const payment = await reader.get(payments, { paymentId }, 'payment_not_found');
      const [row, gateway, user] = await Promise.all([
        reader.find(invoices, { invoiceId: payment.invoiceId }),
        reader.find(gateways, { gatewayId: payment.gatewayId }),
        reader.find(users, { id: payment.userId }),
      ]);
      const invoice = row ? invoiceView(await withLines(reader, row), gateway) : null;
      return {
        paymentDetail: {
          payment: paymentView(payment),
          gateway: gateway ? gatewayView(gateway) : null,
          invoice,
          user: user?.data ?? null,
        },
      };
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
        tx.emit('invoice.cancelled', closed, invoiceView(closed, gateway));
      }
      tx.log(`Payment(${paymentId})`, 'Cancel', { invoiceId, userId: cancelled.userId });
      return {};
    });
  }
}
