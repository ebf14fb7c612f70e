import type { MerchantMetric, MerchantState, Plan, Product, User } from '@recur/contracts';
import { copyOf } from '@recur/platform';
import { merchants, metrics, plans, products, users } from './tables.js';
import { emailKey } from './users.js';

/** Copies of identity's merchants and users and catalog's plans, products and metrics, kept from their events. */
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
  copyOf('merchants', 'identity', 'merchant', merchants, (data: MerchantState, merchantId, version) => ({
    merchantId,
    data,
    version,
  })),
];
