import * as contract from '@recur/contracts';
import type { GatewayCopy, PlanCopy } from '../copies/tables.js';
import type { Member } from '../members/tables.js';
import { memberShort } from '../members/views.js';
import type { AdminNote, User } from './tables.js';

const emptyUser = contract.emptyOf(contract.User);
const emptyAccount = contract.emptyOf(contract.UserAccountDetail);

/** A user as the API shows it; `planName` is the plan name of its shown subscription, if known. */
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

/** A user with its gateway and plan. Credit accounts do not exist yet. */
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

/** A note as the API shows it; `member` is its author. */
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
