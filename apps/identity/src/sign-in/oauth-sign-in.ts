import { Controller } from '@nestjs/common';
import { type In, oauthLogin, oauthSetup } from '@recur/contracts';
import { type Caller, Db, Handle, type Reader, type Tx } from '@recur/platform';
import { emailKey } from '../domain/email.js';
import { memberWithEmail } from '../members/member-rows.js';
import { type Member, members, setupTokens } from '../members/tables.js';
import { requireUncommon } from '../passwords/common-passwords.js';
import { addressLine } from '../passwords/lines.js';
import { Passwords } from '../passwords/passwords.js';
import { actingAsMember, Entry, lockActive, refused } from './entry.js';
import type { Identity } from './identity-tokens.js';
import { isOf, link, linked } from './oauth-accounts.js';
import { mayIdentify } from './provider-trust.js';
import { SentIdentity } from './sent-identity.js';
import { oauthAccounts } from './tables.js';
import { TwoFactor } from './two-factor.js';

/**
 * Signs members in with identity tokens. Every refusal is the same and costs the same: one token is verified, even if
 * there is no such member.
 */
@Controller()
export class OauthSignIn {
  constructor(
    private readonly db: Db,
    private readonly sent: SentIdentity,
    private readonly passwords: Passwords,
    private readonly twoFactor: TwoFactor,
    private readonly entry: Entry,
  ) {}

  @Handle(oauthLogin)
  async login({ email, totpCode }: In<typeof oauthLogin>, caller: Caller) {
    const identity = await this.sent.of(caller, email);
    const found = identity && (await this.db.read(caller, reader => memberOfIdentity(reader, identity)));
    if (!identity || !found) throw refused();
    return this.db.write(actingAsMember(caller, found), async tx => {
      const member = await lockActive(tx, found);
      if (!(await mayIdentify(tx, identity.source, member))) throw refused();
      const isFirst = !(await linked(tx, member.id)).some(account => isOf(account, identity));
      if (isFirst && !(await mayLinkByEmail(tx, member, identity))) throw refused();
      await this.twoFactor.take(tx, member, totpCode);
      if (!isFirst) return this.entry.open(tx, caller, member, 'SignIn');
      await link(tx, member.id, identity, refused);
      return this.entry.open(tx, caller, member, 'LinkIdentity, SignIn', identity);
    });
  }

  @Handle(oauthSetup)
  async setup({ email, setupToken, newPassword }: In<typeof oauthSetup>, caller: Caller) {
    if (newPassword !== undefined) requireUncommon(newPassword);
    const identity = await this.sent.of(caller, email);
    const found = identity && (await this.db.read(caller, reader => memberWithEmail(reader, email)));
    const line = addressLine(caller.sender?.ip ?? '');
    const passwordHash = newPassword === undefined ? undefined : await this.passwords.hash(newPassword, line);
    if (!identity || !found) throw refused();
    return this.db.write(actingAsMember(caller, found), async tx => {
      const member = await this.entry.setUp(tx, found, setupToken, passwordHash);
      if (!(await mayIdentify(tx, identity.source, member))) throw refused();
      await link(tx, member.id, identity);
      return this.entry.open(tx, caller, member, 'SetUp', identity);
    });
  }
}

/** The member linked to this identity, else the member with its e-mail. */
async function memberOfIdentity(reader: Reader, { issuer, subject, email }: Identity): Promise<Member | undefined> {
  const [account, named] = await Promise.all([
    reader.find(oauthAccounts, { issuer, subject, clearedTime: 0 }),
    memberWithEmail(reader, email),
  ]);
  return account === undefined ? named : reader.find(members, { id: account.memberId });
}

/**
 * True if an identity may be linked by its e-mail alone: only to a member that never had a linked identity and has no
 * setup pending. The owner is not linked so by a merchant's own provider, whose key other members may set.
 */
async function mayLinkByEmail(tx: Tx, member: Member, { email, source }: Identity): Promise<boolean> {
  const { id: memberId, isOwner, emailKey: key } = member;
  if (isOwner && !source.isDeployments) return false;
  const [before, setup] = await Promise.all([tx.find(oauthAccounts, { memberId }), tx.find(setupTokens, { memberId })]);
  return before === undefined && setup?.usedTime !== 0 && key === emailKey(email.trim());
}
