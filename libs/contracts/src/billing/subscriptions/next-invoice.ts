import { z } from 'zod';
import { Empty } from '../../field.js';
import * as input from '../../input.js';
import { operation } from '../../operation.js';
import { PreviewInvoice } from '../invoices/shape.js';
import { Subscription, SubscriptionPendingUpdate } from './shape.js';

export const addTrialTime = operation({
  service: 'billing',
  name: 'subscription.add_new_trial_start',
  methods: ['POST'],
  path: '/merchant/subscription/add_new_trial_start',
  summary: "Extend a subscription's trial or period by free hours",
  effect: 'write',
  permission: 'subscription.write',
  input: z.object({ appendTrialEndHour: z.int().min(1).max(87_600), subscriptionId: input.filled }),
  output: Empty,
  errors: ['subscription_not_found', 'subscription_not_extendable', 'payment_under_way'],
});

export const previewNextInvoice = operation({
  service: 'billing',
  name: 'subscription.preview_next_invoice',
  methods: ['GET'],
  path: '/merchant/subscription/preview_subscription_next_invoice',
  summary: "Preview the next invoice of a subscription's billing cycle; nothing is changed",
  effect: 'read',
  permission: 'subscription.read',
  input: z.object({
    userId: input.q.int().optional(),
    externalUserId: input.line.optional(),
    productId: input.q.int().default(0),
    subscriptionId: input.line.optional(),
  }),
  output: z.object({
    invoice: PreviewInvoice,
    subscription: Subscription,
    subscriptionPendingUpdate: SubscriptionPendingUpdate.nullable(),
  }),
  errors: ['user_not_found', 'subscription_not_found', 'subscription_without_next_invoice'],
});
