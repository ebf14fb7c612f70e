import { Controller } from '@nestjs/common';
import { type In, operationLogList } from '@recur/contracts';
import { type Caller, type Condition, Db, given, Handle, type Known, type Reader } from '@recur/platform';
import { membersById } from '../members/member-rows.js';
import { operationLogs } from './tables.js';
import { logEntryView } from './views.js';

/** Lists the operation log. */
@Controller()
export class OperationLog {
  constructor(private readonly db: Db) {}

  @Handle(operationLogList)
  async list({ page, count, ...filters }: In<typeof operationLogList>, caller: Caller) {
    const { acting, concerned, exactly, where } = await entriesWhere(this.db, caller, filters);
    if (acting?.length === 0 || concerned?.length === 0) return { merchantOperationLogs: [], total: 0 };
    // tallies exist per member and per user, for no other filter and not for both at once
    const uncounted = exactly.some(([, value]) => value !== undefined) || (acting && concerned);
    return this.db.read(caller, async reader => {
      const order = 'create_time desc, id desc';
      const known = uncounted ? undefined : await knownOf(reader, acting, concerned);
      const sparse = acting !== undefined || concerned !== undefined;
      const { rows, total } = await reader.page({ from: operationLogs, where, order, page, count, sparse, known });
      const members = await membersById(reader, rows);
      return { merchantOperationLogs: rows.map(row => logEntryView(row, members.get(row.memberId))), total };
    });
  }
}

type LogIdsFilter = readonly number[] | undefined;
type Filters = Omit<In<typeof operationLogList>, 'page' | 'count'>;

/** The conditions of the list, and the members and users that they are about; undefined where they are about all. */
export async function entriesWhere(db: Db, caller: Caller, filters: Filters) {
  const [acting, concerned] = await Promise.all([
    db.search(caller, 'members', [
      { column: 'first_name', field: 'memberFirstName', part: filters.memberFirstName },
      { column: 'last_name', field: 'memberLastName', part: filters.memberLastName },
      { column: 'email', field: 'memberEmail', part: filters.memberEmail },
    ]),
    db.search(caller, 'users', [
      { column: 'first_name', field: 'firstName', part: filters.firstName },
      { column: 'last_name', field: 'lastName', part: filters.lastName },
      { column: 'email', field: 'email', part: filters.email },
    ]),
  ]);
  const exactly: Condition[] = [
    ['subscription_id = ?', given(filters.subscriptionId)],
    ['invoice_id = ?', given(filters.invoiceId)],
    ['plan_id = ?', given(filters.planId)],
    ['discount_code = ?', given(filters.discountCode)],
  ];
  const where = [among('member_id', acting), among('user_id', concerned), ...exactly];
  return { acting, concerned, exactly, where };
}

const countText = `select n, (select coalesce(sum(n), 0) from operation_log_tallies
    where merchant_id = $1 and kind = $2 and id = any($3::bigint[])) as fitting
  from operation_log_tallies where merchant_id = $1 and kind = 'all'`;

/** The number of entries of these members, or of these users, or of all, from the tallies. */
async function knownOf(reader: Reader, acting: LogIdsFilter, concerned: LogIdsFilter): Promise<Known> {
  const ids = acting ?? concerned ?? [0];
  const kind = acting ? 'member' : concerned ? 'user' : 'all';
  const [row] = await reader.query(countText, [reader.merchantId, kind, `{${ids}}`]);
  return { fitting: Number(row?.fitting ?? 0), among: Number(row?.n ?? 0) };
}

/**
 * A condition on ids. A single id is an equality, so that the index yields the order. For several, the first part matches
 * the partial index, and the array is passed as PostgreSQL text: the driver is slow on arrays of thousands.
 */
const among = (column: string, ids: LogIdsFilter): Condition =>
  ids?.length === 1 ? [`${column} = ?`, ids[0]] : [`${column} <> 0 and ${column} = any(?)`, ids && `{${ids}}`];
