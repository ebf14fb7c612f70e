import { z } from 'zod';
import { flag, text } from '../../field.js';
import * as input from '../../input.js';
import { operation } from '../../operation.js';
import { Invoice } from '../invoices/shape.js';
import { OnetimePaymentItem } from './details.js';
import * as parts from './inputs.js';

export const newOnetimeAddonPayment = operation({
  service: 'billing',
  name: 'subscription.new_onetime_addon_payment',
  methods: ['POST'],
  path: '/merchant/subscription/new_onetime_addon_payment',
  summary: 'Sell a one-time add-on to the user of a subscription',
  effect: 'write',
  permission: 'subscription.write',
  also: [{ ...parts.discounts, by: ['discountAmount', 'discountPercentage'] }],
  input: z.object({
    subscriptionId: input.line.default(''),
    userId: input.integer.default(0),
    addonId: input.integer,
    quantity: parts.quantity,
    gatewayId: input.integer.default(0),
    discountCode: input.line.default(''),
    discountAmount: z.int().min(0).max(input.largestAmount).default(0),
    discountPercentage: input.percent.default(0),
    taxPercentage: parts.taxPercentage,
    returnUrl: input.returnUrl.default(''),
    metadata: input.metadata.default({}),
  }),
  output: z.object({
    link: text,
    paid: flag,
    invoice: Invoice,
    subscriptionOnetimeAddon: OnetimePaymentItem,
  }),
  errors: [
    'subscription_not_found',
    'subscription_wrong_state',
    'user_inactive',
    'plan_not_found',
    'plan_not_active',
    'gateway_not_found',
    'gateway_archived',
    'amount_below_minimum',
  ],
});

export const listOnetimeAddons = operation({
  service: 'billing',
  name: 'subscription.onetime_addon_list',
  methods: ['GET', 'POST'],
  path: '/merchant/subscription/onetime_addon_list',
  summary: 'One-time add-ons that were sold to a user, newest first',
  effect: 'read',
  permission: 'subscription.read',
  input: input.paged(z.object({ userId: input.q.int(), ...input.paging })),
  output: z.object({ subscriptionOnetimeAddons: z.array(OnetimePaymentItem), total: input.total }),
  errors: [],
});
