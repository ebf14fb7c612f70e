import { createHash } from 'node:crypto';
import type { Tx } from '@recur/platform';
import { emailKey } from './domain/email.js';
import { memberEvent } from './member-views.js';
import { type Member, memberEmails, members } from './tables.js';

type NewRow = Pick<Member, 'id' | 'email' | 'firstName' | 'lastName' | 'isOwner' | 'roleIds'>;

/** Where a member's e-mail is looked up, whatever merchant it belongs to. */
export const emailHash = (email: string) => createHash('sha256').update(emailKey(email)).digest('base64url');

/** Creates a member, with its event; the command logs it, and says what a conflict of `member_emails_pkey` means. */
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
  tx.save(memberEmails, { emailHash: emailHash(given.email), merchantId });
  tx.save(members, member);
  tx.emit('member.created', member, memberEvent(member));
  return member;
}

/** Saves a member that is locked and was changed, with its event; the command logs it. */
export function updateMember(tx: Tx, member: Member): void {
  tx.save(members, member);
  tx.emit('member.updated', member, memberEvent(member));
}
