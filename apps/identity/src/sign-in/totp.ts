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
import {
  type Caller,
  CLOCK,
  type Clock,
  CONFIG,
  CommittedRejection,
  Db,
  Handle,
  Keyring,
  type Tx,
} from '@recur/platform';
import type { Config } from '../config.js';
import { MemberSessions } from '../member-sessions/member-sessions.js';
import { memberSessions } from '../member-sessions/tables.js';
import { updateMember } from '../members/member-rows.js';
import { type Member, members } from '../members/tables.js';
import { failed, isFresh, isLocked, passed } from './domain/totp-tries.js';
import { ownRow, ownView } from './oauth-accounts.js';
import { type MemberTotp, memberTotps } from './tables.js';
import { hashOfRecoveryCode, newRecoveryCodes, newTotpKey, stepOfCode, totpUrl } from './totp-codes.js';

/** Two-factor codes of members: enabled with a first code, disabled with another, required at each sign-in. */
@Controller()
export class Totps {
  constructor(
    private readonly db: Db,
    private readonly keyring: Keyring,
    private readonly sessions: MemberSessions,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Handle(totpKey)
  ask({ totpType: pendingType }: In<typeof totpKey>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const member = await ownRow(tx, caller);
      if (member.totpType !== 'off') throw new Rejected('totp_on');
      const key = newTotpKey();
      const row = (await this.row(tx, member)) ?? blank(member);
      tx.save(memberTotps, { ...row, pendingKey: this.keyring.seal(key, at(row)), pendingType });
      tx.log(`Member(${member.id})`, 'AskTotpKey');
      return { totpType: pendingType, totpKey: key, totpUrl: totpUrl(key, this.config.TOKEN_ISSUER, member.email) };
    });
  }

  @Handle(confirmTotpKey)
  confirm({ totpCode }: In<typeof confirmTotpKey>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const member = await ownRow(tx, caller);
      if (member.totpType !== 'off') throw new Rejected('totp_on');
      const row = await this.row(tx, member);
      if (row === undefined || row.pendingKey === '') throw new Rejected('totp_not_asked');
      if (isLocked(row, this.now())) throw new Rejected('totp_locked');
      const step = stepOfCode(this.keyring.open(row.pendingKey, at(row)), totpCode.trim(), this.now());
      if (step === undefined) throw this.wrong(tx, row);
      const { codes: recoveryCodes, hashes } = newRecoveryCodes();
      const on = { ...row, sealedKey: row.pendingKey, pendingKey: '', recoveryHashes: hashes };
      tx.save(memberTotps, passed(on, step));
      const next = { ...member, totpType: typeNamed(row.pendingType) };
      updateMember(tx, next);
      tx.log(`Member(${member.id})`, 'TotpOn');
      return { merchantMember: await ownView(tx, this.sessions, caller, next), recoveryCodes };
    });
  }

  @Handle(resetTotp)
  reset({ totpCode }: In<typeof resetTotp>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const member = await ownRow(tx, caller);
      await this.take(tx, member, totpCode);
      const next = await this.off(tx, member);
      return { merchantMember: await ownView(tx, this.sessions, caller, next) };
    });
  }

  @Handle(clearMemberTotp)
  clear({ memberId }: In<typeof clearMemberTotp>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { actor } = caller;
      if (actor.kind === 'member' && Number(actor.id) === memberId) throw new Rejected('totp_protected');
      const member = await tx.lock(members, { id: memberId }, 'member_not_found');
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
        ...[merchantId, memberId, identity],
      ]);
      tx.log(`Member(${memberId})`, 'DeleteDevice');
      return { merchantMember: await ownView(tx, this.sessions, caller, member) };
    });
  }

  /**
   * Uses up a code or a recovery code of a locked member. Throws CommittedRejection unless the member may pass: the count
   * of wrong codes is committed. A right but used code is no guess and is not counted.
   */
  async take(tx: Tx, member: Member, code = ''): Promise<void> {
    if (member.totpType === 'off') return;
    const row = await this.row(tx, member);
    if (row === undefined) throw new Error(`member ${member.id} has two-factor on, but no key`);
    const now = this.now();
    if (isLocked(row, now)) throw new CommittedRejection(new Rejected('totp_locked'));
    if (code.trim() === '') throw new CommittedRejection(new Rejected('totp_required'));
    const step = stepOfCode(this.keyring.open(row.sealedKey, at(row)), code.trim(), now);
    if (step !== undefined && !isFresh(row, step)) throw new CommittedRejection(new Rejected('totp_required'));
    const recovery = hashOfRecoveryCode(code);
    if (step === undefined && !row.recoveryHashes.includes(recovery)) throw this.wrong(tx, row);
    const recoveryHashes =
      step === undefined ? row.recoveryHashes.filter(hash => hash !== recovery) : row.recoveryHashes;
    tx.save(memberTotps, passed({ ...row, recoveryHashes }, step));
  }

  private wrong(tx: Tx, row: MemberTotp): CommittedRejection {
    tx.save(memberTotps, failed(row, this.now()));
    tx.log(`Member(${row.memberId})`, 'WrongTotpCode');
    return new CommittedRejection(new Rejected('totp_required'));
  }

  /** Turns two-factor off for a locked member, and logs it if it was on. */
  private async off(tx: Tx, member: Member): Promise<Member> {
    if (member.totpType === 'off') return member;
    const next: Member = { ...member, totpType: 'off' };
    await this.row(tx, member);
    tx.save(memberTotps, blank(member));
    updateMember(tx, next);
    tx.log(`Member(${member.id})`, 'TotpOff');
    return next;
  }

  private row(tx: Tx, { id: memberId }: Member): Promise<MemberTotp | undefined> {
    return tx.lockIfAny(memberTotps, { memberId });
  }

  /** Unix seconds of the machine: authenticator apps do not follow the merchant's clock. */
  private now(): number {
    return Math.floor(this.clock.wall() / 1000);
  }
}

const blank = ({ merchantId, id: memberId }: Member): MemberTotp => ({
  ...{ merchantId, memberId, sealedKey: '', pendingKey: '', pendingType: 0, recoveryHashes: [] },
  ...{ lastStep: 0, failures: 0, lockedUntil: 0 },
});

const typeNamed = (code: number) =>
  (Object.keys(totpType) as (keyof typeof totpType)[]).find(name => totpType[name] === code) ?? 'other';

/** Additional data of an encrypted key: binds it to its row. */
const at = ({ merchantId, memberId }: MemberTotp) => `member_totps ${merchantId} ${memberId}`;
