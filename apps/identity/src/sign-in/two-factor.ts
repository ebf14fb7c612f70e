import { Inject, Injectable } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import { CLOCK, type Clock, CommittedRejection, Keyring, type Tx } from '@recur/platform';
import type { Member } from '../members/tables.js';
import { failed, isFresh, isLocked, passed } from './domain/totp-tries.js';
import { type MemberTotp, memberTotps } from './tables.js';
import { hashOfRecoveryCode, stepOfCode } from './totp-codes.js';

/** Checks two-factor codes of members, and counts wrong ones. */
@Injectable()
export class TwoFactor {
  constructor(
    private readonly keyring: Keyring,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Uses up a code or a recovery code of a locked member. Throws CommittedRejection unless the member may pass: the count
   * of wrong codes is committed. A right but used code is no guess and is not counted.
   */
  async take(tx: Tx, member: Member, code = ''): Promise<void> {
    if (member.totpType === 'off') return;
    const row = await lockTotp(tx, member);
    if (row === undefined) throw new Error(`member ${member.id} has two-factor on, but no key`);
    const now = this.now();
    if (isLocked(row, now)) throw new CommittedRejection(new Rejected('totp_locked'));
    if (code.trim() === '') throw new CommittedRejection(new Rejected('totp_required'));
    const step = stepOfCode(this.keyring.open(row.sealedKey, totpContext(row)), code.trim(), now);
    if (step !== undefined && !isFresh(row, step)) throw new CommittedRejection(new Rejected('totp_required'));
    const recovery = hashOfRecoveryCode(code);
    if (step === undefined && !row.recoveryHashes.includes(recovery)) throw this.wrong(tx, row);
    const recoveryHashes =
      step === undefined ? row.recoveryHashes.filter(hash => hash !== recovery) : row.recoveryHashes;
    tx.save(memberTotps, passed({ ...row, recoveryHashes }, step));
  }

  /** Counts a wrong code; returns the rejection to throw. */
  wrong(tx: Tx, row: MemberTotp): CommittedRejection {
    tx.save(memberTotps, failed(row, this.now()));
    tx.log(`Member(${row.memberId})`, 'WrongTotpCode');
    return new CommittedRejection(new Rejected('totp_required'));
  }

  /** Unix seconds of the machine: authenticator apps do not follow the merchant's clock. */
  now(): number {
    return Math.floor(this.clock.wall() / 1000);
  }
}

/** Locks the two-factor state of a member; undefined if it never asked for a key. */
export const lockTotp = (tx: Tx, { id: memberId }: Member): Promise<MemberTotp | undefined> =>
  tx.lockIfAny(memberTotps, { memberId });

/** Additional data of an encrypted key: binds it to its row. */
export const totpContext = ({ merchantId, memberId }: MemberTotp) => `member_totps ${merchantId} ${memberId}`;
