import { Controller, Inject } from '@nestjs/common';
import { type In, loginWithCode, requestLoginCode, requestPasswordCode, setPasswordWithCode } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, CONFIG, Db, Handle } from '@recur/platform';
import { hasMailRoute } from '@recur/platform/mail';
import type { Config } from '../config.js';
import { MemberSessions } from '../member-sessions/member-sessions.js';
import { memberAggregate } from '../members/aggregates.js';
import { closeInvitation, membersWithEmail, severalMerchants } from '../members/by-email.js';
import type { Member } from '../members/tables.js';
import { requireUncommon } from '../passwords/common-passwords.js';
import { addressLine } from '../passwords/lines.js';
import { Passwords } from '../passwords/passwords.js';
import { actingAsMember, Entry, lockActive, refused } from '../sign-in/entry.js';
import { TwoFactor } from '../sign-in/two-factor.js';
import { MailedCodes, type Proof } from './mailed-codes.js';
import { mayUse, recipientsOf } from './recipients.js';
import type { CodePurpose } from './tables.js';

/** Signs members in, and sets their passwords, by codes that are sent to them; without a credential. */
@Controller()
export class CodeSignIn {
  constructor(
    private readonly db: Db,
    private readonly codes: MailedCodes,
    private readonly entry: Entry,
    private readonly sessions: MemberSessions,
    private readonly passwords: Passwords,
    private readonly twoFactor: TwoFactor,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Handle(requestLoginCode)
  async requestLogin({ email }: In<typeof requestLoginCode>, caller: Caller) {
    this.requireMail();
    return this.codes.request(caller, 'login', email);
  }

  @Handle(loginWithCode)
  async login({ email, verificationCode, totpCode, merchantId }: In<typeof loginWithCode>, caller: Caller) {
    const { found, proof } = await this.proven(caller, 'login', email, verificationCode, merchantId);
    return this.db.write(actingAsMember(caller, found), async tx => {
      const member = await lockActive(tx, found);
      const code = await this.codes.lock(tx, proof);
      // a missing or wrong two-factor code commits its refusal, and leaves this code as it was
      this.codes.keep(tx, code);
      await this.twoFactor.take(tx, member, totpCode);
      this.codes.spend(tx, code);
      return this.entry.open(tx, caller, member, 'SignInByCode');
    });
  }

  @Handle(requestPasswordCode)
  async requestPassword({ email }: In<typeof requestPasswordCode>, caller: Caller) {
    this.requireMail();
    return this.codes.request(caller, 'password', email);
  }

  @Handle(setPasswordWithCode)
  async setPassword(
    { email, verificationCode, newPassword, merchantId }: In<typeof setPasswordWithCode>,
    caller: Caller,
  ) {
    requireUncommon(newPassword);
    const { found, proof } = await this.proven(caller, 'password', email, verificationCode, merchantId);
    const line = addressLine(caller.sender?.ip ?? '');
    const passwordHash = await this.passwords.hash(newPassword, line).catch(async error => {
      // overloaded: the same request is to succeed later
      await this.codes.giveBack(proof);
      throw error;
    });
    return this.db.write(actingAsMember(caller, found), async tx => {
      const member = await lockActive(tx, found);
      if (!(await mayUse(tx, 'password', member))) throw refused();
      this.codes.spend(tx, await this.codes.lock(tx, proof));
      tx.step(memberAggregate, { ...member, passwordHash }, 'member.updated', { log: 'SetPasswordByCode' });
      await closeInvitation(tx, member);
      await this.sessions.endAllOf(tx, member.id);
      return {};
    });
  }

  /** Refuses every address alike where nothing can be sent. */
  private requireMail(): void {
    if (!hasMailRoute(this.config)) throw new Rejected('mail_not_configured');
  }

  /** The one member whom a code is for, once it is right. Where several merchants have one, lists these merchants. */
  private async proven(
    caller: Caller,
    purpose: CodePurpose,
    email: string,
    code: string,
    merchantId?: number,
  ): Promise<{ found: Member; proof: Proof }> {
    await this.replay(caller, email, merchantId);
    const proof = await this.codes.take(purpose, email, code);
    const members = await recipientsOf(this.db, caller, purpose, email, merchantId);
    const [found, ...more] = members;
    if (found !== undefined && more.length === 0) return { found, proof };
    // the same request with the right merchantId is to succeed
    await this.codes.giveBack(proof);
    throw found === undefined ? refused() : await severalMerchants(this.db, caller, members, 'code');
  }

  /** Throws Replayed if this request was answered before: a repeat finds its code used. */
  private async replay(caller: Caller, email: string, merchantId: number | undefined): Promise<void> {
    if (caller.idempotencyKey === undefined) return;
    const members = await membersWithEmail(this.db, caller, email, { merchantId, pending: 'last' });
    // as much work for an address that no member has
    const callers = members.length > 0 ? members.map(member => actingAsMember(caller, member)) : [caller];
    for (const each of callers) {
      await this.db.replay(each).catch(error => {
        // the key stands for another request, which is told after the proof only
        if (!(error instanceof Rejected)) throw error;
      });
    }
  }
}
