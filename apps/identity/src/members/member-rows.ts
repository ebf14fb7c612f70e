import { hash } from 'node:crypto';
import { invalid, type Rejected } from '@recur/kernel';
import type { Reader } from '@recur/platform';
import { emailKey } from '../domain/email.js';
import { type Member, type MemberEmail, members } from './tables.js';

type NewRow = Pick<Member, 'email' | 'firstName' | 'lastName' | 'roleIds'> & Pick<Member, 'id' | 'isOwner'>;

/** The key of an e-mail in the lookup across merchants. */
export const emailHash = (email: string) => hash('sha256', emailKey(email), 'base64url');

/** The refusal of an e-mail that another member of the merchant has. */
export const emailTaken = (): Rejected => invalid('/email', 'A member with this e-mail exists already');

/** A member as it is created, not set up yet. Save its `emailLookup` with it. */
export function newMember({ merchantId, now }: Pick<Reader, 'merchantId' | 'now'>, given: NewRow): Member {
  return {
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
}

/** The lookup of a new member by its e-mail, across merchants. */
export const emailLookup = ({ email, merchantId }: Member): MemberEmail => ({
  emailHash: emailHash(email),
  merchantId,
  pending: true,
});

/** The merchant's member with this e-mail. */
export const memberWithEmail = (reader: Reader, email: string): Promise<Member | undefined> =>
  reader.find(members, { emailKey: emailKey(email.trim()) });

/** The members that these rows refer to, by id. */
export async function membersById(reader: Reader, rows: readonly { memberId: number }[]): Promise<Map<number, Member>> {
  const ids = [...new Set(rows.map(({ memberId }) => memberId))].filter(id => id !== 0);
  const found = await Promise.all(ids.map(id => reader.find(members, { id })));
  return new Map(found.flatMap(member => (member ? [[member.id, member]] : [])));
}
