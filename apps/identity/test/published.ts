import { emptyOf, Plan, Product, planStatus, planType, Subscription, subscriptionStatus } from '@recur/contracts';
import type { Event } from '@recur/platform';

let made = 0;

/** An event as its owner publishes it. */
function published(
  type: string,
  aggregate: string,
  aggregateId: string | number,
  version: number,
  data: object,
): Event {
  return {
    id: `ev_told_${++made}`,
    type,
    merchantId: 15,
    aggregate,
    aggregateId: String(aggregateId),
    version,
    at: 0,
    actor: { kind: 'system', id: '', display: 'system' },
    requestId: '',
    traceparent: '',
    data,
  };
}

export const subscriptionOf = (userId: number, more: Partial<Subscription> = {}): Subscription => ({
  ...emptyOf(Subscription),
  subscriptionId: `sub_${++made}`,
  merchantId: 15,
  userId,
  planId: 5,
  amount: 1_900,
  status: subscriptionStatus.active,
  createTime: 1_768_000_000 + made,
  ...more,
});
/** billing's event about a subscription. */
export const subscribed = (data: Subscription, version = 1): Event =>
  published(
    version === 1 ? 'subscription.created' : 'subscription.updated',
    'subscription',
    data.subscriptionId,
    version,
    data,
  );

export const planOf = (id: number, more: Partial<Plan> = {}): Plan => ({
  ...emptyOf(Plan),
  id,
  merchantId: 15,
  planName: `Plan ${id}`,
  status: planStatus.active,
  type: planType.main,
  ...more,
});
/** catalog's event about a plan. */
export const planned = (data: Plan, version = 1): Event => published('plan.updated', 'plan', data.id, version, data);

export const productOf = (id: number, more: Partial<Product> = {}): Product => ({
  ...emptyOf(Product),
  id,
  merchantId: 15,
  status: 1,
  ...more,
});
/** catalog's event about a product. */
export const produced = (data: Product, version = 1): Event =>
  published('product.updated', 'product', data.id, version, data);
