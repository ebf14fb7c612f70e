import { z } from 'zod';
import { Plan } from '../catalog/plan-shape.js';
import {
  discountBillingType,
  discountPlanApplyType,
  discountStatus,
  discountType,
  discountUserScope,
  intervalUnits,
  noYes,
  planType,
  userDiscountStatus,
} from '../codes.js';
import {
  amount,
  anyObject,
  code,
  deletion,
  Empty,
  flag,
  integer,
  meanings,
  percent,
  type Shape,
  text,
  time,
} from '../field.js';
import { User } from '../identity/user-shape.js';
import * as input from '../input.js';
import { operation } from '../operation.js';

const discountPlanIntervalSelector = z.object({
  intervalCount: integer,
  intervalUnit: text,
});
export interface DiscountPlanIntervalSelector extends z.output<typeof discountPlanIntervalSelector> {}
export const DiscountPlanIntervalSelector: Shape<DiscountPlanIntervalSelector> = discountPlanIntervalSelector.meta({
  id: 'DiscountPlanIntervalSelector',
});

const discountPlanApplyGroup = z.object({
  currency: z.array(text),
  groupPlanIntervalSelector: z.array(DiscountPlanIntervalSelector),
  type: z.array(integer),
});
export interface DiscountPlanApplyGroup extends z.output<typeof discountPlanApplyGroup> {}
export const DiscountPlanApplyGroup: Shape<DiscountPlanApplyGroup> = discountPlanApplyGroup.meta({
  id: 'DiscountPlanApplyGroup',
});

export const discountFields = {
  id: integer,
  merchantId: integer,
  createTime: time,
  startTime: time,
  endTime: time,
  billingType: code(discountBillingType),
  cycleLimit: integer,
  discountType: code(discountType),
  isDeleted: deletion,
  planApplyType: code(discountPlanApplyType),
  quantity: integer,
  status: code(discountStatus),
  userLimit: integer,
  userScope: code(discountUserScope),
  discountAmount: amount,
  discountPercentage: percent,
  code: text,
  currency: text,
  name: text,
  advance: flag,
  upgradeLongerOnly: flag,
  upgradeOnly: flag,
  metadata: anyObject,
  planIds: z.array(integer),
  userIds: z.array(integer),
  planApplyGroup: DiscountPlanApplyGroup.nullable(),
};
const discount = z.object(discountFields);
export interface Discount extends z.output<typeof discount> {}
export const Discount: Shape<Discount> = discount.meta({ id: 'Discount' });

const discountDetail = discount.omit({ userIds: true }).extend({
  plans: z.array(Plan).describe('The plans of planIds'),
  quantityUsed: z.int().describe('Uses so far; those that were rolled back do not count'),
  liveQuantity: z.int().describe('Uses left; 0 where quantity is 0, which does not limit'),
});
export interface MerchantDiscountCodeDetail extends z.output<typeof discountDetail> {}
export const MerchantDiscountCodeDetail: Shape<MerchantDiscountCodeDetail> = discountDetail.meta({
  id: 'MerchantDiscountCodeDetail',
});

const discountUse = z.object({
  id: integer,
  merchantId: integer,
  createTime: time,
  code: text,
  status: code(userDiscountStatus),
  currency: text,
  applyAmount: amount,
  recurring: code(noYes).describe('1: a cycle invoice of a recurring discount; such uses count for no limit'),
  subscriptionId: text,
  invoiceId: text,
  paymentId: text,
  plan: Plan.nullable(),
  user: User.nullable(),
});
export interface MerchantUserDiscountCodeDetail extends z.output<typeof discountUse> {}
export const MerchantUserDiscountCodeDetail: Shape<MerchantUserDiscountCodeDetail> = discountUse.meta({
  id: 'MerchantUserDiscountCodeDetail',
});

const writing = { service: 'billing', effect: 'write', methods: ['POST'], permission: 'discount-code.write' } as const;
const reading = { ...writing, effect: 'read', methods: ['GET', 'POST'], permission: 'discount-code.read' } as const;

const limit = z.int().min(0).max(1_000_000_000);
const moment = z.int().min(0);
const units = Object.keys(intervalUnits) as (keyof typeof intervalUnits)[];

const group = z
  .object({
    currency: input.list(input.Currency, 100).default([]),
    groupPlanIntervalSelector: input
      .list(
        z
          .object({ intervalUnit: z.enum(units), intervalCount: z.int().min(1) })
          .meta({ 'x-shape': 'DiscountPlanIntervalSelectorInput' }),
        100,
      )
      .default([]),
    type: input.list(input.code(planType), 3).default([]),
  })
  .meta({ 'x-shape': 'DiscountPlanApplyGroupInput' });

const settings = {
  billingType: input.code(discountBillingType).describe('2: the discount applies to cycle invoices too'),
  discountType: input.code(discountType),
  discountAmount: input.price.describe('Minor units of currency; of a fixed amount'),
  discountPercentage: input.percent.describe('10000 is 100 %; of a percentage'),
  currency: input.optionalCurrency.removeDefault().describe('Of a fixed amount, which applies in no other currency'),
  cycleLimit: limit.describe('Invoices that a recurring discount reduces; 0: no limit'),
  startTime: moment.describe('Unix seconds'),
  endTime: moment.describe('Unix seconds; 0: never'),
  name: input.line,
  metadata: input.metadata,
  quantity: limit.describe('Uses by all users; 0: no limit'),
  userLimit: limit.describe('Uses by each user; 0: no limit'),
  userScope: input.code(discountUserScope),
  upgradeOnly: input.flag,
  upgradeLongPlanOnly: input.flag.describe('Only for upgrades to a longer interval'),
  advance: input.flag.describe('Kept and answered'),
  planApplyType: input.code(discountPlanApplyType),
  planIds: input.list(z.int()),
  planApplyGroup: group.describe(
    'A plan belongs to it if it has one of the values of each list that is not empty; at least one list is not empty',
  ),
};
/** The settings of a discount, all of them optional. */
export const discountSettings = z.object(settings).partial();

export const newDiscount = operation({
  ...writing,
  name: 'discount.new',
  path: '/merchant/discount/new',
  summary: 'Add a discount code, which can be used once it is activated',
  input: discountSettings
    .required({ billingType: true, discountType: true, startTime: true, endTime: true })
    .extend({ code: input.filledKey.describe('Unique among the codes that are not deleted') }),
  output: z.object({ discount: Discount }),
  errors: [],
});

export const editDiscount = operation({
  ...writing,
  name: 'discount.edit',
  path: '/merchant/discount/edit',
  summary:
    'Change a discount; only the fields sent change. Once it was activated, its size, currency, billing type and cycles stay',
  input: discountSettings.required({ discountType: true }).extend({ id: input.integer }),
  output: z.object({ discount: Discount }),
  errors: ['discount_not_found', 'discount_frozen'],
});

const byId = z.object({ id: input.integer });

export const activateDiscount = operation({
  ...writing,
  name: 'discount.activate',
  path: '/merchant/discount/activate',
  summary: 'Activate a discount code; no effect if it is active. An expired one needs a later endTime first',
  input: byId,
  output: Empty,
  errors: ['discount_not_found', 'discount_wrong_state'],
});

export const deactivateDiscount = operation({
  ...writing,
  name: 'discount.deactivate',
  path: '/merchant/discount/deactivate',
  summary: 'Deactivate a discount code; no effect if it is deactivated. Subscriptions that have it keep it',
  input: byId,
  output: Empty,
  errors: ['discount_not_found', 'discount_wrong_state'],
});

export const deleteDiscount = operation({
  ...writing,
  name: 'discount.delete',
  path: '/merchant/discount/delete',
  summary: 'Delete a discount code, which may then be used for another one. Subscriptions that have it keep it',
  input: byId,
  output: Empty,
  errors: ['discount_not_found'],
});

const listed = { ...input.sorting('createTime'), ...input.createdWithin, ...input.paging };

export const listDiscounts = operation({
  ...reading,
  name: 'discount.list',
  path: '/merchant/discount/list',
  summary: 'Discounts that match every filter, newest first; deleted ones only where status has 10',
  input: input.paged(
    z.object({
      discountType: input.q.ints().default([]).describe(meanings(discountType)),
      billingType: input.q.ints().default([]).describe(meanings(discountBillingType)),
      status: input.q.ints().default([]).describe(meanings(discountStatus)),
      code: input.line.default(''),
      searchKey: input.line.default('').describe('Part of the code or the name, ignoring case'),
      currency: input.optionalCurrency,
      ...listed,
    }),
  ),
  output: z.object({ discounts: z.array(MerchantDiscountCodeDetail), total: input.total }),
  errors: [],
});

export const getDiscount = operation({
  ...reading,
  name: 'discount.detail',
  path: '/merchant/discount/detail',
  summary: 'A discount with its plans and how often it was used',
  input: z.object({ id: input.q.int() }),
  output: z.object({ discount: MerchantDiscountCodeDetail }),
  errors: ['discount_not_found'],
});

export const incrementDiscountQuantity = operation({
  ...writing,
  name: 'discount.quantity_increment',
  path: '/merchant/discount/quantity_increment',
  summary: 'Raise the number of uses of a discount that limits it',
  input: byId.extend({ amount: z.int().min(1).max(1_000_000_000) }),
  output: z.object({ discount: Discount }),
  errors: ['discount_not_found', 'discount_unlimited'],
});

export const listUserDiscounts = operation({
  ...reading,
  name: 'discount.user_discount_list',
  path: '/merchant/discount/user_discount_list',
  summary: 'Uses of a discount that match every filter, newest first',
  input: input.paged(
    z.object({
      id: input.q.int(),
      userIds: input.q.ints().default([]),
      email: input.line.default(''),
      planIds: input.q.ints().default([]),
      subscriptionIds: input.q.strings().default([]),
      status: input.q.ints().default([]).describe(meanings(userDiscountStatus)),
      childCode: input.line.default('').describe('The code under which it was used'),
      ...listed,
    }),
  ),
  output: z.object({ userDiscounts: z.array(MerchantUserDiscountCodeDetail), total: input.total }),
  errors: ['discount_not_found'],
});

export const previewDiscount = operation({
  ...reading,
  name: 'discount.plan_apply_preview',
  methods: ['POST'],
  path: '/merchant/discount/plan_apply_preview',
  summary: 'Whether a code could be used now for a new subscription to a plan, by a user or by anybody',
  input: z.object({
    code: input.filledKey,
    planId: input.integer,
    userId: input.integer.default(0),
    email: input.line.default('').describe('Used if there is no userId; an unknown user counts as a new one'),
  }),
  output: z.object({
    discount: Discount.nullable(),
    discountMessage: z.string().describe('Why the code cannot be used; blank if it can'),
    valid: z.boolean(),
  }),
  errors: ['plan_not_found'],
});
