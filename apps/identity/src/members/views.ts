import * as contract from '@recur/contracts';
import type { Reader } from '@recur/platform';
import { type LiveSession, liveSessions, type MemberSession, memberSessions } from '../member-sessions/tables.js';
import { type OauthAccountRow, oauthAccounts } from '../sign-in/tables.js';
import { grantIn, rolesOf } from './grants.js';
import type { Member } from './tables.js';
import { type Role } from './tables.js';

/** When it is seen, from which session, and the session that is just being opened and so cannot be read yet. */
interface Seen {
  at: number;
  sid: string;
  opened?: MemberSession;
}

/** Members as the API shows them: with their roles, permissions and devices. */
export async function memberViews(
  reader: Reader,
  members: readonly Member[],
  { at, sid, opened }: Seen,
): Promise<contract.MerchantMember[]> {
  const ids = members.map(({ id }) => id);
  const [roles, sessions, live, accounts] = await Promise.all([
    rolesOf(reader, members),
    reader.among(memberSessions, 'memberId', ids),
    reader.among(liveSessions, 'memberId', ids),
    accountsOf(reader, ids),
  ]);
  const liveBySid = new Map(live.map(session => [session.sid, session]));
  return members.map(member => {
    const stored = sessions.filter(({ memberId }) => memberId === member.id);
    const all = opened ? [opened, ...stored.filter(({ identity }) => identity !== opened.identity)] : stored;
    const devices = all
      .sort((one, other) => other.loginTime - one.loginTime || one.identity.localeCompare(other.identity))
      .map(session => deviceView(session, { at, sid, live: liveBySid.get(session.sid), isOpened: session === opened }));
    const granted = contract.permissionsIn(grantIn(roles, member));
    return {
      ...memberState(member),
      isBlankPasswd: member.passwordHash === null,
      currentDeviceIdentity: devices.find(({ currentDevice }) => currentDevice)?.identity ?? '',
      deviceList: devices,
      MemberRoles: member.roleIds.flatMap(id => roles.get(id) ?? []).map(roleView),
      MemberGroupPermission: Object.fromEntries(granted.map(of => [of.group, of])),
      oauthAccounts: accounts.filter(({ memberId }) => memberId === member.id).map(accountView),
    };
  });
}

/** The identities that are linked to members, each one's in the order in which they were. */
async function accountsOf(reader: Reader, memberIds: readonly number[]): Promise<OauthAccountRow[]> {
  const rows = await reader.among(oauthAccounts, 'memberId', memberIds);
  const order = ({ linkTime, issuer, subject }: OauthAccountRow) => `${linkTime} ${issuer} ${subject}`;
  return rows.filter(row => row.clearedTime === 0).sort((one, other) => order(one).localeCompare(order(other)));
}

export const accountView = ({
  provider,
  subject,
  email,
  emailVerified,
  name,
  image,
}: Omit<OauthAccountRow, 'merchantId' | 'memberId' | 'linkTime' | 'clearedTime'>): contract.OauthAccount => ({
  ...{ provider, providerId: subject, email, emailVerified, name, image },
});

/** A member as the API shows it without what belongs to others; and as its events do, with the ids of its roles. */
const memberState = ({
  id,
  merchantId,
  email,
  firstName,
  lastName,
  mobile,
  isOwner,
  createTime,
  ...member
}: Member) => ({
  ...{ id, merchantId, email, firstName, lastName, mobile, isOwner, createTime },
  status: contract.memberStatus[member.status],
  totpType: contract.totpType[member.totpType],
});

/** What the events of a member carry. */
export const memberEvent = (member: Member): contract.MemberState => ({
  ...memberState(member),
  roleIds: member.roleIds,
});

export const roleView = ({ id, merchantId, createTime, name, permissions }: Role): contract.MerchantRole => ({
  ...{ id, merchantId, createTime, role: name, permissions },
});

function deviceView(
  { identity, sid, ip, name, loginTime, activeTime, totpTime }: MemberSession,
  seen: { at: number; sid: string; live: LiveSession | undefined; isOpened: boolean },
): contract.MemberDevice {
  return {
    ...{ identity, ipAddress: ip, name, lastLoginTime: loginTime, lastTotpVerificationTime: totpTime },
    currentDevice: sid === seen.sid,
    lastActiveTime: Math.max(activeTime, seen.live?.activeTime ?? 0),
    status: seen.isOpened || (seen.live !== undefined && seen.live.expireTime > seen.at),
  };
}

/** The member as logs and notes name it. */
export const memberShort = ({ id, merchantId, email, firstName, lastName, isOwner, createTime }: Member) =>
  ({ id, merchantId, email, firstName, lastName, isOwner, createTime }) satisfies contract.MemberShort;
