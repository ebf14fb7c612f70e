import { z } from 'zod';
import { Empty } from '../../field.js';
import * as input from '../../input.js';
import { operation } from '../../operation.js';
import { Invoice } from '../invoices/shape.js';
import { Subscription } from './shape.js';

const writing = { service: 'billing', effect: 'write', methods: ['POST'], permission: 'subscription.write' } as const;

export const activateTemporarily = operation({
  ...writing,
  name: 'subscription.active_temporarily',
  path: '/merchant/subscription/active_temporarily',
  summary: 'Let an unpaid subscription be used until a time; its invoice stays open',
  input: z.object({
    subscriptionId: input.filled,
    expireTime: z.int().min(1).max(10_000_000_000).describe('Unix second, at most 30 days from now'),
  }),
  output: Empty,
  errors: ['subscription_not_found', 'subscription_wrong_state'],
});

export const changeGateway = operation({
  ...writing,
  name: 'subscription.change_gateway',
  path: '/merchant/subscription/change_gateway',
  summary: 'Change the gateway and payment method by which a subscription is charged',
  input: z.object({
    subscriptionId: input.filled,
    gatewayId: input.integer,
    gatewayPaymentType: input.line.default(''),
    paymentMethodId: input.line.default(''),
  }),
  output: Empty,
  errors: [
    'subscription_not_found',
    'subscription_wrong_state',
    'gateway_not_found',
    'gateway_archived',
    'payment_method_not_found',
  ],
});

export const changeDueDay = operation({
  ...writing,
  name: 'subscription.change_due_day',
  path: '/merchant/subscription/change_due_day',
  summary: 'Change the day on which periods begin; a shorter one leads to it',
  input: z.object({
    subscriptionId: input.filled,
    dueDay: z.int().min(1).max(31).describe('Day of the month; for weekly plans the ISO weekday 1..7'),
  }),
  output: z.object({ subscription: Subscription, invoice: Invoice.nullable() }),
  errors: ['subscription_not_found', 'subscription_wrong_state', 'payment_under_way'],
});

export const resumeSubscription = operation({
  ...writing,
  name: 'subscription.resume',
  path: '/merchant/subscription/resume',
  summary: 'Take up the billing of a parked subscription again',
  input: z.object({ subscriptionId: input.filled }),
  output: z.object({ subscription: Subscription }),
  errors: ['subscription_not_found', 'subscription_not_parked'],
});
