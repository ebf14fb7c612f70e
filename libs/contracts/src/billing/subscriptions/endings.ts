import { z } from 'zod';
import { Empty } from '../../field.js';
import * as input from '../../input.js';
import { operation } from '../../operation.js';
import * as parts from './inputs.js';

const writing = { service: 'billing', effect: 'write', methods: ['POST'], permission: 'subscription.write' } as const;
const stateErrors = ['subscription_not_found', 'subscription_wrong_state'] as const;

export const cancelSubscription = operation({
  ...writing,
  name: 'subscription.cancel',
  also: [parts.refunds],
  path: '/merchant/subscription/cancel',
  summary: 'End a subscription now, with or without credit for unused time and a last invoice',
  input: z.object({
    ...parts.subscriptionKey,
    reason: input.prose.default(''),
    prorate: input.flag.default(false).describe('Credit the unused time of the current period'),
    invoiceNow: input.flag.default(false).describe('Bill the usage of the current period'),
    refund: input.flag.default(false).describe('Refund a negative total instead of crediting it'),
  }),
  output: Empty,
  errors: [...stateErrors, 'payment_under_way'],
});

export const cancelAtPeriodEnd = operation({
  ...writing,
  name: 'subscription.cancel_at_period_end',
  path: '/merchant/subscription/cancel_at_period_end',
  summary: 'End a subscription when its current period ends; no effect if that is already so',
  input: z.object(parts.subscriptionKey),
  output: Empty,
  errors: stateErrors,
});

export const keepAfterPeriodEnd = operation({
  ...writing,
  name: 'subscription.cancel_last_cancel_at_period_end',
  path: '/merchant/subscription/cancel_last_cancel_at_period_end',
  summary: 'Take back a cancellation at the end of the period; no effect if there is none',
  input: z.object(parts.subscriptionKey),
  output: Empty,
  errors: stateErrors,
});
