import { hash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { MemberAccess, MerchantMember } from '@recur/contracts';
import { CLOCK, type Clock, CONFIG, type Reader, type Tx } from '@recur/platform';
import { publishCallers } from '../callers/callers-changed.js';
import { type Signer, SigningKeys } from '../callers/signing-keys.js';
import { signToken } from '../callers/tokens.js';
import type { Config } from '../config.js';
import { grantIn, type RolesById, rolesOf } from '../members/grants.js';
import type { Member } from '../members/tables.js';
import { memberViews } from '../members/views.js';
import { type LiveSession, liveSessions, memberSessions } from './tables.js';

const sidBytes = 16;
const memberTokenSeconds = 86_400;
const idleSeconds = 28_800;

/** The kind of work that ends a member's idle and expired sessions; its key is the member's id. */
export const sessionEnd = 'session.end';
/** Per member. */
const deviceLimits = {
  /** Live sessions; one more ends the least recently used. */
  live: 20,
  /** Remembered devices without a session. */
  former: 20,
} as const;

/** The device of a sign-in: name of the user agent, and address. */
export interface Device {
  name: string;
  ip: string;
}

interface Opening {
  device: Device;
  totpVerified: boolean;
  /** Ends all other sessions of the member. */
  alone?: boolean;
}

export interface OpenedSession {
  merchantMember: MerchantMember;
  token: string;
}

/** Sessions of members, one per device, with tokens that gateways verify without a request to identity. */
@Injectable()
export class MemberSessions {
  constructor(
    private readonly signingKeys: SigningKeys,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Opens a session for a locked member. The device's former session ends, and with `alone` all others too. Returns the only copy of the token; the caller writes the log entry.
   */
  async open(tx: Tx, member: Member, { device, totpVerified, alone = false }: Opening): Promise<OpenedSession> {
    const at = this.seconds();
    const { merchantId, id: memberId, email } = member;
    const identity = identityOf(device);
    const [known, live, grant] = await Promise.all([
      tx.lockIfAny(memberSessions, { memberId, identity }),
      liveOf(tx, memberId),
      rolesOf(tx, [member]).then(roles => grantIn(roles, member)),
    ]);
    const sid = randomBytes(sidBytes).toString('base64url');
    const kept = live
      .filter(session => !alone && session.expireTime > at && session.sid !== known?.sid)
      .slice(0, deviceLimits.live - 1);
    const ended = live.filter(session => !kept.includes(session));
    await this.forget(tx, memberId, ended, identity);
    const session = {
      merchantId,
      memberId,
      identity,
      sid,
      name: device.name,
      ip: device.ip,
      loginTime: at,
      activeTime: at,
      totpTime: totpVerified ? at : (known?.totpTime ?? 0),
      endedTime: 0,
    };
    tx.save(memberSessions, session);
    const opened = {
      sid,
      merchantId,
      memberId,
      email,
      granted: grant,
      activeTime: at,
      expireTime: at + memberTokenSeconds,
    };
    tx.save(liveSessions, opened);
    scheduleEnd(tx, memberId, [opened, ...kept]);
    const [signer, [merchantMember]] = await Promise.all([
      this.signingKeys.signer(tx),
      memberViews(tx, [member], { at, sid, opened: session }),
    ]);
    const version = await publishCallers(tx, { members: [accessOf(member, [opened, ...kept])] });
    return {
      merchantMember: merchantMember as MerchantMember,
      token: await this.token(signer, opened, version),
    };
  }

  /** The device of a session; a blank one if it is no longer known. */
  async deviceOf(reader: Reader, memberId: number, sid = ''): Promise<Device> {
    const { name = '', ip = '' } = (await reader.find(memberSessions, { memberId, sid })) ?? {};
    return { name, ip };
  }

  /** Ends one session of a locked member; gateways refuse its tokens from then on. False if there is none such. */
  async end(tx: Tx, memberId: number, sid: string): Promise<boolean> {
    return (await this.endThose(tx, memberId, session => session.sid === sid)) > 0;
  }

  /** Ends all sessions of a locked member; returns how many. */
  endAllOf(tx: Tx, memberId: number): Promise<number> {
    return this.endThose(tx, memberId, () => true);
  }

  /** Ends the sessions of a locked member that `ends` selects; returns how many. */
  async endThose(tx: Tx, memberId: number, ends: (session: LiveSession) => boolean): Promise<number> {
    const live = await liveOf(tx, memberId);
    const ended = live.filter(ends);
    if (ended.length === 0) return 0;
    await this.forget(tx, memberId, ended);
    const left = live.filter(session => !ended.includes(session));
    await publishCallers(tx, { members: [accessOf({ id: memberId, merchantId: tx.merchantId }, left)] });
    return ended.length;
  }

  /**
   * Ends the sessions of a locked member that were idle for 8 hours or whose tokens have expired, and schedules the next
   * time to look; returns how many. Reports of use do not move that time: the sessions are read again when it comes.
   */
  async endIdle(tx: Tx, memberId: number): Promise<number> {
    const at = this.seconds();
    const ended = await this.endThose(tx, memberId, session => liveUntil(session) <= at);
    const left = await tx.all(liveSessions, { merchantId: tx.merchantId, memberId });
    if (left.length > 0) scheduleEnd(tx, memberId, left);
    return ended;
  }

  /** Publishes changed grants of the signed-in among these locked members; `roles` are in their new state. */
  async regrant(tx: Tx, members: readonly Member[], roles: RolesById): Promise<void> {
    const ids = members.map(({ id }) => id);
    const live = await tx.among(liveSessions, 'memberId', ids);
    const byMember = new Map<number, LiveSession[]>(ids.map(id => [id, []]));
    for (const session of live) byMember.get(session.memberId)?.push(session);
    const changed = members.flatMap(member => {
      const granted = grantIn(roles, member);
      const held = byMember.get(member.id) ?? [];
      const isSame = held.every(session => session.granted === granted);
      return isSame
        ? []
        : [
            accessOf(
              member,
              held.map(session => ({ ...session, granted })),
            ),
          ];
    });
    if (changed.length === 0) return;
    const grants = changed.map(({ grant }) => grant);
    await tx.run(regrantText, [tx.merchantId, changed.map(({ id }) => id), grants]);
    await publishCallers(tx, { members: changed });
  }

  /** Members as the API shows them; `sid` is the calling session. */
  views(reader: Reader, members: readonly Member[], sid = ''): Promise<MerchantMember[]> {
    return memberViews(reader, members, { at: this.seconds(), sid });
  }

  /** Unix seconds of the machine, not of the merchant's clock: gateways compare them with their own. */
  seconds(): number {
    return Math.floor(this.clock.wall() / 1000);
  }

  /** Deletes live sessions and prunes former devices, except the named one. */
  private async forget(tx: Tx, memberId: number, ended: readonly LiveSession[], except = ''): Promise<void> {
    const sids = ended.map(({ sid }) => sid);
    if (sids.length > 0) await tx.run(forgetText, [tx.merchantId, memberId, sids, this.seconds(), except]);
  }

  /** Signs the session's token; gateways at this version of callers, or a later one, know the session. */
  private token(signer: Signer, session: LiveSession, version: number): Promise<string> {
    const { sid, merchantId: merchant, memberId, granted, activeTime: iat, expireTime: exp } = session;
    const claims = { sub: String(memberId), merchant, sid, perm: digestOf(granted), callers: version, iat, exp };
    return signToken(signer, this.config, 'member+jwt', claims);
  }
}

/** Ends the sessions $3; of the devices without a session, the most recently used stay. */
const forgetText = `with gone as (
    delete from live_sessions where merchant_id = $1 and member_id = $2 and sid = any($3) returning sid, active_time),
  former as (
    select identity from member_sessions where merchant_id = $1 and member_id = $2 and ended_time <> 0
    order by ended_time desc, identity offset ${deviceLimits.former}),
  removed as (
    delete from member_sessions
    where merchant_id = $1 and member_id = $2 and identity <> $5 and identity in (select identity from former))
  update member_sessions s set ended_time = $4, active_time = gone.active_time from gone
  where s.merchant_id = $1 and s.member_id = $2 and s.sid = gone.sid`;

const regrantText = `update live_sessions s set granted = changed.granted
  from unnest($2::bigint[], $3::text[]) changed (member_id, granted)
  where s.merchant_id = $1 and s.member_id = changed.member_id`;

/** Unix second at which a session ends unless it is used before. */
const liveUntil = ({ activeTime, expireTime }: LiveSession) => Math.min(activeTime + idleSeconds, expireTime);

function scheduleEnd(tx: Tx, memberId: number, live: readonly LiveSession[]): void {
  tx.schedule(sessionEnd, String(memberId), Math.min(...live.map(liveUntil)));
}

/** Locks and returns the member's live sessions, most recently used first. The member is locked. */
async function liveOf(tx: Tx, memberId: number): Promise<LiveSession[]> {
  const live = await tx.all(liveSessions, { merchantId: tx.merchantId, memberId }, 'order by sid for update');
  return live.sort((one, other) => other.activeTime - one.activeTime);
}

/** A member as published to gateways. */
function accessOf({ id, merchantId }: Pick<Member, 'id' | 'merchantId'>, live: readonly LiveSession[]): MemberAccess {
  const { email = '', granted: grant = '' } = live[0] ?? {};
  return { id, merchantId, email, grant, sessions: live.map(({ sid, expireTime }) => ({ sid, expireTime })) };
}

const digestOf = (text: string) => hash('sha256', text, 'base64url');
const identityOf = ({ name, ip }: Device) => digestOf(JSON.stringify([name, ip]));
