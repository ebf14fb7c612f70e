import { document, flag, int, integer, integers, money, oneOf, optionalDocument, table, text } from '@recur/platform';
import { type Discount, discountLifecycle, type PlanGroup } from './domain/discount.js';
import type { DiscountUse } from './domain/generated.js';

export const discounts = table<Discount>('discounts', {
  key: ['merchantId', 'discountId'],
  columns: {
    merchantId: integer(),
    discountId: integer(),
    code: text(),
    kind: { ...text<Discount['kind']>(), default: 'code' },
    generated: { ...int(), default: 0 },
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
    modifyTime: { ...integer(), default: 0 },
    deletedTime: integer(),
    version: int(),
  },
  checks: {
    discounts_status: oneOf(
      'status',
      discountLifecycle.states.filter(state => state !== 'expired'),
    ),
    discounts_uses: 'uses >= 0',
    discounts_kind: `kind in ('code', 'template')`,
  },
  indices: {
    discounts_code: { on: ['merchantId', 'code'], unique: true, where: 'deleted_time = 0' },
    discounts_newest: { on: ['merchantId', 'createTime', 'discountId'] },
    discounts_templates: { on: ['merchantId', 'createTime', 'discountId'], where: `kind = 'template'` },
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

/** A code that was generated from a template, for a single use. */
export interface GeneratedCode {
  merchantId: number;
  codeId: number;
  templateId: number;
  code: string;
  /** The use of it, unless that was rolled back; 0 for none. */
  useId: number;
  createTime: number;
}

export const generatedCodes = table<GeneratedCode>('generated_codes', {
  key: ['merchantId', 'codeId'],
  columns: {
    merchantId: integer(),
    codeId: integer(),
    templateId: integer(),
    code: text(),
    useId: integer(),
    createTime: integer(),
  },
  indices: {
    generated_codes_code: { on: ['merchantId', 'code'], unique: true },
    generated_codes_newest: { on: ['merchantId', 'templateId', 'createTime', 'codeId'] },
  },
});
