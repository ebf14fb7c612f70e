import { Injectable } from '@nestjs/common';
import { type In, type MerchantMember, oauthLogin, oauthSetup, passwordLogin, passwordSetup } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Reader, type Tx } from '@recur/platform';
import { emailKey } from './domain/email.js';
import type { Identity } from './identity-tokens.js';
import { MemberSessions } from './member-sessions.js';
import { setupTokens } from './member-tables.js';
import { accountView } from './member-views.js';
import { emailHash, updateMember } from './members.js';
import { isOf, link, linked, OauthAccounts } from './oauth-accounts.js';
import { Passwords } from './passwords.js';
import { isSetUp, SetupTokens } from './setup-tokens.js';
import { oauthAccounts } from './sign-in-tables.js';
import { type Member, memberEmails, members } from './tables.js';
import { Totps } from './totp.js';

/** What a sign-in answers: the member, and a token that is kept nowhere. */
type SignedIn = { merchantMember: MerchantMember; token: string };

/**
 * Signs members in. Whoever is refused hears the same, whatever the reason, and costs the same: one identity token is
 * verified, or one password is hashed, for nobody too.
 */
@Injectable()
export class SignIn {
  constructor(
    private readonly db: Db,
    private readonly accounts: OauthAccounts,
    private readonly passwords: Passwords,
    private readonly totps: Totps,
    private readonly sessions: MemberSessions,
    private readonly setupTokens: SetupTokens,
  ) {}

  @Handle(oauthLogin)
  async oauthLogin({ email, totpCode }: In<typeof oauthLogin>, caller: Caller) {
    const identity = await this.accounts.shown(caller, email);
    const found = identity && (await this.db.read(caller, reader => memberOf(reader, identity)));
    if (!identity || !found) throw refused();
    return this.db.write(actingAs(caller, found), async tx => {
      const member = await activeRow(tx, found);
      const isFirst = !(await linked(tx, member.id)).some(account => isOf(account, identity));
      if (isFirst && !(await mayBeLinked(tx, member, identity))) throw refused();
      await this.totps.take(tx, member, totpCode);
      if (!isFirst) return this.enter(tx, caller, member, 'SignIn');
      await link(tx, member.id, identity, refused);
      return this.enter(tx, caller, member, 'LinkIdentity, SignIn', identity);
    });
  }

  @Handle(oauthSetup)
  async oauthSetup({ email, setupToken, newPassword }: In<typeof oauthSetup>, caller: Caller) {
    const identity = await this.accounts.shown(caller, email);
    const found = identity && (await this.db.read(caller, reader => memberNamed(reader, email)));
    const passwordHash = newPassword === undefined ? undefined : await this.passwords.hash(newPassword);
    if (!identity || !found) throw refused();
    return this.db.write(actingAs(caller, found), async tx => {
      const member = await this.setUp(tx, found, setupToken, passwordHash);
      await link(tx, member.id, identity);
      return this.enter(tx, caller, member, 'SetUp', identity);
    });
  }

  @Handle(passwordLogin)
  async login({ email, password, totpCode }: In<typeof passwordLogin>, anybody: Caller) {
    const { caller, found } = await this.somebody(anybody, email);
    const isRight = await this.passwords.check(found?.passwordHash, password);
    if (!found || !isRight) throw refused();
    return this.db.write(actingAs(caller, found), async tx => {
      const member = await activeRow(tx, found);
      if (member.passwordHash !== found.passwordHash) throw refused();
      await this.totps.take(tx, member, totpCode);
      return this.enter(tx, caller, member, 'SignIn');
    });
  }

  @Handle(passwordSetup)
  async setPassword({ email, setupToken, newPassword }: In<typeof passwordSetup>, anybody: Caller) {
    const { caller, found } = await this.somebody(anybody, email);
    const passwordHash = await this.passwords.hash(newPassword);
    const isRight = await this.db.read(caller, reader => this.setupTokens.isOf(reader, found?.id ?? 0, setupToken));
    if (!found || !isRight) throw refused();
    return this.db.write(actingAs(caller, found), async tx => {
      const member = await this.setUp(tx, found, setupToken, passwordHash);
      return this.enter(tx, caller, member, 'SetUp');
    });
  }

  /** Who has an e-mail, in whatever merchant; nobody is looked for as somebody is. */
  private async somebody(anybody: Caller, email: string): Promise<{ caller: Caller; found: Member | undefined }> {
    const text = `select merchant_id from ${memberEmails.table} where email_hash = $1`;
    const [known] = await this.db.infra(text, [emailHash(email.trim())]);
    const caller = { ...anybody, merchantId: Number(known?.merchant_id ?? 0) };
    return { caller, found: await this.db.read(caller, reader => memberNamed(reader, email)) };
  }

  /** The member, locked, after its setup token was taken. */
  private async setUp(tx: Tx, found: Member, token: string, passwordHash = found.passwordHash): Promise<Member> {
    const member = await activeRow(tx, found);
    if (!(await this.setupTokens.redeem(tx, member.id, token)) || (await isSetUp(tx, member))) throw refused();
    const next = { ...member, passwordHash };
    updateMember(tx, next);
    return next;
  }

  /** Opens the session; `more` is an identity that was linked just now, and cannot be read yet. */
  private async enter(tx: Tx, caller: Caller, member: Member, what: string, more?: Identity): Promise<SignedIn> {
    const { userAgent: name = '', ip = '' } = caller.sender ?? {};
    const totpVerified = member.totpType !== 'off';
    const { merchantMember, token } = await this.sessions.open(tx, member, { device: { name, ip }, totpVerified });
    tx.log(`Member(${member.id})`, what);
    const oauthAccounts = [...merchantMember.oauthAccounts, ...(more ? [accountView(more)] : [])];
    return { merchantMember: { ...merchantMember, oauthAccounts }, token };
  }
}

/** The one answer to everybody who may not sign in. */
const refused = () => new Rejected('credential_invalid');

/** What a member does by signing in is its own doing, whatever API key the request came with. */
const actingAs = (caller: Caller, { id, email }: Member): Caller => ({
  ...caller,
  actor: { kind: 'member', id: String(id), display: email },
});

async function activeRow(tx: Tx, { id }: Member): Promise<Member> {
  const member = await tx.lock(members, { id }, 'credential_invalid');
  if (member.status !== 'active') throw refused();
  return member;
}

const memberNamed = (reader: Reader, email: string): Promise<Member | undefined> =>
  reader.find(members, { emailKey: emailKey(email.trim()) });

/** Whose an identity is: of whom it is linked to, whatever its e-mail now; else of whom its e-mail is. */
async function memberOf(reader: Reader, { issuer, subject, email }: Identity): Promise<Member | undefined> {
  const [account, named] = await Promise.all([
    reader.find(oauthAccounts, { issuer, subject, clearedTime: 0 }),
    memberNamed(reader, email),
  ]);
  return account === undefined ? named : reader.find(members, { id: account.memberId });
}

/**
 * Whether an identity may be linked by its e-mail alone: to a member who never had another, and waits for no setup.
 * From then on its e-mail means nothing.
 */
async function mayBeLinked(tx: Tx, { id: memberId, emailKey: key }: Member, { email }: Identity): Promise<boolean> {
  const [before, setup] = await Promise.all([tx.find(oauthAccounts, { memberId }), tx.find(setupTokens, { memberId })]);
  return before === undefined && setup?.usedTime !== 0 && key === emailKey(email.trim());
}
