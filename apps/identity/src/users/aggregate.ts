import { events } from '@recur/contracts';
import { aggregate } from '@recur/platform';
import { emailKey } from '../domain/email.js';
import { planNameOf } from './accounts.js';
import { type User, users } from './tables.js';
import { type NamedUser, userView } from './views.js';

export const userAggregate = aggregate({
  name: 'user',
  title: 'User',
  events,
  table: users,
  key: 'id',
  load: async (loader, user: User): Promise<NamedUser> => ({ ...user, planName: await planNameOf(loader, user) }),
  view: userView,
  ids: ({ id: userId }) => ({ userId }),
  lookups: {
    email: email => ({ emailKey: emailKey(email) }),
    externalUserId: externalUserId => ({ externalUserId }),
  },
});
