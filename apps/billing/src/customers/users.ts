import { type User, userStatus } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { CommandReader, PeekReader, Reader } from '@recur/platform';
import { type UserCopy, users } from './tables.js';

/** Identifiers by which a command names a user; the first one given decides. */
export interface UserKey {
  userId?: number;
  externalUserId?: string;
  email?: string;
}

/** A user as billing knows it. */
export type Customer = UserCopy;

/** Normalises an e-mail for comparison, the same way as identity. */
export const emailKey = (email: string): string => email.toLowerCase();

/** Ids of the users with this e-mail; more than one only while copies lag behind. */
export const usersByEmail = async (reader: Reader, email: string): Promise<number[]> =>
  (await reader.all(users, { emailKey: emailKey(email) })).map(({ id }) => id);

/** Ids of the users with one of these e-mails. */
export async function usersByEmails(reader: Reader, emails: readonly string[]): Promise<number[]> {
  const keys = emails.map(email => emailKey(email.trim())).filter(key => key !== '');
  return (await reader.among(users, 'emailKey', keys)).map(({ id }) => id);
}

/** Users by their e-mails in lower case and by the merchant's own ids; the younger where stale copies let two match. */
export async function usersByNames(
  reader: Reader,
  { emails, externalUserIds }: { emails: readonly string[]; externalUserIds: readonly string[] },
) {
  const [byEmail, byExternalId] = await Promise.all([
    reader.among(users, 'emailKey', [...new Set(emails.map(emailKey))]),
    reader.among(users, 'externalUserId', [...new Set(externalUserIds)]),
  ]);
  const younger = (a: UserCopy, b: UserCopy) => a.id - b.id;
  return {
    byEmail: new Map(byEmail.sort(younger).map(user => [user.emailKey, user.id])),
    byExternalId: new Map(byExternalId.sort(younger).map(user => [user.externalUserId, user.id])),
  };
}

/** Users by id, as the API shows them; ids without a copy are left out. */
export async function usersById(reader: Reader, ids: readonly number[]): Promise<ReadonlyMap<number, User>> {
  const rows = await reader.among(users, 'id', ids);
  return new Map(rows.map(({ id, data }) => [id, data]));
}

/** The user as it was found first in a transaction: its tax and the party that is printed beside it are the same. */
const usersFound = new WeakMap<PeekReader, Map<number, Promise<UserCopy | undefined>>>();

function userCopyOf(reader: PeekReader, userId: number): Promise<UserCopy | undefined> {
  if (!('fresh' in reader)) return reader.peek(users, { id: userId });
  const known = usersFound.get(reader) ?? new Map<number, Promise<UserCopy | undefined>>();
  usersFound.set(reader, known);
  const user = known.get(userId) ?? reader.peek(users, { id: userId });
  known.set(userId, user);
  return user;
}

/** The user that a key names. A command asks identity first where its copies are known to lag: throws Stale. */
export async function findUser(reader: PeekReader | CommandReader, key: UserKey): Promise<UserCopy | undefined> {
  const { userId, externalUserId, email = '' } = key;
  if ('fresh' in reader) reader.fresh('users', lookupOf(key));
  if (userId !== undefined) return userCopyOf(reader, userId);
  const where = externalUserId ? { externalUserId } : { emailKey: emailKey(email) };
  // if a stale copy makes two users match, the younger one is more likely to be the current holder
  const [user] = await reader.peekAll(users, where, 'order by id desc limit 1');
  return user;
}

/**
 * The user that `findUser` found, suspended or not. A missing copy is asked of identity first: throws Stale, carrying
 * Rejected `user_not_found`.
 */
export function assertUser(tx: CommandReader, key: UserKey, user: UserCopy | undefined): UserCopy {
  if (user) return user;
  throw tx.stale('users', lookupOf(key), new Rejected('user_not_found'));
}

const lookupOf = ({ userId, externalUserId, email = '' }: UserKey): number | Readonly<Record<string, string>> =>
  userId ?? (externalUserId ? { externalUserId } : { email });

/**
 * The user that `findUser` found, if it may be invoiced. A missing or suspended copy is checked with identity first:
 * throws Stale, carrying Rejected `user_not_found` or `user_inactive`.
 */
export function assertBuyer(tx: CommandReader, key: UserKey, found: UserCopy | undefined): UserCopy {
  const user = assertUser(tx, key, found);
  assertActive(tx, user);
  return user;
}

/** Refuses a suspended user, once identity says the same: throws Stale, carrying Rejected `user_inactive`. */
export function assertActive(tx: CommandReader, user: UserCopy | undefined): void {
  if (!user || user.status === userStatus.active) return;
  const message = `User ${user.id} is suspended: cannot make an invoice for it`;
  throw tx.stale('users', user.id, new Rejected('user_inactive', message));
}

/** Ids of the users that keys name, by the name of the key; those without a copy are left out. */
export async function findUsers(
  reader: PeekReader,
  keys: ReadonlyMap<string, UserKey>,
): Promise<ReadonlyMap<string, number>> {
  const wanted = [...keys];
  const ids = wanted.flatMap(([, { userId }]) => (userId === undefined ? [] : [userId]));
  const byId = new Set((await reader.peekAmong(users, 'id', ids)).map(({ id }) => id));
  const found = await Promise.all(
    wanted.map(async ([name, key]) => {
      const { userId } = key;
      if (userId === undefined) return [name, (await findUser(reader, key))?.id] as const;
      return [name, byId.has(userId) ? userId : undefined] as const;
    }),
  );
  return new Map(found.flatMap(([name, id]) => (id === undefined ? [] : [[name, id] as const])));
}

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
