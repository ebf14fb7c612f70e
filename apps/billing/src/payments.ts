import { Injectable } from '@nestjs/common';
import { type In, paymentDetail } from '@recur/contracts';
import { type Caller, Db, Handle } from '@recur/platform';
import { withLines } from './invoices.js';
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
}
