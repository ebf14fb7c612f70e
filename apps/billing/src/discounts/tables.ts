import { document, flag, int, integer, integers, money, optionalDocument, table, text } from '@recur/platform';
import { type Discount, discountLifecycle, type PlanGroup } from './domain/discount.js';
import type { DiscountUse } from './domain/use.js';

const among = (column: string, values: readonly string[]) =>
  `${column} in (${values.map(value => `'${value}'`).join(', ')})`;

export const discounts = table<Discount>('discounts', {
  key: ['merchantId', 'discountId'],
  columns: {
    merchantId: integer(),
    discountId: integer(),
    code: text(),
    status: text<Discount['status']>(),
    subscriptionId: text(),
    name: text(),
    billingType: text<Discount['billingType']>(),
    discountType: text<Discount['discountType']>(),
    amount: money(),
    percentage: int(),
    currency: text(),
    cycleLimit: int(),
    startTime: integer(),
    endTime: integer(),
    quantity: int(),
    userLimit: int(),
    userScope: text<Discount['userScope']>(),
    upgradeOnly: flag(),
    upgradeLongerOnly: flag(),
    advance: flag(),
    planApply: text<Discount['planApply']>(),
    planIds: integers(),
    planGroup: optionalDocument<PlanGroup>(),
    metadata: document<Record<string, unknown>>(),
    uses: int(),
    createTime: integer(),
    deletedTime: integer(),
    version: int(),
  },
  checks: {
    discounts_status: among(
      'status',
      discountLifecycle.states.filter(state => state !== 'expired'),
    ),
    discounts_uses: 'uses >= 0',
  },
  indices: {
    discounts_code: { on: ['merchantId', 'code'], unique: true, where: 'deleted_time = 0' },
    discounts_newest: { on: ['merchantId', 'createTime', 'discountId'] },
  },
});

export const userDiscounts = table<DiscountUse>('user_discounts', {
  key: ['merchantId', 'useId'],
  columns: {
    merchantId: integer(),
    useId: integer(),
    discountId: integer(),
    code: text(),
    status: text<DiscountUse['status']>(),
    userId: integer(),
    planId: integer(),
    subscriptionId: text(),
    invoiceId: text(),
    paymentId: text(),
    currency: text(),
    amount: money(),
    counted: flag(),
    cycle: flag(),
    createTime: integer(),
    modifyTime: integer(),
  },
  checks: { user_discounts_status: `status in ('used', 'rolledBack')` },
  indices: {
    // an invoice carries one code
    user_discounts_invoice: {
      on: ['merchantId', 'invoiceId'],
      unique: true,
      where: `status = 'used' and invoice_id <> ''`,
    },
    user_discounts_newest: { on: ['merchantId', 'discountId', 'createTime', 'useId'] },
    user_discounts_user: { on: ['merchantId', 'discountId', 'userId'] },
    user_discounts_subscription: { on: ['merchantId', 'subscriptionId'], where: `subscription_id <> ''` },
  },
});
