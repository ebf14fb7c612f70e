import {
  aggregationType,
  emptyOf,
  type MerchantMetric,
  MerchantMetric as MetricShape,
  metricType,
  newUsageEvent,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Reader, Tx } from '@recur/platform';
import { billing } from '../../src/service.js';
import type { PlanTerms, UsagePeriod, UsageSubscription } from '../../src/usage/domain/facts.js';
import { type ShownSubscription, SubscriptionFacts } from '../../src/usage/subscription-facts.js';
import { shop } from '../shop.js';

export const day = 86_400;

/** Facts of subscriptions as a test states them. */
export class StatedFacts extends SubscriptionFacts {
  readonly all = new Map<string, UsageSubscription>();

  async ofUsers(_: Reader, userIds: readonly number[]): Promise<UsageSubscription[]> {
    return [...this.all.values()].filter(({ userId }) => userIds.includes(userId));
  }
  async ofSubscription(_: Reader, subscriptionId: string): Promise<UsageSubscription | undefined> {
    return this.all.get(subscriptionId);
  }
  async shown(): Promise<ShownSubscription> {
    return { subscription: null, product: null, plan: null, addons: [], onetimeAddons: [], isPaid: true };
  }
}

type Kind = keyof typeof metricType;
type Aggregation = keyof typeof aggregationType;
type Charge = PlanTerms['charges'][number];

export const charge = (metricId: number, over: Partial<Charge> = {}): Charge => ({
  ...{ metricId, chargeType: 0, standardAmount: 10, standardStartValue: 0, graduatedAmounts: [] },
  ...over,
});
/** 1–100 at 10, then 5. */
export const tiers = (metricId: number): Charge =>
  charge(metricId, {
    ...{ chargeType: 1, standardAmount: 0 },
    graduatedAmounts: [
      { startValue: 0, endValue: 100, perAmount: 10, flatAmount: 0 },
      { startValue: 100, endValue: -1, perAmount: 5, flatAmount: 0 },
    ],
  });
export const limit = (metricId: number, metricLimit: number) => ({ metricId, metricLimit });
export const terms = (over: Partial<PlanTerms> = {}): PlanTerms => ({
  ...{ planId: 1, quantity: 1, limits: [], charges: [], autoUpgradePlanId: 0 },
  ...over,
});
export const period = (start: number, end: number, ...of: PlanTerms[]): UsagePeriod => ({
  ...{ start, end, state: 'open' },
  segments: [{ start, end, terms: of }],
});

/** Billing with metrics and users known to their owners, and subscriptions as `facts` states them. */
export async function meter() {
  const facts = new StatedFacts();
  const providers = (billing.providers ?? []).filter(
    each => !(typeof each === 'object' && 'provide' in each && each.provide === SubscriptionFacts),
  );
  const s = await shop({ ...billing, providers: [...providers, { provide: SubscriptionFacts, useValue: facts }] });
  const { t, clock } = s;
  const metrics = new Map<number, MerchantMetric>();
  const catalog = { away: false };
  t.bus.answer('catalog', async (_, payload) => {
    if (catalog.away) throw new Rejected('dependency_away');
    const { aggregate, id, by } = JSON.parse(payload);
    const found = [...metrics.values()].find(metric => String(metric.id) === id || metric.code === by?.code);
    const item = aggregate === 'metric' && found ? { merchantId: 15, version: 1, data: found } : null;
    return { ok: true as const, bytes: JSON.stringify({ item }) };
  });
  let [users, subscriptions, ids] = [100, 0, 0];
  const start = clock.now() - 10 * day;
  /** A metric that catalog knows. */
  const metric = (kind: Kind, aggregation: Aggregation = 'sum', over: Partial<MerchantMetric> = {}): MerchantMetric => {
    const id = metrics.size + 1;
    const made = {
      ...emptyOf(MetricShape),
      ...{ id, merchantId: 15, code: `m${id}`, metricName: `Metric ${id}`, aggregationProperty: 'amount' },
      ...{ type: metricType[kind], aggregationType: aggregationType[aggregation] },
      ...over,
    };
    metrics.set(id, made);
    return made;
  };
  /** A user with a subscription to these terms, in a period of 30 days that began 10 days ago. */
  const subscribed = (of: PlanTerms[], over: Partial<UsageSubscription> = {}): UsageSubscription => {
    const userId = ++users;
    s.knowUser(userId, { externalUserId: `user-${userId}` });
    const subscription: UsageSubscription = {
      ...{
        subscriptionId: `sub_${++subscriptions}`,
        userId,
        productId: 0,
        currency: 'EUR',
        start,
        end: 0,
        free: [],
      },
      ...{ takesUntil: 0, lateUsage: 'next' },
      periods: [period(start, start + 30 * day, ...of)],
      ...over,
    };
    facts.all.set(subscription.subscriptionId, subscription);
    return subscription;
  };
  const change = (subscription: UsageSubscription, over: Partial<UsageSubscription>): UsageSubscription => {
    const changed = { ...subscription, ...over };
    facts.all.set(subscription.subscriptionId, changed);
    return changed;
  };
  const input = (
    { userId }: { userId: number },
    { code }: MerchantMetric,
    aggregationValue?: number,
    over: object = {},
  ) => ({
    ...{ userId, metricCode: code, externalEventId: `e-${++ids}` },
    ...(aggregationValue !== undefined && { aggregationValue }),
    ...over,
  });
  return {
    ...{ ...s, facts, catalog, metrics, start, metric, subscribed, change, input },
    /** Records an event; its answer, or the slug of its refusal. */
    async event(of: UsageSubscription, metric: MerchantMetric, value?: number, over: object = {}) {
      const result = await t.call(newUsageEvent, input(of, metric, value, over));
      return result.ok ? result.data.merchantMetricEvent.used : result.slug;
    },
    /** Runs verbs in one transaction. */
    async inTx<T>(run: (tx: Tx) => Promise<T>): Promise<T> {
      const results: T[] = [];
      await t.db.write(t.callerOf(), async tx => {
        results.splice(0, 1, await run(tx));
        tx.log('Test()', 'Try');
        return {};
      });
      return results[0] as T;
    },
    counters: (of: UsageSubscription) =>
      t.rows(
        `select metric_id::int, start_at::int as start, end_at::int as "end", events::int, used::int, adjusted::int, closed
         from usage_counters where subscription_id = $1 order by metric_id, start_at`,
        [of.subscriptionId],
      ),
  };
}
export type Meter = Awaited<ReturnType<typeof meter>>;
