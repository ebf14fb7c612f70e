import { emptyOf, noYes, Subscription, subscriptionStatus } from '@recur/contracts';

const at = 1_795_000_000;
const MONTH = 30 * 86_400;

const pending: Subscription = {
  ...emptyOf(Subscription),
  subscriptionId: 'sub_01m7ysw4f0z8c6t2d9r5k3n1qa',
  id: 1,
  merchantId: 1,
  userId: 1,
  planId: 1,
  quantity: 1,
  amount: 2000,
  currency: 'EUR',
  timeZone: 'UTC',
  type: 1,
  gatewayId: 1,
  billingCycleAnchor: at,
  currentPeriodStart: at,
  currentPeriodEnd: at + MONTH,
  originalPeriodEnd: at + MONTH,
  latestInvoiceId: 'in_01m7ysrqj1az9fjmt1f4rb7qrn',
  status: subscriptionStatus.pending,
  createTime: at,
};
const active: Subscription = {
  ...pending,
  status: subscriptionStatus.active,
  currentPeriodPaid: 1,
  firstPaidTime: at,
};
const next = { currentPeriodStart: at + MONTH, currentPeriodEnd: at + 2 * MONTH, originalPeriodEnd: at + 2 * MONTH };
const incomplete = { status: subscriptionStatus.incomplete, dunningTime: at + MONTH };
const priceChange = {
  planId: 1,
  oldAmount: 2000,
  newAmount: 2400,
  noticeTime: at,
  effectTime: at + MONTH,
};
const over = { cancelOrExpireTime: at, cancelReason: 'Moved away' };

/** A subscription after each event of it, with its position in the subscription's history. */
export const subscriptionStates = {
  'subscription.created': [1, pending],
  'subscription.activated': [2, active],
  'subscription.imported': [1, { ...active, externalSubscriptionId: 'sub_1NqVZt', latestInvoiceId: '' }],
  'subscription.updated': [3, { ...active, quantity: 2, amount: 4000 }],
  'subscription.auto_renew.success': [3, { ...active, ...next }],
  'subscription.auto_renew.failure': [3, { ...active, ...incomplete }],
  'subscription.price_change_notice': [3, { ...active, priceChanges: [priceChange] }],
  'subscription.cancelled': [3, { ...active, ...over, status: subscriptionStatus.cancelled }],
  'subscription.end.of.this.cycle': [3, { ...active, cancelAtPeriodEnd: noYes.yes }],
  'subscription.resume.end.of.this.cycle': [4, active],
  'subscription.track': [3, active],
  'subscription.track.willcancel': [4, { ...active, cancelAtPeriodEnd: noYes.yes }],
  'subscription.track.user.outofsubscribe': [4, { ...active, ...over, status: subscriptionStatus.cancelled }],
  'subscription.expired': [4, { ...active, ...over, status: subscriptionStatus.expired }],
  'subscription.failed': [2, { ...pending, ...over, status: subscriptionStatus.failed }],
} satisfies Record<string, [number, Subscription]>;
