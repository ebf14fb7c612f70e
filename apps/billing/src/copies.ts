import type { Plan, User } from '@recur/contracts';
import { copyOf } from '@recur/platform';
import { plans, users } from './tables.js';

/** What billing decides from without asking: users of identity, plans of catalog. */
export const copies = [
  copyOf('users', 'identity', 'user', users, (data: User, merchantId, version) => ({
    merchantId,
    id: data.id,
    status: data.status,
    gatewayId: data.gatewayId,
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
