import { invalid } from '@recur/kernel';
import type { UserKey } from '../../customers/users.js';

/** How an input names its user: by id, the merchant's own id, or e-mail; the first one that is given decides. */
export function userKeyOf({
  userId,
  externalUserId,
  email,
  user,
}: {
  userId: number;
  externalUserId: string;
  email: string;
  user?: { email: string; externalUserId: string } | undefined;
}): UserKey {
  if (userId !== 0) return { userId };
  return { externalUserId: externalUserId || (user?.externalUserId ?? ''), email: email || (user?.email ?? '') };
}

/** Throws Rejected `invalid_parameters` where an input names no user. */
export function assertNamed({ userId, externalUserId = '', email = '' }: UserKey): void {
  if (userId === undefined && externalUserId === '' && email === '') {
    throw invalid('/userId', 'is required where neither externalUserId nor email is given');
  }
}
