import * as contract from '@recur/contracts';
import type { LogEntry } from '../operation-log/tables.js';
import type { ApiKey, Member, Merchant, User } from '../tables.js';
import type { AdminNote, GatewayCopy, PlanCopy } from './tables.js';

const emptyMerchant = contract.emptyOf(contract.InvoiceMerchant);
const emptyUser = contract.emptyOf(contract.User);
const emptyAccount = contract.emptyOf(contract.UserAccountDetail);

export function merchantView({ merchantId, name, createTime, profile }: Merchant): contract.InvoiceMerchant {
  const { defaultCurrency: _, ...told } = profile;
  return { ...emptyMerchant, ...told, id: merchantId, name, createTime };
}

export const apiKeyView = ({ id, merchantId, jtiHash, createTime, revokedTime }: ApiKey): contract.ApiKeyState => ({
  id,
  merchantId,
  jtiHash,
  createTime,
  revokedTime,
});

/** A user as the API shows it; `planName` is that of the subscription which it shows, where that is known. */
export function userView(user: User, planName = ''): contract.User {
  const { id, merchantId, email, externalUserId, firstName, lastName, phone, address, language } = user;
  const { type, billingType, gatewayId, createTime, version } = user;
  const { subscriptionId, subscriptionStatus, recurringAmount } = user;
  return {
    ...emptyUser,
    ...user.profile,
    id,
    merchantId,
    email,
    externalUserId,
    firstName,
    lastName,
    phone,
    address,
    language,
    type,
    billingType,
    gatewayId,
    createTime,
    version,
    subscriptionId,
    subscriptionName: planName,
    subscriptionStatus,
    recurringAmount,
    status: contract.userStatus[user.status],
  };
}

/** A user with what belongs to others. There are no credit accounts yet. */
export const userAccountView = (
  user: User,
  gateway: GatewayCopy | undefined,
  plan: PlanCopy | undefined,
): contract.UserAccountDetail => ({
  ...emptyAccount,
  ...userView(user, plan?.planName),
  gateway: gateway?.data ?? null,
  planId: user.planId,
});

/** A note as the API shows it; `member` is who wrote it. */
export const adminNoteView = (
  { id, createTime, memberId, userId, note }: AdminNote,
  member: Member | undefined,
  userAccount: contract.User,
): contract.UserAdminNote => ({
  id,
  createTime,
  merchantMemberId: memberId,
  userId,
  note,
  merchantMember: member ? memberShort(member) : null,
  userAccount,
});

/** An entry as the API shows it; `member` is who did it, when it was one. */
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

const memberShort = ({ id, merchantId, email, firstName, lastName, isOwner, createTime }: Member) =>
  ({ id, merchantId, email, firstName, lastName, isOwner, createTime }) satisfies contract.MemberShort;
