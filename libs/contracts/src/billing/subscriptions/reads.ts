import { z } from 'zod';
import { Plan, PlanSnapshotAddon } from '../../catalog/plan-shape.js';
import { subscriptionStatus } from '../../codes.js';
import { flag, meanings, text } from '../../field.js';
import { User } from '../../identity/user-shape.js';
import * as input from '../../input.js';
import { operation } from '../../operation.js';
import { Gateway } from '../gateways.js';
import { Invoice } from '../invoices/shape.js';
import { PlanAddonParam, SubscriptionDetail, SubscriptionTimeLineDetail } from './details.js';
import { Subscription, SubscriptionPendingUpdate } from './shape.js';

const reading = {
  service: 'billing',
  effect: 'read',
  methods: ['GET', 'POST'],
  permission: 'subscription.read',
} as const;

export const listSubscriptions = operation({
  ...reading,
  name: 'subscription.list',
  path: '/merchant/subscription/list',
  summary: 'Subscriptions that match every filter, newest first',
  input: input.paged(
    z.object({
      userId: input.q.int().optional(),
      externalUserId: input.line.optional(),
      Email: input.line.optional().describe('E-mail of the user, ignoring case'),
      status: input.q.ints().optional().describe(meanings(subscriptionStatus)),
      currency: input.line.toUpperCase().optional(),
      amountStart: input.q.int().optional().describe('Lowest amount'),
      amountEnd: input.q.int().optional().describe('Highest amount'),
      planIds: input.q.ints().optional(),
      productIds: input.q.ints().optional(),
      searchKey: input.line.optional().describe('A subscriptionId, or the id, externalUserId or e-mail of the user'),
      ...input.createdWithin,
      ...input.sorting('createTime', 'modifyTime'),
      ...input.paging,
    }),
  ),
  output: z.object({ subscriptions: z.array(SubscriptionDetail), total: input.total }),
  errors: [],
});

/** Without what only lists show. */
const shown = {
  addonParams: z.array(PlanAddonParam),
  addons: z.array(PlanSnapshotAddon),
  gateway: Gateway.nullable(),
  latestInvoice: Invoice.nullable(),
  plan: Plan.nullable(),
  subscription: Subscription,
  hasNextInvoice: flag.describe('false: no invoice follows, as noNextInvoiceReason says'),
  noNextInvoiceReason: text,
  unfinishedSubscriptionPendingUpdate: SubscriptionPendingUpdate.nullable(),
  user: User.nullable(),
};

export const subscriptionDetail = operation({
  ...reading,
  name: 'subscription.detail',
  path: '/merchant/subscription/detail',
  summary: 'A subscription with its plan, add-ons, latest invoice, pending change and user',
  input: z.object({ subscriptionId: input.filled }),
  output: z.object(shown),
  errors: ['subscription_not_found'],
});

export const userSubscriptionDetail = operation({
  ...reading,
  name: 'subscription.user_subscription_detail',
  path: '/merchant/subscription/user_subscription_detail',
  summary: "A user's subscription to a product: the live one, else the newest; null if there is none",
  input: z.object({
    userId: input.q.int().default(0),
    externalUserId: input.line.default(''),
    productId: input.q.int().default(0),
  }),
  output: z.object({ ...shown, subscription: Subscription.nullable() }),
  errors: ['user_not_found'],
});

export const listTimelines = operation({
  ...reading,
  name: 'subscription.timeline_list',
  path: '/merchant/subscription/timeline_list',
  summary: "Periods of a user's subscriptions, and the changes of plan or quantity inside them, newest first",
  input: input.paged(
    z.object({ userId: input.q.int().optional(), ...input.sorting('createTime', 'periodStart'), ...input.paging }),
  ),
  output: z.object({ subscriptionTimeLines: z.array(SubscriptionTimeLineDetail), total: input.total }),
  errors: [],
});
