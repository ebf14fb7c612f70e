import { Controller } from '@nestjs/common';
import { type In, listPayments, paymentStatus } from '@recur/contracts';
import { type Caller, Db, each, given, Handle, sorted } from '@recur/platform';
import { paymentDetailsOf } from './details.js';
import { usersByEmail } from './drafting.js';
import { namesOf } from './invoice-list.js';
import { payments } from './tables.js';

@Controller()
export class PaymentList {
  constructor(private readonly db: Db) {}

  @Handle(listPayments)
  list(input: In<typeof listPayments>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { page, count, email, status } = input;
      const mailed = email ? await usersByEmail(reader, email) : undefined;
      const { rows, total } = await reader.page({
        from: payments,
        where: [
          each('user_id', mailed),
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
}
