import { Controller } from '@nestjs/common';
import { clearOauth, type In, updateOauth } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Reader, type Tx } from '@recur/platform';
import { MemberSessions } from '../member-sessions/member-sessions.js';
import { memberAggregate } from '../members/aggregates.js';
import type { Member } from '../members/tables.js';
import { accountView } from '../members/views.js';
import type { Identity } from './identity-tokens.js';
import { lockUnchanged, mayIdentify } from './provider-trust.js';
import { SentIdentity } from './sent-identity.js';
import { type OauthAccountRow, oauthAccounts } from './tables.js';

/** External identities of members: linking and unlinking one's own. */
@Controller()
export class OauthAccounts {
  constructor(
    private readonly db: Db,
    private readonly sent: SentIdentity,
    private readonly sessions: MemberSessions,
  ) {}

  @Handle(updateOauth)
  async add({ email }: In<typeof updateOauth>, caller: Caller) {
    const identity = await this.sent.of(caller, email);
    if (identity === undefined) throw new Rejected('credential_invalid', 'The identity token is not valid');
    return this.db.write(caller, async tx => {
      const member = await ownRow(tx, caller);
      const accounts = await linked(tx, member.id);
      if (accounts.some(account => isOf(account, identity))) return this.answer(tx, caller, member, accounts);
      if (!(await mayIdentify(tx, identity.source, member))) throw new Rejected('permission_denied', excessMessage);
      const account = await link(tx, member.id, identity);
      tx.step(memberAggregate, member, 'member.updated', { log: 'LinkIdentity' });
      return this.answer(tx, caller, member, [...accounts, account]);
    });
  }

  @Handle(clearOauth)
  remove({ provider, providerId }: In<typeof clearOauth>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const member = await ownRow(tx, caller);
      const accounts = await linked(tx, member.id);
      const account = accounts.find(one => one.provider === provider && one.subject === providerId);
      if (account === undefined) throw new Rejected('oauth_account_not_found');
      if (accounts.length === 1 && member.passwordHash === null) throw new Rejected('last_way_in');
      const { memberId, issuer, subject } = account;
      const row = await tx.lock(oauthAccounts, { memberId, issuer, subject }, 'oauth_account_not_found');
      tx.save(oauthAccounts, { ...row, clearedTime: tx.now });
      tx.step(memberAggregate, member, 'member.updated', { log: 'UnlinkIdentity' });
      const left = accounts.filter(one => one !== account);
      return this.answer(tx, caller, member, left);
    });
  }

  /** The answer with these accounts: a link saved in this transaction cannot be read back yet. */
  private async answer(tx: Tx, caller: Caller, member: Member, accounts: readonly OauthAccountRow[]) {
    const merchantMember = await ownView(tx, this.sessions, caller, member);
    return { merchantMember: { ...merchantMember, oauthAccounts: accounts.map(accountView) } };
  }
}

const excessMessage =
  'A member with fewer permissions than you set the key of this provider: the owner must set it again before you link it';

/** Locks the calling member. */
export const ownRow = (tx: Tx, { actor }: Caller): Promise<Member> =>
  tx.lock(memberAggregate, Number(actor.id), 'credential_invalid');

/** The calling member as the API shows it, in the state of `member`. */
export async function ownView(tx: Tx, sessions: MemberSessions, { session }: Caller, member: Member) {
  const [view] = await sessions.views(tx, [member], session);
  if (view === undefined) throw new Error(`member ${member.id} has no view`);
  return view;
}

/** The identities linked to a member. Lock the member before changing them. */
export const linked = (reader: Reader, memberId: number): Promise<OauthAccountRow[]> =>
  reader.all(oauthAccounts, { memberId, clearedTime: 0 }, 'order by link_time, issuer, subject');

export const isOf = (account: OauthAccountRow, { issuer, subject }: Identity): boolean =>
  account.issuer === issuer && account.subject === subject;

/** Links an identity to a locked member. Rejects with `taken` if another member has it. */
export async function link(
  tx: Tx,
  memberId: number,
  { source, ...account }: Identity,
  taken = () => new Rejected('oauth_account_taken'),
): Promise<OauthAccountRow> {
  const { issuer, subject } = account;
  tx.onConflict('oauth_accounts_identity', taken);
  const [others] = await Promise.all([
    tx.all(oauthAccounts, { issuer, subject, clearedTime: 0 }, 'limit 1'),
    tx.lockIfAny(oauthAccounts, { memberId, issuer, subject }),
  ]);
  if (others.length > 0) throw taken();
  await lockUnchanged(tx, source);
  const row = { ...account, merchantId: tx.merchantId, memberId, linkTime: tx.now, clearedTime: 0 };
  tx.save(oauthAccounts, row);
  return row;
}
