import type * as contract from '@recur/contracts';
import type { Member } from '../members/tables.js';
import { memberShort } from '../members/views.js';
import type { LogEntry } from './tables.js';

/** An entry as the API shows it; `member` is its actor, where that is a member. */
export function logEntryView(entry: LogEntry, member: Member | undefined): contract.OperationLogEntry {
  const { merchantId, id, createTime, optAccountType, optAccountId, optAccount, optTarget, optContent } = entry;
  const { memberId, userId, planId, invoiceId, subscriptionId, discountCode } = entry;
  return {
    merchantId,
    id,
    createTime,
    optAccountType,
    optAccountId,
    optAccount,
    optTarget,
    optContent,
    memberId,
    userId,
    planId,
    invoiceId,
    subscriptionId,
    discountCode,
    member: member ? memberShort(member) : null,
  };
}
