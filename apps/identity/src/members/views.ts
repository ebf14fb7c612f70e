import * as contract from '@recur/contracts';
import type { Reader } from '@recur/platform';
import { type LiveSession, liveSessions, type MemberSession, memberSessions } from '../member-sessions/tables.js';
import { type OauthAccountRow, oauthAccounts } from '../sign-in/tables.js';
import { grantIn, rolesOf } from './grants.js';
import type { Member } from './tables.js';
import { type Role } from './tables.js';

/** The viewing time and session, and a session opened in this transaction, which cannot be read back yet. */
interface Viewing {
  at: number;
  sid: string;
  opened?: MemberSession;
}

/** Members as the API shows them, with roles, permissions, devices and linked identities. */
export async function memberViews(
  reader: Reader,
  members: readonly Member[],
  { at, sid, opened }: Viewing,
): Promise<contract.MerchantMember[]> {
  const ids = members.map(({ id }) => id);
  const [roles, sessions, live, accounts] = await Promise.all([
    rolesOf(reader, members),
    reader.among(memberSessions, 'memberId', ids),
    reader.among(liveSessions, 'memberId', ids),
    oauthAccountsOf(reader, ids),
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

/** The identities linked to members, in the order of linking. */
async function oauthAccountsOf(reader: Reader, memberIds: readonly number[]): Promise<OauthAccountRow[]> {
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
  provider,
  providerId: subject,
  email,
  emailVerified,
  name,
  image,
});

/** The part of a member that the API and its events have in common. */
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
  id,
  merchantId,
  email,
  firstName,
  lastName,
  mobile,
  isOwner,
  createTime,
  status: contract.memberStatus[member.status],
  totpType: contract.totpType[member.totpType],
});

/** The data of a member's events. */
export const memberEvent = (member: Member): contract.MemberState => ({
  ...memberState(member),
  roleIds: member.roleIds,
});

export const roleView = ({ id, merchantId, createTime, name, permissions }: Role): contract.MerchantRole => ({
  id,
  merchantId,
  createTime,
  role: name,
  permissions,
});

function deviceView(
  { identity, sid, ip, name, loginTime, activeTime, totpTime }: MemberSession,
  viewing: { at: number; sid: string; live: LiveSession | undefined; isOpened: boolean },
): contract.MemberDevice {
  return {
    identity,
    ipAddress: ip,
    name,
    lastLoginTime: loginTime,
    lastTotpVerificationTime: totpTime,
    currentDevice: sid === viewing.sid,
    lastActiveTime: Math.max(activeTime, viewing.live?.activeTime ?? 0),
    status: viewing.isOpened || (viewing.live !== undefined && viewing.live.expireTime > viewing.at),
  };
}

/** A member as log entries and notes refer to it. */
export const memberShort = ({ id, merchantId, email, firstName, lastName, isOwner, createTime }: Member) =>
  ({ id, merchantId, email, firstName, lastName, isOwner, createTime }) satisfies contract.MemberShort;
