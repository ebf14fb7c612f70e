import { type ExportRow, type In, nameOfCode, type operationLogList, optAccountType } from '@recur/contracts';
import type { Caller, Db, SliceAt, Sliced } from '@recur/platform';
import { membersById } from '../members/member-rows.js';
import { entriesWhere } from './operation-log.js';
import { operationLogs } from './tables.js';

/** The next entries of the operation log, newest first, as rows of an export. */
export async function exportedEntries(
  db: Db,
  caller: Caller,
  input: In<typeof operationLogList>,
  at: SliceAt,
): Promise<Sliced<ExportRow<'OperationLogExport'>>> {
  const { where } = await entriesWhere(db, caller, input);
  return db.read(caller, async reader => {
    const { rows, next } = await reader.slice({ from: operationLogs, where, by: ['createTime', 'id'], ...at });
    const members = await membersById(reader, rows);
    const shown = rows.map(row => ({
      Id: row.id,
      CreateTime: row.createTime,
      Account: row.optAccount,
      AccountType: nameOfCode(optAccountType, row.optAccountType),
      Target: row.optTarget,
      Content: row.optContent,
      MemberId: row.memberId,
      MemberEmail: members.get(row.memberId)?.email ?? '',
      UserId: row.userId,
      PlanId: row.planId,
      InvoiceId: row.invoiceId,
      SubscriptionId: row.subscriptionId,
      DiscountCode: row.discountCode,
    }));
    return { rows: shown, next };
  });
}
