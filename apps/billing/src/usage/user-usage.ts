import { Controller } from '@nestjs/common';
import {
  checkUsage,
  emptyOf,
  type In,
  subscriptionUsage,
  UserMetric,
  usageCurrentValue,
  userUsage,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Reader } from '@recur/platform';
import { assertMetric, metricsByCode } from '../customers/catalog.js';
import { assertUser, findUser, type UserKey, usersById } from '../customers/users.js';
import { pricedSteps, usageAmount, usagePrice } from '../pricing/usage.js';
import { chargedIntervals, chargeMetrics, countersOfSubscription, shownValue } from './billable-usage.js';
import { checked, standing } from './command.js';
import { assignPeriod, isLimit, metricKindOf, priceFor } from './domain/counter.js';
import type { UsagePeriod, UsageSubscription } from './domain/subscription.js';
import { resolve } from './events/resolve.js';
import { limitStats } from './limits/carry-over.js';
import { MeteredSubscriptions } from './metered-subscriptions.js';
import { priceView, stepView, tierView } from './views.js';

const emptyMetric = emptyOf(UserMetric);

/** Usage as it stands. Read from counters: the cost does not grow with events. */
@Controller()
export class UserUsage {
  constructor(
    private readonly db: Db,
    private readonly metered: MeteredSubscriptions,
  ) {}

  @Handle(usageCurrentValue)
  async current(input: In<typeof usageCurrentValue>, caller: Caller) {
    await this.refreshed(caller, statKey(input), input.metricCode);
    return this.db.read(caller, async reader => {
      const user = await findUser(reader, statKey(input));
      const metric = (await metricsByCode(reader, [input.metricCode])).get(input.metricCode);
      if (!user || !metric) throw new Rejected(user ? 'metric_not_found' : 'user_not_found');
      const found = assignPeriod(await this.eligible(reader, user.id, input.productId), {
        metricId: metric.id,
        at: reader.now,
        now: reader.now,
      });
      if ('refused' in found) throw new Rejected('usage_not_subscribed');
      const { subscription, period } = found;
      if (isLimit(metric)) {
        const stat = (await limitStats(reader, subscription, period)).find(one => one.metric.id === metric.id);
        const total = Number(stat?.total ?? 0n);
        return { currentValue: Number(stat?.used ?? 0n), metricLimit: stat?.view ?? null, totalLimit: total };
      }
      const { shown } = await standing(reader, { ...found, at: reader.now, incoming: { metric } });
      return { currentValue: Number(await shown()), metricLimit: null, totalLimit: 0 };
    });
  }

  @Handle(checkUsage)
  async check(input: In<typeof checkUsage>, caller: Caller) {
    const { aggregationValue, aggregationUniqueId } = input;
    const isBlank = aggregationValue === undefined && aggregationUniqueId === '';
    const event = {
      ...input,
      externalEventId: '',
      metricProperties: {},
      eventTime: 0,
      aggregationValue: isBlank ? 1 : aggregationValue,
      // resolving refuses a unique count without an id
      aggregationUniqueId: aggregationUniqueId || 'new',
    };
    const [incoming] = await resolve(this.db, caller, [event]);
    if (!incoming || incoming instanceof Rejected) throw incoming;
    const asked = { ...incoming, uniqueId: aggregationUniqueId && incoming.uniqueId };
    return this.db.read(caller, async reader =>
      checkUsage.output.parse(await checked(reader, asked, await this.metered.ofUsers(reader, [incoming.userId]))),
    );
  }

  @Handle(userUsage)
  async ofUser(input: In<typeof userUsage>, caller: Caller) {
    await this.refreshed(caller, statKey(input));
    return this.db.read(caller, async reader => {
      const user = await findUser(reader, statKey(input));
      if (!user) throw new Rejected('user_not_found');
      const living = (await this.eligible(reader, user.id, input.productId)).filter(({ end }) => end === 0);
      const newest = living.sort((one, other) => other.start - one.start)[0];
      if (newest) return { userMetric: await this.usageOf(reader, newest) };
      const otherId = await this.metered.newestId(reader, user.id, input.productId);
      return { userMetric: { ...(await this.idle(reader, otherId)), user: user.data } };
    });
  }

  @Handle(subscriptionUsage)
  ofSubscription({ subscriptionId }: In<typeof subscriptionUsage>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const subscription = await this.metered.ofSubscription(reader, subscriptionId);
      if (subscription) return { userMetric: await this.usageOf(reader, subscription) };
      const userMetric = await this.idle(reader, subscriptionId);
      if (!userMetric.subscription) throw new Rejected('subscription_not_found');
      const { userId } = userMetric.subscription;
      return { userMetric: { ...userMetric, user: (await usersById(reader, [userId])).get(userId) ?? null } };
    });
  }

  /** A subscription that takes no usage, beside no values; none where there is none. */
  private async idle(reader: Reader, subscriptionId: string | undefined) {
    return subscriptionId === undefined
      ? emptyMetric
      : { ...emptyMetric, ...(await this.metered.shown(reader, subscriptionId)) };
  }

  /** Asks the owners of users and metrics for those that have no copy; the read that follows decides. */
  private async refreshed(caller: Caller, key: UserKey, metricCode?: string): Promise<void> {
    await this.db.append(caller, async appender => {
      assertUser(appender, key, await findUser(appender, key));
      if (metricCode !== undefined) await assertMetric(appender, metricCode);
      return {};
    });
  }

  private async eligible(reader: Reader, userId: number, productId: number): Promise<UsageSubscription[]> {
    const subscriptions = await this.metered.ofUsers(reader, [userId]);
    return productId === 0 ? subscriptions : subscriptions.filter(one => one.productId === productId);
  }

  private async usageOf(reader: Reader, subscription: UsageSubscription) {
    const period = subscription.periods.findLast(({ start }) => start <= reader.now);
    const [shown, users, limits, charges] = await Promise.all([
      this.metered.shown(reader, subscription.subscriptionId),
      usersById(reader, [subscription.userId]),
      period ? limitStats(reader, subscription, period) : [],
      period ? chargeStats(reader, subscription, period) : [],
    ]);
    const ofKind = (kind: string) => charges.filter(({ merchantMetric }) => metricKindOf(merchantMetric) === kind);
    return {
      ...emptyMetric,
      ...shown,
      user: users.get(subscription.userId) ?? null,
      limitStats: limits.map(({ used, minEventId, maxEventId, view }) => ({
        CurrentUsedValue: Number(used),
        minEventId,
        maxEventId,
        metricLimit: view,
      })),
      meteredChargeStats: ofKind('chargeMetered'),
      recurringChargeStats: ofKind('chargeRecurring'),
    };
  }
}

/** Charges of the interval under way: the value, and what it comes to so far. */
async function chargeStats(reader: Reader, subscription: UsageSubscription, period: UsagePeriod) {
  const there = await countersOfSubscription(reader, subscription.subscriptionId);
  const metrics = await chargeMetrics(reader, { period }, there);
  const stats = metrics.map(async metric => {
    const own = there.filter(({ metricId }) => metricId === metric.id);
    const stretches = chargedIntervals({ subscription, period, until: period.end }, metric, own);
    const counter = stretches.map(one => one.counter).findLast(({ startAt }) => startAt <= reader.now);
    const kept = counter && priceFor(counter, period, subscription);
    if (!counter || !kept) return [];
    const value = await shownValue(reader, metric, counter, own, subscription);
    const price = usagePrice(kept.charge, kept.planId);
    return [
      {
        CurrentUsedValue: Number(value),
        metricId: metric.id,
        merchantMetric: metric,
        minEventId: counter.minEventId,
        maxEventId: counter.maxEventId,
        chargePricing: priceView(kept),
        graduatedStep: tierView(kept, price, value),
        lines: pricedSteps(price, value).map(stepView),
        totalChargeAmount: Number(usageAmount(price, value)),
      },
    ];
  });
  return (await Promise.all(stats)).flat();
}

const statKey = ({
  userId,
  externalUserId,
  email,
}: {
  userId: number;
  externalUserId: string;
  email: string;
}): UserKey => (userId !== 0 ? { userId } : { externalUserId, email });
