import { z } from 'zod';
import { amount, integer } from '../field.js';
import * as input from '../input.js';
import { internal, operation } from '../operation.js';

const counts = {
  activeAffectedSubscriptions: integer.describe('Active ones among them'),
  totalAffectedSubscriptions: integer.describe('Live subscriptions whose price changes'),
};
const PriceChanged = z.object({ planId: integer, oldAmount: amount, newAmount: amount, ...counts });

export const previewPriceChange = operation({
  service: 'catalog',
  name: 'plan.active_price_change_preview',
  methods: ['POST'],
  path: '/merchant/plan/active_price_change/preview',
  summary: 'How many subscriptions a new price of an active plan concerns; nothing changes',
  effect: 'read',
  permission: 'plan.read',
  input: z.object({ planId: input.integer, newAmount: input.price }),
  output: PriceChanged,
  errors: ['plan_not_found', 'plan_not_active'],
});

export const confirmPriceChange = operation({
  service: 'catalog',
  name: 'plan.active_price_change_confirm',
  methods: ['POST'],
  path: '/merchant/plan/active_price_change/confirm',
  summary: 'Change the price of an active plan; running subscriptions keep theirs until a period after their notice',
  effect: 'write',
  permission: 'plan.write',
  input: z.object({
    planId: input.integer,
    newAmount: input.price,
    confirmOldAmount: input.price.describe('The amount that the plan has now, as previewed'),
    reason: input.line.default(''),
  }),
  output: PriceChanged,
  errors: ['plan_not_found', 'plan_not_active'],
});

/** The live subscriptions that sell a plan at another price than they would with a new amount; asked by catalog. */
export const priceChangeCounts = internal({
  service: 'billing',
  name: 'platform.price_change_counts',
  amongServices: true,
  askedBy: ['catalog'],
  input: z.object({ planId: z.int(), isAddon: z.boolean(), currency: z.string(), newAmount: z.int().min(0) }),
  output: z.object(counts),
});
