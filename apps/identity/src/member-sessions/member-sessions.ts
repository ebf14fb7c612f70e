import { hash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { MemberAccess, MerchantMember } from '@recur/contracts';
import { CLOCK, type Clock, CONFIG, type Reader, type Tx } from '@recur/platform';
import { Callers, type Signer, tellCallers } from '../callers/callers.js';
import { signToken } from '../callers/tokens.js';
import type { Config } from '../config.js';
import { grantIn, type Roles, rolesOf } from '../members/grants.js';
import type { Member } from '../members/tables.js';
import { memberViews } from '../members/views.js';
import { type LiveSession, liveSessions, memberSessions } from './tables.js';

const limits = {
  sidBytes: 16,
  tokenSeconds: 86_400,
  /** Of one member. From one device more, the session that was used least lately ends. */
  heldAtOnce: 20,
  /** How many devices are remembered that no session is on. */
  formerDevices: 20,
} as const;

/** Where somebody signs in from: the name of its user agent and its address. */
export interface Device {
  name: string;
  ip: string;
}

/** The sessions of members: one for each device, with a token that gateways verify by themselves. */
@Injectable()
export class MemberSessions {
  constructor(
    private readonly callers: Callers,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Signs a member in, whose row is locked and not changed since: a device that has a session keeps it, with a new
   * token; any other gets one. The command logs it. The token is kept nowhere.
   */
  async open(
    tx: Tx,
    member: Member,
    { device, totpVerified }: { device: Device; totpVerified: boolean },
  ): Promise<{ merchantMember: MerchantMember; token: string }> {
    const at = this.seconds();
    const { merchantId, id: memberId, email } = member;
    const identity = identityOf(device);
    const [known, live, grant] = await Promise.all([
      tx.lockIfAny(memberSessions, { memberId, identity }),
      liveOf(tx, memberId),
      rolesOf(tx, [member]).then(roles => grantIn(roles, member)),
    ]);
    const held = live.filter(({ expireTime }) => expireTime > at);
    const same = held.find(session => session.sid === known?.sid);
    if (same) await tx.lockIfAny(liveSessions, { sid: same.sid });
    const sid = same?.sid ?? randomBytes(limits.sidBytes).toString('base64url');
    const others = held.filter(session => session !== same);
    const over = [...live.filter(session => !held.includes(session)), ...others.splice(limits.heldAtOnce - 1)];
    await this.forget(tx, memberId, over, identity);
    const session = {
      ...{ merchantId, memberId, identity, sid, name: device.name, ip: device.ip, loginTime: at, activeTime: at },
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
      expireTime: at + limits.tokenSeconds,
    };
    tx.save(liveSessions, opened);
    const [signer, [merchantMember]] = await Promise.all([
      this.callers.signer(tx),
      memberViews(tx, [member], { at, sid, opened: session }),
    ]);
    const version = await tellCallers(tx, { members: [accessOf(member, [opened, ...others])] });
    return {
      merchantMember: merchantMember as MerchantMember,
      token: await this.token(signer, opened, version),
    };
  }

  /** Ends one session of a member whose row is locked; gateways refuse its tokens from then on. False: it had none. */
  async end(tx: Tx, memberId: number, sid: string): Promise<boolean> {
    return (await this.endThose(tx, memberId, session => session.sid === sid)) > 0;
  }

  /** Ends all sessions of a member whose row is locked, but the one that is given; answers how many. */
  endAllOf(tx: Tx, memberId: number, but = ''): Promise<number> {
    return this.endThose(tx, memberId, ({ sid }) => sid !== but);
  }

  /** Ends those of a member's sessions that `ends` says; its row is locked. */
  async endThose(tx: Tx, memberId: number, ends: (session: LiveSession) => boolean): Promise<number> {
    const live = await liveOf(tx, memberId);
    const ended = live.filter(ends);
    if (ended.length === 0) return 0;
    await this.forget(tx, memberId, ended);
    const left = live.filter(session => !ended.includes(session));
    await tellCallers(tx, { members: [accessOf({ id: memberId, merchantId: tx.merchantId }, left)] });
    return ended.length;
  }

  /**
   * What members may do has changed: tells gateways, for those of them who are signed in. Their rows are locked, and
   * `roles` are as they will be.
   */
  async regrant(tx: Tx, members: readonly Member[], roles: Roles): Promise<void> {
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
    await tellCallers(tx, { members: changed });
  }

  /** Members as the API shows them; `sid` is the session that asks. */
  views(reader: Reader, members: readonly Member[], sid = ''): Promise<MerchantMember[]> {
    return memberViews(reader, members, { at: this.seconds(), sid });
  }

  /** Unix seconds of the machine, which gateways compare with theirs. */
  seconds(): number {
    return Math.floor(this.clock.wall() / 1000);
  }

  /** Of the devices that are used no more, the one that is named is kept. */
  private async forget(tx: Tx, memberId: number, ended: readonly LiveSession[], but = ''): Promise<void> {
    const sids = ended.map(({ sid }) => sid);
    if (sids.length > 0) await tx.run(forgetText, [tx.merchantId, memberId, sids, this.seconds(), but]);
  }

  /** Gateways that know of callers as of this version, or a later one, know the session. */
  private token(signer: Signer, session: LiveSession, version: number): Promise<string> {
    const { sid, merchantId: merchant, memberId, granted, activeTime: iat, expireTime: exp } = session;
    const claims = { sub: String(memberId), merchant, sid, perm: digestOf(granted), callers: version, iat, exp };
    return signToken(signer, this.config, 'member+jwt', claims);
  }
}

/** Of the member's devices without a session those stay that were used last. */
const forgetText = `with gone as (
    delete from live_sessions where merchant_id = $1 and member_id = $2 and sid = any($3) returning sid, active_time),
  former as (
    select identity from member_sessions where merchant_id = $1 and member_id = $2 and ended_time <> 0
    order by ended_time desc, identity offset ${limits.formerDevices}),
  removed as (
    delete from member_sessions
    where merchant_id = $1 and member_id = $2 and identity <> $5 and identity in (select identity from former))
  update member_sessions s set ended_time = $4, active_time = gone.active_time from gone
  where s.merchant_id = $1 and s.member_id = $2 and s.sid = gone.sid`;

const regrantText = `update live_sessions s set granted = changed.granted
  from unnest($2::bigint[], $3::text[]) changed (member_id, granted)
  where s.merchant_id = $1 and s.member_id = changed.member_id`;

/** The member's sessions that hold, those used last first. Who changes them has locked the member. */
async function liveOf(tx: Tx, memberId: number): Promise<LiveSession[]> {
  const live = await tx.all(liveSessions, { merchantId: tx.merchantId, memberId }, 'order by sid for update');
  return live.sort((one, other) => other.activeTime - one.activeTime);
}

/** All that gateways are to know of a member. */
function accessOf({ id, merchantId }: Pick<Member, 'id' | 'merchantId'>, live: readonly LiveSession[]): MemberAccess {
  const { email = '', granted: grant = '' } = live[0] ?? {};
  return { id, merchantId, email, grant, sessions: live.map(({ sid, expireTime }) => ({ sid, expireTime })) };
}

const digestOf = (text: string) => hash('sha256', text, 'base64url');
const identityOf = ({ name, ip }: Device) => digestOf(JSON.stringify([name, ip]));
