import { Controller } from '@nestjs/common';
import { type In, invoiceStatus, listInvoices } from '@recur/contracts';
import { type Caller, type Condition, Db, each, given, Handle, sorted } from '@recur/platform';
import { usersByEmail } from '../../customers/users.js';
import { settingsOf } from '../finish/settings.js';
import { invoices } from '../tables.js';
import { namesOf } from './codes.js';
import { invoicesOf } from './details.js';
import { matching } from './search-key.js';

type Input = In<typeof listInvoices>;

@Controller()
export class InvoiceList {
  constructor(private readonly db: Db) {}

  @Handle(listInvoices)
  async list(input: Input, caller: Caller) {
    const { page, count, sendEmail } = input;
    const byName = await this.db.search(caller, 'user_copies', [
      { column: 'first_name', field: 'firstName', part: input.firstName },
      { column: 'last_name', field: 'lastName', part: input.lastName },
    ]);
    return this.db.read(caller, async reader => {
      const byEmail = sendEmail ? await usersByEmail(reader, sendEmail) : undefined;
      const { showZeroInvoice } = await settingsOf(reader);
      const where = [
        ...conditions(input),
        hiding(input, showZeroInvoice),
        each('user_id', byName),
        each('user_id', byEmail),
      ];
      const order = sorted({ createTime: 'create_time', totalAmount: 'total_amount' }, input);
      const { rows, total } = await reader.page({
        from: invoices,
        where,
        order,
        page,
        count,
        sparse: !!input.searchKey,
      });
      return { invoices: await invoicesOf(reader, rows), total };
    });
  }
}

/** Invoices that were finished without a number are of total 0: found by that, or by their id. */
const hiding = ({ amountEnd, searchKey }: Input, showZeroInvoice: boolean): Condition => [
  `(status <> 'paid' or number <> ?)`,
  showZeroInvoice || given(amountEnd) !== undefined || given(searchKey) ? undefined : '',
];

function conditions(input: Input): Condition[] {
  const [from, to] = [given(input.reportTimeStart), given(input.reportTimeEnd)];
  const reported = from !== undefined || to !== undefined;
  return [
    // a literal, so that the planner takes the partial indexes
    [`kind = 'invoice' and ?::boolean`, true],
    // only drafts can be deleted, so finished invoices need no such filter
    ['deleted_time = ?', input.deleteInclude || reported ? undefined : 0],
    ['user_id = ?', given(input.userId)],
    each('status', namesOf(invoiceStatus, given(input.status))),
    each('gateway_id', given(input.gatewayIds)),
    ['currency = ?', given(input.currency)],
    // cast so that out-of-range values match no rows instead of failing
    ['biz_type = ?::bigint', given(input.type)],
    ['total_amount >= ?', given(input.amountStart)],
    ['total_amount <= ?', given(input.amountEnd)],
    ['create_time >= ?', given(input.createTimeStart)],
    ['create_time <= ?', given(input.createTimeEnd)],
    ['finish_time > ?', reported ? 0 : undefined],
    ['finish_time >= ?', from],
    // finish_time >= create_time always holds: the extra bound lets the planner skip newer rows
    ['finish_time <= ? and create_time <= ?', to],
    matching(given(input.searchKey)),
  ];
}
