import { integer, table, text } from '@recur/platform';

/**
 * A device from which a member signs in, and its latest session there. Times are of the machine's clock, not the
 * merchant's: gateways compare with theirs.
 */
export interface MemberSession {
  merchantId: number;
  memberId: number;
  /** The device: a digest of its name and address, so that it is known when it comes again. */
  identity: string;
  /** The session: another one each time that the device signs in anew. */
  sid: string;
  name: string;
  ip: string;
  loginTime: number;
  /** As it was when the session ended; while it holds, see LiveSession. */
  activeTime: number;
  /** When a two-factor code was last accepted there; 0: never. */
  totpTime: number;
  /** 0 while it holds. */
  endedTime: number;
}

/** A session that holds: what gateways are told of it, and what a worker finds the idle ones by, across merchants. */
export interface LiveSession {
  sid: string;
  merchantId: number;
  memberId: number;
  email: string;
  /** What its member's roles permit, as gateways know it (see contracts' permissions.ts). */
  granted: string;
  activeTime: number;
  expireTime: number;
}

export const memberSessions = table<MemberSession>('member_sessions', {
  key: ['merchantId', 'memberId', 'identity'],
  columns: {
    merchantId: integer(),
    memberId: integer(),
    identity: text(),
    sid: text(),
    name: text(),
    ip: text(),
    loginTime: integer(),
    activeTime: integer(),
    totpTime: integer(),
    endedTime: integer(),
  },
});

export const liveSessions = table<LiveSession>('live_sessions', {
  key: ['sid'],
  columns: {
    sid: text(),
    merchantId: integer(),
    memberId: integer(),
    email: text(),
    granted: text(),
    activeTime: integer(),
    expireTime: integer(),
  },
  indices: {
    live_sessions_member: { on: ['merchantId', 'memberId'] },
    live_sessions_idle: { on: ['activeTime'] },
    live_sessions_expire: { on: ['expireTime'] },
  },
  infrastructure: true,
});
