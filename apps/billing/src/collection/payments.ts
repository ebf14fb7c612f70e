import { Controller } from '@nestjs/common';
import {
  cancelPayment,
  type In,
  listPaymentMethods,
  listPayments,
  type PaymentDetail,
  paymentDetail,
  paymentStatus,
} from '@recur/contracts';
import { type Caller, Db, each, given, Handle, sorted } from '@recur/platform';
import { usersByEmail } from '../customers/users.js';
import { savedMethodsOf } from '../gateways/payment-methods.js';
import { InvoiceClosing } from '../invoices/close.js';
import * as collection from '../invoices/domain/collection.js';
import { namesOfCodes, paymentDetailsOf } from '../invoices/lists/details.js';
import { InvoiceOutcomes } from '../invoices/outcomes.js';
import { payments } from '../invoices/payment-tables.js';
import { paymentAggregate } from '../invoices/views.js';

@Controller()
export class Payments {
  constructor(
    private readonly db: Db,
    private readonly closing: InvoiceClosing,
    private readonly outcomes: InvoiceOutcomes,
  ) {}

  @Handle(paymentDetail)
  detail({ paymentId }: In<typeof paymentDetail>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const payment = await reader.get(payments, { paymentId }, 'payment_not_found');
      const [detail] = await paymentDetailsOf(reader, [payment]);
      return { paymentDetail: detail as PaymentDetail };
    });
  }

  @Handle(listPayments)
  list(input: In<typeof listPayments>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { page, count, email, status } = input;
      const userIds = email ? await usersByEmail(reader, email) : undefined;
      const { rows, total } = await reader.page({
        from: payments,
        where: [
          each('user_id', userIds),
          ['user_id = ?', given(input.userId)],
          ['gateway_id = ?', given(input.gatewayId)],
          each('status', status ? namesOfCodes(paymentStatus, [status]) : undefined),
          ['currency = ?', given(input.currency)],
          [`country_code <> '' and country_code = ?`, given(input.countryCode)],
        ],
        order: sorted({ createTime: 'create_time' }, input, 'payment_id'),
        page,
        count,
      });
      return { paymentDetails: await paymentDetailsOf(reader, rows), total };
    });
  }

  @Handle(listPaymentMethods)
  methods({ gatewayId, userId, paymentId }: In<typeof listPaymentMethods>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const payment = userId === 0 && paymentId !== '' ? await reader.find(payments, { paymentId }) : undefined;
      return { methodList: await savedMethodsOf(reader, { gatewayId, userId: userId || (payment?.userId ?? 0) }) };
    });
  }

  @Handle(cancelPayment)
  cancel({ paymentId }: In<typeof cancelPayment>, caller: Caller) {
    return this.db.write(caller, async tx => {
      // a payment never changes its invoice, so this may be read before the locks: invoice first, then payment
      const { invoiceId } = await tx.get(payments, { paymentId }, 'payment_not_found');
      const invoice = await this.outcomes.lock(tx, { invoiceId }, 'payment_not_found');
      const payment = await tx.lock(paymentAggregate, paymentId, 'payment_not_found');
      const [cancelled, closed] = collection.cancelPayment(payment, invoice, tx.now);
      this.closing.stopped(tx, cancelled, 'Cancel');
      if (closed !== invoice) await this.closing.cancelled(tx, { ...closed, payment: cancelled });
      return {};
    });
  }
}
