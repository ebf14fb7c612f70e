import { Controller } from '@nestjs/common';
import { type In, invoiceStatus, listInvoices } from '@recur/contracts';
import { type Caller, type Condition, Db, each, given, Handle, type Reader, sorted } from '@recur/platform';
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
    const { page, count } = input;
    const byName = await usersNamed(this.db, caller, input);
    return this.db.read(caller, async reader => {
      const where = await shownWhere(reader, input, byName);
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

type Names = Pick<Input, 'firstName' | 'lastName'>;

/** Ids of the users whose names the filters tell; undefined where they tell none. */
export const usersNamed = (db: Db, caller: Caller, { firstName, lastName }: Names): Promise<number[] | undefined> =>
  db.search(caller, 'user_copies', [
    { column: 'first_name', field: 'firstName', part: firstName },
    { column: 'last_name', field: 'lastName', part: lastName },
  ]);

/** The conditions of the list; `byName` is from `usersNamed`. */
export async function shownWhere(reader: Reader, input: Input, byName: number[] | undefined): Promise<Condition[]> {
  const byEmail = input.sendEmail ? await usersByEmail(reader, input.sendEmail) : undefined;
  const { showZeroInvoice } = await settingsOf(reader);
  return [...conditions(input), hiding(input, showZeroInvoice), each('user_id', byName), each('user_id', byEmail)];
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
