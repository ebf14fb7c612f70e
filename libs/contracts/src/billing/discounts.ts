import { z } from 'zod';
import {
  discountBillingType,
  discountPlanApplyType,
  discountStatus,
  discountType,
  discountUserScope,
} from '../codes.js';
import { amount, anyObject, code, deletion, flag, integer, percent, type Shape, text, time } from '../field.js';

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

const discount = z.object({
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
});
export interface Discount extends z.output<typeof discount> {}
export const Discount: Shape<Discount> = discount.meta({ id: 'Discount' });
