import type { Plan, User } from '@recur/contracts';
import type { Copy } from '@recur/platform';
import { type PlanCopy, plans, type UserCopy, users } from './tables.js';

/** What billing decides from without asking: users of identity, plans of catalog. */
export const userCopy: Copy<UserCopy> = {
  name: 'users',
  owner: 'identity',
  aggregate: 'user',
  table: users,
  row: (data: User, merchantId, version) => ({
    merchantId,
    id: data.id,
    status: data.status,
    gatewayId: data.gatewayId,
    data,
    version,
  }),
};

export const planCopy: Copy<PlanCopy> = {
  name: 'plans',
  owner: 'catalog',
  aggregate: 'plan',
  table: plans,
  row: (data: Plan, merchantId, version) => ({ merchantId, id: data.id, status: data.status, data, version }),
};
