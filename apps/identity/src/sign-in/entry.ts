import { Injectable } from '@nestjs/common';
import type { MerchantMember } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Caller, Tx } from '@recur/platform';
import { MemberSessions } from '../member-sessions/member-sessions.js';
import { memberAggregate } from '../members/aggregates.js';
import { closeInvitation } from '../members/by-email.js';
import { isSetUp, SetupTokens } from '../members/setup-tokens.js';
import type { Member } from '../members/tables.js';
import { accountView } from '../members/views.js';
import type { Identity } from './identity-tokens.js';

/** The answer of a sign-in; `token` is its only copy. */
export interface SignedIn {
  merchantMember: MerchantMember;
  token: string;
}

/** The last steps of every sign-in: setting up an invited member, and opening the session. */
@Injectable()
export class Entry {
  constructor(
    private readonly sessions: MemberSessions,
    private readonly setupTokens: SetupTokens,
  ) {}

  /** Locks the member, uses up its setup token and sets it up. */
  async setUp(tx: Tx, found: Member, token: string, passwordHash = found.passwordHash): Promise<Member> {
    const member = await lockActive(tx, found);
    if (!(await this.setupTokens.redeem(tx, member.id, token)) || (await isSetUp(tx, member))) throw refused();
    const next = { ...member, passwordHash };
    tx.step(memberAggregate, next, 'member.updated');
    await closeInvitation(tx, member);
    return next;
  }

  /** Opens the session of a locked member; `linked` is an identity saved in this transaction, not readable yet. */
  async open(tx: Tx, caller: Caller, member: Member, content: string, linked?: Identity): Promise<SignedIn> {
    const { userAgent: name = '', ip = '' } = caller.sender ?? {};
    const totpVerified = member.totpType !== 'off';
    const { merchantMember, token } = await this.sessions.open(tx, member, { device: { name, ip }, totpVerified });
    tx.log(`Member(${member.id})`, content);
    const oauthAccounts = [...merchantMember.oauthAccounts, ...(linked ? [accountView(linked)] : [])];
    return { merchantMember: { ...merchantMember, oauthAccounts }, token };
  }
}

/** The one refusal of every sign-in, whatever the reason. */
export const refused = (): Rejected => new Rejected('credential_invalid');

/** The caller with the member as its actor: a sign-in is the member's own doing, whatever API key came with it. */
export const actingAsMember = (caller: Caller, { merchantId, id, email }: Member): Caller => ({
  ...caller,
  merchantId,
  actor: { kind: 'member', id: String(id), display: email },
});

/** Locks the member. Refuses one that is not active. */
export async function lockActive(tx: Tx, { id }: Member): Promise<Member> {
  const member = await tx.lock(memberAggregate, id, 'credential_invalid');
  if (member.status !== 'active') throw refused();
  return member;
}
