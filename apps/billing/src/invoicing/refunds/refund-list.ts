import { Controller } from '@nestjs/common';
import { type In, listRefunds, type RefundDetail, refundDetails, refundStatus } from '@recur/contracts';
import { type Caller, Db, each, given, Handle, type Reader, sorted } from '@recur/platform';
import { usersByEmail, usersById } from '../../customers/users.js';
import type { Refund } from '../domain/refund.js';
import { namesOf } from '../lists/codes.js';
import { payments } from '../tables.js';
import { paymentView } from '../views.js';
import { refunds } from './tables.js';
import { refundView } from './views.js';

@Controller()
export class RefundList {
  constructor(private readonly db: Db) {}

  @Handle(refundDetails)
  detail({ refundId }: In<typeof refundDetails>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const refund = await reader.get(refunds, { refundId }, 'refund_not_found');
      const [detail] = await detailsOf(reader, [refund]);
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
          each('status', status ? namesOf(refundStatus, [status]) : undefined),
          ['currency = ?', given(input.currency)],
        ],
        order: sorted({ createTime: 'create_time' }, {}, 'refund_id'),
        page,
        count,
      });
      return { refundDetails: await detailsOf(reader, rows), total };
    });
  }
}

async function detailsOf(reader: Reader, rows: readonly Refund[]): Promise<RefundDetail[]> {
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
