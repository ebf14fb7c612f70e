import type { CreditAccount, Gateway, MerchantCurrencies, Plan, Product, Subscription } from '@recur/contracts';
import { copyOf } from '@recur/platform';
import { creditAccounts, currencyRules, gateways, plans, products, subscriptions } from './tables.js';

/**
 * Copies of other services' aggregates: gateways, subscriptions and credit accounts of billing; plans, products and
 * currencies of catalog.
 */
export const copies = [
  copyOf('gateways', 'billing', 'gateway', gateways, (data: Gateway, merchantId, version) => ({
    merchantId,
    id: data.gatewayId,
    archived: data.archive,
    data,
    version,
  })),
  copyOf('subscriptions', 'billing', 'subscription', subscriptions, (data: Subscription, merchantId, version) => ({
    merchantId,
    id: data.subscriptionId,
    userId: data.userId,
    productId: data.productId,
    planId: data.planId,
    status: data.status,
    amount: data.amount,
    createTime: data.createTime,
    data,
    version,
  })),
  copyOf('plans', 'catalog', 'plan', plans, (data: Plan, merchantId, version) => ({
    merchantId,
    id: data.id,
    productId: data.productId,
    status: data.status,
    type: data.type,
    planName: data.planName,
    data,
    version,
  })),
  copyOf('products', 'catalog', 'product', products, (data: Product, merchantId, version) => ({
    merchantId,
    id: data.id,
    deleted: data.isDeleted !== 0,
    data,
    version,
  })),
  copyOf('credit_accounts', 'billing', 'creditAccount', creditAccounts, (data: CreditAccount, merchantId, version) => ({
    merchantId,
    id: data.id,
    userId: data.userId,
    data,
    version,
  })),
  copyOf('currencies', 'catalog', 'currency', currencyRules, (data: MerchantCurrencies, merchantId, version) => ({
    merchantId,
    sets: data.multiCurrencyConfigs,
    version,
  })),
];
