import { isDeepStrictEqual } from 'node:util';
import type { In, updateUser } from '@recur/contracts';
import { countryAfter } from '../domain/country.js';
import { emailKey } from '../domain/email.js';
import type { User } from './tables.js';

/** Fields of a user under the names of user/update; absent fields stay. */
export type Edit = Omit<In<typeof updateUser>, 'userId'>;

/** The user with the sent fields applied; undefined if nothing changes. A blank text clears its field. */
export function edited<U extends User>(
  user: U,
  { LinkedIn, tiktok, whatsApp, paymentMethodId, ...edit }: Edit,
): U | undefined {
  const { email, externalUserId, type, gatewayId, firstName, lastName, phone, address, language, ...texts } = edit;
  const next: U = {
    ...user,
    ...sent({ email, externalUserId, type, gatewayId, firstName, lastName, phone, address, language }),
    emailKey: emailKey(email ?? user.email),
    profile: filled({
      ...user.profile,
      ...sent({ ...texts, linkedIn: LinkedIn, tikTok: tiktok, whatsAPP: whatsApp, paymentMethod: paymentMethodId }),
      ...countryAfter(user.profile, texts),
    }),
  };
  return isDeepStrictEqual(next, user) ? undefined : next;
}

/** Drops undefined members. */
const sent = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };

/** Drops blank members. */
export const filled = <T extends object>(fields: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => !isDeepStrictEqual(value, {}) && value),
  ) as Partial<T>;
