import { integer, table, text } from '@recur/platform';

/**
 * A device from which a member signs in, and its latest session there. Times are on the machine's clock, not the
 * merchant's: gateways compare them with their own.
 */
export interface MemberSession {
  merchantId: number;
  memberId: number;
  /** Digest of the device's name and address, which identifies it. */
  identity: string;
  /** The latest session. */
  sid: string;
  name: string;
  ip: string;
  loginTime: number;
  /** Last activity, as of the end of the session; see LiveSession while it is live. */
  activeTime: number;
  /** Time of the last accepted two-factor code on this device; 0 for never. */
  totpTime: number;
  /** 0 while live. */
  endedTime: number;
}

/** A live session, across merchants: the source of gateways' snapshots. */
export interface LiveSession {
  sid: string;
  merchantId: number;
  memberId: number;
  email: string;
  /** The member's grant as published to gateways (see contracts' permissions.ts). */
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
  indices: { live_sessions_member: { on: ['merchantId', 'memberId'] } },
  infrastructure: true,
});
