import { Controller, Inject } from '@nestjs/common';
import {
  clearMemberTotp,
  confirmTotpKey,
  deleteTotpDevice,
  type In,
  resetTotp,
  totpKey,
  totpType,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, CONFIG, Db, Handle, Keyring, type Tx } from '@recur/platform';
import type { Config } from '../config.js';
import { MemberSessions } from '../member-sessions/member-sessions.js';
import { memberSessions } from '../member-sessions/tables.js';
import { memberAggregate } from '../members/aggregates.js';
import type { Member } from '../members/tables.js';
import { isLocked, passed } from './domain/totp-tries.js';
import { ownRow, ownView } from './oauth-accounts.js';
import { type MemberTotp, memberTotps } from './tables.js';
import { newRecoveryCodes, newTotpKey, stepOfCode, totpUrl } from './totp-codes.js';
import { lockTotp, TwoFactor, totpContext } from './two-factor.js';

/** Two-factor codes of members: enabled with a first code, disabled with another, required at each sign-in. */
@Controller()
export class Totps {
  constructor(
    private readonly db: Db,
    private readonly keyring: Keyring,
    private readonly sessions: MemberSessions,
    private readonly twoFactor: TwoFactor,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Handle(totpKey)
  ask({ totpType: pendingType }: In<typeof totpKey>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const member = await ownRow(tx, caller);
      if (member.totpType !== 'off') throw new Rejected('totp_on');
      const key = newTotpKey();
      const row = (await lockTotp(tx, member)) ?? newTotp(member);
      tx.save(memberTotps, { ...row, pendingKey: this.keyring.seal(key, totpContext(row)), pendingType });
      tx.log(`Member(${member.id})`, 'AskTotpKey');
      return { totpType: pendingType, totpKey: key, totpUrl: totpUrl(key, this.config.TOKEN_ISSUER, member.email) };
    });
  }

  @Handle(confirmTotpKey)
  confirm({ totpCode }: In<typeof confirmTotpKey>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const member = await ownRow(tx, caller);
      if (member.totpType !== 'off') throw new Rejected('totp_on');
      const row = await lockTotp(tx, member);
      if (row === undefined || row.pendingKey === '') throw new Rejected('totp_not_asked');
      if (isLocked(row, this.twoFactor.now())) throw new Rejected('totp_locked');
      const step = stepOfCode(
        this.keyring.open(row.pendingKey, totpContext(row)),
        totpCode.trim(),
        this.twoFactor.now(),
      );
      if (step === undefined) throw this.twoFactor.wrong(tx, row);
      const { codes: recoveryCodes, hashes } = newRecoveryCodes();
      const on = { ...row, sealedKey: row.pendingKey, pendingKey: '', recoveryHashes: hashes };
      tx.save(memberTotps, passed(on, step));
      const next = { ...member, totpType: typeNamed(row.pendingType) };
      tx.step(memberAggregate, next, 'member.updated', { log: 'TotpOn' });
      return { merchantMember: await ownView(tx, this.sessions, caller, next), recoveryCodes };
    });
  }

  @Handle(resetTotp)
  reset({ totpCode }: In<typeof resetTotp>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const member = await ownRow(tx, caller);
      await this.twoFactor.take(tx, member, totpCode);
      const next = await this.off(tx, member);
      return { merchantMember: await ownView(tx, this.sessions, caller, next) };
    });
  }

  @Handle(clearMemberTotp)
  clear({ memberId }: In<typeof clearMemberTotp>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { actor } = caller;
      if (actor.kind === 'member' && Number(actor.id) === memberId) throw new Rejected('totp_protected');
      const member = await tx.lock(memberAggregate, memberId, 'member_not_found');
      if (actor.kind === 'member' && member.isOwner) throw new Rejected('totp_protected');
      await this.off(tx, member);
      return {};
    });
  }

  @Handle(deleteTotpDevice)
  forget({ deviceIdentity: identity }: In<typeof deleteTotpDevice>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const member = await ownRow(tx, caller);
      const { id: memberId, merchantId } = member;
      const device = await tx.find(memberSessions, { memberId, identity });
      if (device === undefined) throw new Rejected('device_not_found');
      await this.sessions.end(tx, memberId, device.sid);
      await tx.run('delete from member_sessions where merchant_id = $1 and member_id = $2 and identity = $3', [
        merchantId,
        memberId,
        identity,
      ]);
      tx.log(`Member(${memberId})`, 'DeleteDevice');
      return { merchantMember: await ownView(tx, this.sessions, caller, member) };
    });
  }

  /** Turns two-factor off for a locked member, and logs it if it was on. */
  private async off(tx: Tx, member: Member): Promise<Member> {
    if (member.totpType === 'off') return member;
    const next: Member = { ...member, totpType: 'off' };
    await lockTotp(tx, member);
    tx.save(memberTotps, newTotp(member));
    tx.step(memberAggregate, next, 'member.updated', { log: 'TotpOff' });
    return next;
  }
}

const newTotp = ({ merchantId, id: memberId }: Member): MemberTotp => ({
  merchantId,
  memberId,
  sealedKey: '',
  pendingKey: '',
  pendingType: 0,
  recoveryHashes: [],
  lastStep: 0,
  failures: 0,
  lockedUntil: 0,
});

const typeNamed = (code: number) =>
  (Object.keys(totpType) as (keyof typeof totpType)[]).find(name => totpType[name] === code) ?? 'other';
