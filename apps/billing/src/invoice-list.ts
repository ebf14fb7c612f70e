import { Controller } from '@nestjs/common';
import { type CodeTable, type In, invoiceStatus, listInvoices } from '@recur/contracts';
import { type Caller, type Condition, Db, each, given, Handle, sorted } from '@recur/platform';
import { invoicesOf } from './details.js';
import { usersByEmail } from './drafting.js';
import { invoices } from './tables.js';

type Input = In<typeof listInvoices>;

@Controller()
export class InvoiceList {
  constructor(private readonly db: Db) {}

  @Handle(listInvoices)
  async list(input: Input, caller: Caller) {
    const { page, count, sendEmail } = input;
    const named = await this.db.search(caller, 'user_copies', [
      { column: 'first_name', field: 'firstName', part: input.firstName },
      { column: 'last_name', field: 'lastName', part: input.lastName },
    ]);
    return this.db.read(caller, async reader => {
      const mailed = sendEmail ? await usersByEmail(reader, sendEmail) : undefined;
      const where = [...conditions(input), each('user_id', named), each('user_id', mailed)];
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

function conditions(input: Input): Condition[] {
  const [from, to] = [given(input.reportTimeStart), given(input.reportTimeEnd)];
  const reported = from !== undefined || to !== undefined;
  return [
    // only drafts are deleted, and these were never finished
    ['deleted_time = ?', input.deleteInclude || reported ? undefined : 0],
    ['user_id = ?', given(input.userId)],
    each('status', namesOf(invoiceStatus, given(input.status))),
    each('gateway_id', given(input.gatewayIds)),
    ['currency = ?', given(input.currency)],
    // a number that is larger than the column fits nothing
    ['biz_type = ?::bigint', given(input.type)],
    ['total_amount >= ?', given(input.amountStart)],
    ['total_amount <= ?', given(input.amountEnd)],
    ['create_time >= ?', given(input.createTimeStart)],
    ['create_time <= ?', given(input.createTimeEnd)],
    ['finish_time > ?', reported ? 0 : undefined],
    ['finish_time >= ?', from],
    // nothing is finished before it is made: this tells the planner that what fits is not among what was made later
    ['finish_time <= ? and create_time <= ?', to],
    searched(given(input.searchKey)),
  ];
}

/** What is looked for by its id, by its number or by the beginning of its name; each has an index. */
function searched(key: string | undefined): Condition {
  if (key === undefined) return ['', undefined];
  if (/^in_[0-9a-z]{26}$/.test(key)) return ['invoice_id = ?', key];
  if (/^\d+$/.test(key)) return [`number <> '' and number = ?`, key];
  return [`invoice_name <> '' and invoice_name >= ?::text and invoice_name < ?::text || chr(1114111)`, key];
}

/** The names of codes; a code that is none names nothing. */
export const namesOf = (table: CodeTable, codes: readonly number[] | undefined): string[] | undefined =>
  codes && Object.keys(table).filter(name => codes.includes(table[name] ?? Number.NaN));
