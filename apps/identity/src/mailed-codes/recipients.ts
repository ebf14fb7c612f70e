import { type Caller, Db, type Reader } from '@recur/platform';
import { emailKey, sameEmail } from '../domain/email.js';
import { membersWithEmail } from '../members/by-email.js';
import { isSetUp } from '../members/setup-tokens.js';
import type { Member } from '../members/tables.js';
import type { CodePurpose } from './tables.js';

/**
 * The members for whom a code of this purpose is: those who sign in with a password, and for a new password also those who
 * were invited and are not set up. A member who signs in through an identity provider alone gets no way past it. Members
 * whose address equals another one's in lower case only by a foreign letter are left out.
 */
export async function recipientsOf(
  db: Db,
  caller: Caller,
  purpose: CodePurpose,
  email: string,
  merchantId?: number,
): Promise<Member[]> {
  const found = await membersWithEmail(db, caller, email, { merchantId, pending: 'last' });
  const fits = await Promise.all(
    found.map(member =>
      db.read({ ...caller, merchantId: member.merchantId }, reader => mayUse(reader, purpose, member)),
    ),
  );
  return found.filter((member, at) => fits[at] && sameEmail(member.email, emailKey(email)));
}

/** True if a code of this purpose is for the member. */
export async function mayUse(reader: Reader, purpose: CodePurpose, member: Member): Promise<boolean> {
  if (member.status !== 'active') return false;
  return member.passwordHash !== null || (purpose === 'password' && !(await isSetUp(reader, member)));
}
