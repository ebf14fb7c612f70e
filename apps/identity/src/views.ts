import * as contract from '@recur/contracts';
import type { ApiKey, LogEntry, Member, Merchant, User } from './tables.js';
import type { GatewayCopy } from './user-tables.js';

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

/** A user as the API shows it. What billing knows of it (its subscription, its payment method) is empty here. */
export function userView(user: User): contract.User {
  const { id, merchantId, email, externalUserId, firstName, lastName, phone, address, language } = user;
  const { type, billingType, gatewayId, createTime, version } = user;
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
    status: contract.userStatus[user.status],
  };
}

/** A user with what belongs to others. There are no subscriptions and no credit accounts yet. */
export const userAccountView = (user: contract.User, gateway: GatewayCopy | undefined): contract.UserAccountDetail => ({
  ...emptyAccount,
  ...user,
  gateway: gateway?.data ?? null,
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
