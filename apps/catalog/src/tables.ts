import {
  type MultiCurrencyConfig,
  type PlanAutoChargeConfig,
  type PlanMultiTrial,
  planType,
  type UsVatConfig,
} from '@recur/contracts';
import { document, flag, int, integer, integers, money, optionalDocument, table, text } from '@recur/platform';
import { type Checkout, checkoutLifecycle } from './domain/checkout.js';
import { type Plan, planLifecycle, publishLifecycle } from './domain/plan.js';
import { type Product, productLifecycle } from './domain/product.js';

export interface ProductRow extends Product {
  usVatConfig: UsVatConfig | null;
  /** What lists are sorted by: of the name as much as an index takes. */
  sortName: string;
}

/** A plan with what no rule of the domain looks at. */
export interface PlanRow extends Plan {
  multiCurrencies: MultiCurrencyConfig[];
  multiTrials: PlanMultiTrial[];
  autoChargeConfig: PlanAutoChargeConfig | null;
  usVatConfig: UsVatConfig | null;
  /** Made with the plan: it stays what customers were given, should the portal move. */
  checkoutUrl: string;
  /** How the merchant wants the plan's product called where it is paid; no product is made or changed by it. */
  productName: string;
  productDescription: string;
  /** What lists are sorted by: of the name as much as an index takes. */
  sortName: string;
}

const sortedCharacters = 100;
/** Of a name what its order is made of, whatever the case of its letters. */
export const sortNameOf = (name: string) => Array.from(name.toLowerCase()).slice(0, sortedCharacters).join('');

/** A check: the column holds one of these. */
export const oneOf = (column: string, values: readonly string[]) =>
  `${column} in (${values.map(value => `'${value}'`).join(', ')})`;

/** What a list shows; an index of these alone holds all that it needs to know of a row. */
const there = 'deleted_time = 0';

export const products = table<ProductRow>('products', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    version: int(),
    status: text(),
    productName: text(),
    description: text(),
    homeUrl: text(),
    imageUrl: text(),
    metadata: document(),
    usVatConfig: optionalDocument(),
    createTime: integer(),
    modifyTime: integer(),
    deletedTime: integer(),
    sortName: { ...text(), default: '' },
  },
  checks: { products_status: oneOf('status', productLifecycle.states) },
  indices: {
    products_newest: { on: ['merchantId', 'createTime', 'id'], where: there },
    products_by_status: { on: ['merchantId', 'status', 'createTime', 'id'], where: there },
    products_by_name: { on: ['merchantId', 'sortName', 'id', 'status'], where: there },
  },
});

/** What plans are filtered by, beside their ids. */
const planFilters = [
  'status',
  'publishStatus',
  'type',
  'productId',
  'currency',
  'intervalUnit',
  'intervalCount',
] as const satisfies readonly (keyof PlanRow)[];

export const plans = table<PlanRow>('plans', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    version: int(),
    status: text(),
    publishStatus: text(),
    type: text(),
    productId: integer(),
    planName: text(),
    internalName: text(),
    description: text(),
    externalPlanId: text(),
    currency: text(),
    amount: money(),
    compareAtAmount: money(),
    intervalUnit: text(),
    intervalCount: integer(),
    trialAmount: money(),
    trialDurationSeconds: integer(),
    trialDemand: text(),
    cancelAtTrialEnd: flag(),
    disableAutoCharge: flag(),
    gasPayer: text(),
    homeUrl: text(),
    imageUrl: text(),
    checkoutUrl: text(),
    checkoutTemplateId: integer(),
    autoUpgradePlanId: integer(),
    addonIds: integers(),
    onetimeAddonIds: integers(),
    productName: text(),
    productDescription: text(),
    createTime: integer(),
    modifyTime: integer(),
    metadata: document(),
    metricLimits: document(),
    metricMeteredCharge: document(),
    metricRecurringCharge: document(),
    multiCurrencies: document(),
    multiTrials: document(),
    usVatConfig: optionalDocument(),
    sortName: { ...text(), default: '' },
    deletedTime: { ...integer(), default: 0 },
    autoChargeConfig: optionalDocument(),
  },
  checks: {
    plans_status: oneOf('status', planLifecycle.states),
    plans_publish_status: oneOf('publish_status', publishLifecycle.states),
    plans_type: oneOf('type', Object.keys(planType)),
    plans_amount: 'amount >= 0 and compare_at_amount >= 0 and trial_amount >= 0',
  },
  indices: {
    // the orders, each with every filter: nothing but the index is read of what stands before a page
    plans_newest: { on: ['merchantId', 'createTime', 'id', ...planFilters], where: there },
    plans_by_name: { on: ['merchantId', 'sortName', 'id', ...planFilters], where: there },
    plans_by_amount: { on: ['merchantId', 'amount', 'id', ...planFilters], where: there },
    plans_by_status: { on: ['merchantId', 'status', 'createTime', 'id'], where: there },
    plans_by_publish_status: { on: ['merchantId', 'publishStatus', 'createTime', 'id'], where: there },
    plans_by_type: { on: ['merchantId', 'type', 'createTime', 'id'], where: there },
    plans_by_product: { on: ['merchantId', 'productId', 'createTime', 'id'], where: there },
    plans_by_currency: { on: ['merchantId', 'currency', 'createTime', 'id'], where: there },
    plans_by_interval_unit: { on: ['merchantId', 'intervalUnit', 'createTime', 'id'], where: there },
    plans_by_interval_count: { on: ['merchantId', 'intervalCount', 'createTime', 'id'], where: there },
    plans_by_interval: { on: ['merchantId', 'intervalUnit', 'intervalCount', 'createTime', 'id'], where: there },
    plans_external_id: {
      on: ['merchantId', 'externalPlanId'],
      unique: true,
      where: `external_plan_id <> '' and deleted_time = 0`,
    },
  },
});

export const checkouts = table<Checkout>('checkouts', {
  key: ['merchantId', 'id'],
  columns: {
    merchantId: integer(),
    id: integer(),
    version: int(),
    status: text(),
    name: text(),
    description: text(),
    isDefault: flag(),
    data: document(),
    stagingData: document(),
    createTime: integer(),
    modifyTime: integer(),
  },
  checks: {
    checkouts_status: oneOf('status', checkoutLifecycle.states),
    checkouts_default: `status = 'live' or not is_default`,
  },
  indices: {
    checkouts_listed: { on: ['merchantId', 'status', 'createTime', 'id'] },
    checkouts_one_default: { on: ['merchantId'], unique: true, where: 'is_default' },
  },
});

/** What `searchable` has made: no row-level security; kept by a trigger, reached by `db.search` alone. */
export const searchTables = ['plans_search', 'metrics_search'];
