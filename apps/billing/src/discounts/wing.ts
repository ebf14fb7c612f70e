import type { Wing } from '@recur/platform';
import { Discounts } from './discounts.js';
import { DiscountLists } from './lists.js';
import { discounts, generatedCodes, userDiscounts } from './tables.js';
import { DiscountTemplates, GeneratedCodes } from './templates.js';

/** Discount codes and their uses. */
export const discountsWing: Wing = {
  tables: [discounts, userDiscounts, generatedCodes],
  controllers: [DiscountTemplates, GeneratedCodes, Discounts, DiscountLists],
};
