import type { Plan, User } from '@recur/contracts';
import { copyOf } from '@recur/platform';
import { plans, users } from './tables.js';

/** What makes two e-mail addresses the same, as identity sees it. */
export const emailKey = (email: string): string => email.toLowerCase();

/** What billing decides from without asking: users of identity, plans of catalog. */
export const copies = [
  copyOf('users', 'identity', 'user', users, (data: User, merchantId, version) => ({
    merchantId,
    id: data.id,
    status: data.status,
    gatewayId: data.gatewayId,
    emailKey: emailKey(data.email),
    externalUserId: data.externalUserId,
    data,
    version,
  })),
  copyOf('plans', 'catalog', 'plan', plans, (data: Plan, merchantId, version) => ({
    merchantId,
    id: data.id,
    status: data.status,
    data,
    version,
  })),
];
