import { Controller } from '@nestjs/common';
import {
  cancelPayment,
  type In,
  listPayments,
  type PaymentDetail,
  paymentDetail,
  paymentStatus,
} from '@recur/contracts';
import { type Caller, Db, each, given, Handle, sorted } from '@recur/platform';
import { usersByEmail } from '../../customers/users.js';
import { paymentAggregate } from '../aggregates.js';
import * as collection from '../domain/collection.js';
import { InvoiceEndings } from '../endings.js';
import { namesOf } from '../lists/codes.js';
import { paymentDetailsOf } from '../lists/details.js';
import { InvoiceOwners } from '../owners.js';
import { payments } from '../tables.js';

@Controller()
export class Payments {
  constructor(
    private readonly db: Db,
    private readonly endings: InvoiceEndings,
    private readonly owners: InvoiceOwners,
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
          each('status', status ? namesOf(paymentStatus, [status]) : undefined),
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

  @Handle(cancelPayment)
  cancel({ paymentId }: In<typeof cancelPayment>, caller: Caller) {
    return this.db.write(caller, async tx => {
      // a payment never changes its invoice, so this may be read before the locks: invoice first, then payment
      const { invoiceId } = await tx.get(payments, { paymentId }, 'payment_not_found');
      const invoice = await this.owners.lock(tx, { invoiceId }, 'payment_not_found');
      const payment = await tx.lock(paymentAggregate, paymentId, 'payment_not_found');
      const [cancelled, closed] = collection.cancelPayment(payment, invoice, tx.now);
      this.endings.stopped(tx, cancelled, 'Cancel');
      if (closed !== invoice) await this.endings.cancelled(tx, { ...closed, payment: cancelled });
      return {};
    });
  }
}
