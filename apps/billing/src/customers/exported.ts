import type { User } from '@recur/contracts';
import type { Reader } from '@recur/platform';
import { usersById } from './users.js';

/** The columns of exports that name a user; the id alone where there is no copy of it. */
export function buyerColumns(userId: number, user: User | undefined) {
  return {
    UserId: userId,
    Email: user?.email ?? '',
    FirstName: user?.firstName ?? '',
    LastName: user?.lastName ?? '',
    ExternalUserId: user?.externalUserId ?? '',
  };
}

/** The users of rows, each read once. */
export const usersOfRows = (reader: Reader, rows: readonly { userId: number }[]): Promise<ReadonlyMap<number, User>> =>
  usersById(reader, [...new Set(rows.map(({ userId }) => userId))]);
