import type { MerchantCheckout, MerchantMetric, MerchantState, Plan, Product, User } from '@recur/contracts';
import { copyOf, type Tx } from '@recur/platform';
import { checkouts, merchants, metrics, type PlanCopy, plans, products, type UserCopy, users } from './tables.js';
import { emailKey } from './users.js';

/** Called with changed users and plans before their copies are kept. */
export interface Arrivals {
  users(tx: Tx, rows: readonly UserCopy[]): Promise<void>;
  plans(tx: Tx, rows: readonly PlanCopy[]): Promise<void>;
}

const userRow = (data: User, merchantId: number, version: number): UserCopy => ({
  merchantId,
  id: data.id,
  status: data.status,
  gatewayId: data.gatewayId,
  emailKey: emailKey(data.email),
  externalUserId: data.externalUserId,
  data,
  version,
});

const planRow = (data: Plan, merchantId: number, version: number): PlanCopy => {
  return { merchantId, id: data.id, status: data.status, data, version };
};

/** Copies of identity's merchants and users and catalog's plans, products, metrics and checkout templates, kept from their events. */
export const copiesWith = (arrive: Arrivals) => [
  copyOf('users', 'identity', 'user', users, userRow, arrive.users),
  copyOf('plans', 'catalog', 'plan', plans, planRow, arrive.plans),
  copyOf('products', 'catalog', 'product', products, (data: Product, merchantId, version) => ({
    merchantId,
    id: data.id,
    data,
    version,
  })),
  copyOf('metrics', 'catalog', 'metric', metrics, (data: MerchantMetric, merchantId, version) => ({
    merchantId,
    id: data.id,
    code: data.code,
    archived: data.archived,
    data,
    version,
  })),
  copyOf('checkouts', 'catalog', 'checkout', checkouts, (data: MerchantCheckout, merchantId, version) => ({
    merchantId,
    id: data.id,
    isDefault: data.isDefault,
    data,
    version,
  })),
  copyOf('merchants', 'identity', 'merchant', merchants, (data: MerchantState, merchantId, version) => ({
    merchantId,
    data,
    version,
  })),
];
