import { z } from 'zod';
import { discountBillingType, discountKind, discountStatus, discountType } from '../codes.js';
import { code, decimal, flag, integer, meanings, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';
import { discountFields, discountSettings } from './discounts.js';

/** The most codes of a template, and of one call. */
export const batchLimits = { codes: 100_000, atOnce: 10_000 } as const;

const { userIds: _, ...shared } = discountFields;

const template = z.object({
  ...shared,
  quantity: integer.describe('Codes to generate'),
  codePrefix: text,
  type: code(discountKind),
  childCodeCount: integer.describe('Codes generated so far'),
  usedChildCodeCount: integer.describe('Codes used; those that were given back do not count'),
});
export interface MerchantBatchDiscountCodeTemplate extends z.output<typeof template> {}
export const MerchantBatchDiscountCodeTemplate: Shape<MerchantBatchDiscountCodeTemplate> = template.meta({
  id: 'MerchantBatchDiscountCodeTemplate',
});

const child = z.object({
  ...shared,
  codePrefix: text,
  parentTemplateCode: text,
  type: code(discountKind),
  isRedeemed: flag,
  redeemedAt: time,
  redeemedByEmail: text,
  invoiceId: text,
  paymentId: text,
  subscriptionId: text,
  planId: integer,
  planName: text,
});
export interface MerchantBatchDiscountCode extends z.output<typeof child> {}
export const MerchantBatchDiscountCode: Shape<MerchantBatchDiscountCode> = child.meta({
  id: 'MerchantBatchDiscountCode',
});

const writing = { service: 'billing', effect: 'write', methods: ['POST'], permission: 'discount-code.write' } as const;
const reading = { ...writing, effect: 'read', methods: ['GET', 'POST'], permission: 'discount-code.read' } as const;

const { quantity: __, ...settings } = discountSettings.shape;
const quantity = z.int().min(1).max(batchLimits.codes).describe('Codes to generate in all');
const codePrefix = input
  .rule(input.line, 'must be 1 to 20 letters, digits, - or _', value => /^[\w-]{1,20}$/.test(value))
  .describe('Every code begins with it; not a code itself');

export const newBatchTemplate = operation({
  ...writing,
  name: 'discount.batch_template_new',
  path: '/merchant/discount/batch/template/new',
  summary: 'Add a template, from which codes for a single use each are generated once discount/activate activated it',
  input: z
    .object(settings)
    .required({ billingType: true, discountType: true, startTime: true, endTime: true })
    .extend({ codePrefix, quantity }),
  output: z.object({ template: MerchantBatchDiscountCodeTemplate }),
  errors: [],
});

export const editBatchTemplate = operation({
  ...writing,
  name: 'discount.batch_template_edit',
  path: '/merchant/discount/batch/template/edit',
  summary:
    'Change a template, and so all of its codes. Once it was activated, size and terms stay and quantity only grows',
  input: z.object(settings).extend({
    id: input.integer,
    codePrefix: input.line.default('').describe('Must be that of the template where it is sent'),
    quantity: quantity.optional(),
  }),
  output: z.object({ template: MerchantBatchDiscountCodeTemplate }),
  errors: ['discount_not_found', 'discount_frozen'],
});

export const batchTemplateDetail = operation({
  ...reading,
  name: 'discount.batch_template_detail',
  path: '/merchant/discount/batch/template/detail',
  summary: 'A template with how many of its codes there are, and how many are used',
  input: z.object({ id: input.q.int() }),
  output: z.object({ template: MerchantBatchDiscountCodeTemplate }),
  errors: ['discount_not_found'],
});

export const listBatchTemplates = operation({
  ...reading,
  name: 'discount.batch_template_list',
  path: '/merchant/discount/batch/template/list',
  summary: 'Templates that match every filter, newest first, and counts of all that are not deleted',
  input: input.paged(
    z.object({
      discountType: input.q.ints().default([]).describe(meanings(discountType)),
      billingType: input.q.ints().default([]).describe(meanings(discountBillingType)),
      status: input.q.ints().default([]).describe(meanings(discountStatus)),
      codePrefix: input.line.default(''),
      searchKey: input.line.default('').describe('Part of the prefix or the name, ignoring case'),
      currency: input.optionalCurrency,
      ...input.sorting('createTime', 'modifyTime'),
      ...input.createdWithin,
      ...input.paging,
    }),
  ),
  output: z.object({
    templates: z.array(MerchantBatchDiscountCodeTemplate),
    total: input.total,
    activeTemplateCount: integer,
    totalChildCodeCount: integer,
    usedChildCodeCount: integer,
    usageRate: decimal.describe('Used of all codes, 0 to 1'),
  }),
  errors: [],
});

export const incrementBatchQuantity = operation({
  ...writing,
  name: 'discount.batch_template_quantity',
  path: '/merchant/discount/batch/template/quantity_increment',
  summary: 'Raise the number of codes that a template is for',
  input: z.object({ id: input.integer, amount: z.int().min(1).max(batchLimits.codes) }),
  output: z.object({ template: MerchantBatchDiscountCodeTemplate }),
  errors: ['discount_not_found', 'discount_wrong_state'],
});

export const generateBatchCodes = operation({
  ...writing,
  name: 'discount.batch_children_generate',
  path: '/merchant/discount/batch/children/generate',
  summary:
    'Generate codes of an active template: so many, or all that are left of its quantity, at most 10000 in a call',
  input: input.rule(
    z.object({
      templateId: input.integer.default(0),
      templateCode: input.line.default('').describe('Or the prefix of the template'),
      quantity: z.int().min(1).max(batchLimits.atOnce).optional(),
      codeLength: z
        .int()
        .max(190)
        .optional()
        .describe('Of the prefix and the random part, which must be long enough that codes cannot be guessed'),
      randomStyle: z
        .enum(['auto', 'numeric', 'lower', 'upper'])
        .default('auto')
        .describe('Characters of the random part; auto: as the prefix'),
      isAsync: input.flag.default(false).describe('No effect: codes are there when the call is answered'),
    }),
    'must name the template, or templateCode its prefix',
    ({ templateId, templateCode }) => templateId !== 0 || templateCode !== '',
    ['templateId'],
  ),
  output: z.object({
    templateId: integer,
    templateCode: text,
    totalTarget: integer,
    existingCount: integer.describe('Codes before the call'),
    generatedCount: integer,
    successCount: integer,
    failedCount: integer,
    isAsync: flag,
  }),
  errors: ['discount_not_found', 'discount_wrong_state'],
});

export const listBatchCodes = operation({
  ...reading,
  name: 'discount.batch_children_list',
  path: '/merchant/discount/batch/children/list',
  summary: 'Generated codes of a template, newest first, and who used them',
  input: input.paged(
    z.object({
      templateId: input.q.int(),
      code: input.line.default('').describe('Part of the code, ignoring case'),
      ...input.sorting('createTime'),
      ...input.createdWithin,
      ...input.paging,
    }),
  ),
  output: z.object({ children: z.array(MerchantBatchDiscountCode), total: input.total }),
  errors: ['discount_not_found'],
});

export const batchCodeDetail = operation({
  ...reading,
  name: 'discount.batch_children_detail',
  path: '/merchant/discount/batch/children/detail',
  summary: 'A generated code, and who used it',
  input: z.object({ id: input.q.int() }),
  output: z.object({ child: MerchantBatchDiscountCode }),
  errors: ['discount_not_found'],
});
