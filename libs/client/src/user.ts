import type { Input } from './table.js';

/** A user, new or known: found by `externalUserId`, else by `email`; made or updated with what is given. */
export type Person = Omit<Input<'/merchant/session/new_session'>, 'returnUrl' | 'cancelUrl'>;

/** A user by id, by the merchant's own id (a string), or as a person. */
export type UserName = number | string | Person;

/** The fields by which an operation on a known user names it. */
export function namedBy(user: UserName): { userId: number } | { externalUserId: string } | { email: string } {
  if (typeof user === 'number') return { userId: user };
  if (typeof user === 'string') return { externalUserId: user };
  return user.externalUserId ? { externalUserId: user.externalUserId } : { email: user.email };
}
