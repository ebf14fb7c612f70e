import * as contract from '@recur/contracts';
import { languageOf } from '@recur/kernel';
import type { CreditAccountCopy, GatewayCopy } from '../copies/tables.js';
import { shownCountryName } from '../domain/country.js';
import type { Member } from '../members/tables.js';
import { memberShort } from '../members/views.js';
import type { AdminNote, User } from './tables.js';

const emptyUser = contract.emptyOf(contract.User);
const emptyAccount = contract.emptyOf(contract.UserAccountDetail);

/** A user with the plan name of its shown subscription; '' for none. */
export interface NamedUser extends User {
  planName: string;
}

export function userView(user: NamedUser): contract.User {
  const { id, merchantId, email, externalUserId, firstName, lastName, phone, address, language } = user;
  const { type, billingType, gatewayId, createTime, version } = user;
  const { subscriptionId, subscriptionStatus, recurringAmount } = user;
  return {
    ...emptyUser,
    ...user.profile,
    countryName: shownCountryName(user.profile, languageOf(language)),
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
    subscriptionName: user.planName,
    subscriptionStatus,
    recurringAmount,
    status: contract.userStatus[user.status],
  };
}

/** A user as it sees itself on the hosted pages. */
export const portalUserView = ({ profile, ...user }: User): contract.PortalUser =>
  contract.PortalUser.parse({
    ...emptyUser,
    ...profile,
    countryName: shownCountryName(profile, languageOf(user.language)),
    ...user,
  });

/** A user's view with its gateway, plan and credit accounts, the oldest first. */
export const userAccountView = (
  user: contract.User,
  { planId }: User,
  gateway: GatewayCopy | undefined,
  credits: readonly CreditAccountCopy[],
): contract.UserAccountDetail => ({
  ...emptyAccount,
  ...user,
  gateway: gateway?.data ?? null,
  planId,
  creditAccounts: accountsIn(credits, contract.creditAccountType.main),
  promoCreditAccounts: accountsIn(credits, contract.creditAccountType.promo),
});

const accountsIn = (credits: readonly CreditAccountCopy[], type: number): contract.CreditAccount[] =>
  credits
    .toSorted((a, b) => a.id - b.id)
    .map(({ data }) => data)
    .filter(account => account.type === type);

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
