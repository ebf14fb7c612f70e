import { hash } from 'node:crypto';
import { invalid, type Rejected } from '@recur/kernel';
import type { Reader, Tx } from '@recur/platform';
import { emailKey } from '../domain/email.js';
import { type Member, memberEmails, members } from './tables.js';
import { memberEvent } from './views.js';

type NewRow = Pick<Member, 'email' | 'firstName' | 'lastName' | 'roleIds'> & Pick<Member, 'id' | 'isOwner'>;

/** The key of an e-mail in the lookup across merchants. */
export const emailHash = (email: string) => hash('sha256', emailKey(email), 'base64url');

/** The refusal of an e-mail that another member of the merchant has. */
export const emailTaken = (): Rejected => invalid('/email', 'A member with this e-mail exists already');

/** Creates a member, not set up yet, and emits its event; the caller writes the log entry and maps conflicts. */
export function insertMember(tx: Tx, given: NewRow): Member {
  const { merchantId, now } = tx;
  const member: Member = {
    ...given,
    merchantId,
    emailKey: emailKey(given.email),
    mobile: '',
    passwordHash: null,
    status: 'active',
    totpType: 'off',
    createTime: now,
    version: 0,
  };
  tx.save(memberEmails, { emailHash: emailHash(given.email), merchantId, pending: true });
  tx.save(members, member);
  tx.emit('member.created', member, memberEvent(member));
  return member;
}

/** Saves a locked, changed member and emits its event; the caller writes the log entry. */
export function updateMember(tx: Tx, member: Member): void {
  tx.save(members, member);
  tx.emit('member.updated', member, memberEvent(member));
}

/** Saves a locked member that completes its setup, and emits its event; the caller writes the log entry. */
export async function setUpMember(tx: Tx, member: Member): Promise<Member> {
  updateMember(tx, member);
  const { merchantId, email } = member;
  const lookup = await tx.lockIfAny(memberEmails, { emailHash: emailHash(email), merchantId });
  if (lookup?.pending) tx.save(memberEmails, { ...lookup, pending: false });
  return member;
}

/** The merchant's member with this e-mail. */
export const memberWithEmail = (reader: Reader, email: string): Promise<Member | undefined> =>
  reader.find(members, { emailKey: emailKey(email.trim()) });

/** The members that these rows refer to, by id. */
export async function membersById(reader: Reader, rows: readonly { memberId: number }[]): Promise<Map<number, Member>> {
  const ids = [...new Set(rows.map(({ memberId }) => memberId))].filter(id => id !== 0);
  const found = await Promise.all(ids.map(id => reader.find(members, { id })));
  return new Map(found.flatMap(member => (member ? [[member.id, member]] : [])));
}
