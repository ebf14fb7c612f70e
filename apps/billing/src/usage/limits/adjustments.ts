import { Controller } from '@nestjs/common';
import { adjustLimit, type In, listLimitAdjustments, type MerchantMetric } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, given, Handle, type Tx } from '@recur/platform';
import { assertMetric } from '../../customers/catalog.js';
import { assertUser, findUser } from '../../customers/users.js';
import { levelReached } from '../domain/billing.js';
import { type AssignedPeriod, assignPeriod, isLimit } from '../domain/counter.js';
import { MeteredSubscriptions } from '../metered-subscriptions.js';
import { scheduleUsageNotice } from '../notices.js';
import { type Adjustment, adjustments, counters } from '../tables.js';
import { adjustmentView } from '../views.js';
import { lockedPeriods, totalLimit } from './carry-over.js';

type Input = In<typeof adjustLimit>;

/** Manual adjustments of limits, for the current period. */
@Controller()
export class LimitAdjustments {
  constructor(
    private readonly db: Db,
    private readonly metered: MeteredSubscriptions,
  ) {}

  @Handle(adjustLimit)
  adjust(input: Input, caller: Caller) {
    return this.db.write(caller, async tx => {
      const metric = await assertMetric(tx, input.metricCode);
      if (!isLimit(metric)) throw new Rejected('metric_without_limit');
      const { subscription, period } = await this.placeOf(tx, input, metric);
      const [counter] = await lockedPeriods(tx, subscription, metric, [period]);
      if (!counter) throw new Error(`no counter of metric ${metric.id}`);
      const [amount, total] = [BigInt(input.amount), totalLimit(period, metric, counter)];
      if (amount < 0n && total + amount < counter.used) {
        throw new Rejected('limit_below_usage', `${counter.used} of the limit of ${total} is used`);
      }
      const { subscriptionId, userId } = subscription;
      const { kind, id, display } = caller.actor;
      tx.save(adjustments, {
        merchantId: tx.merchantId,
        id: await tx.nextId(adjustments),
        subscriptionId,
        metricId: metric.id,
        userId,
        periodStart: period.start,
        quotaType: 'manual',
        amount,
        reason: input.reason,
        memberId: kind === 'member' ? Number(id) : 0,
        memberEmail: display,
        previousLimit: total,
        previousUsed: counter.used,
        createTime: tx.now,
      });
      // levels of the new limit that are not reached are told of again
      const alerted = Math.min(counter.alerted, levelReached(counter.used, total + amount));
      tx.save(counters, scheduleUsageNotice(tx, { ...counter, adjusted: counter.adjusted + amount, alerted }));
      tx.log(`Metric(${metric.id})`, `AdjustLimit(${input.amount})`, { userId, subscriptionId });
      return { success: true };
    });
  }

  @Handle(listLimitAdjustments)
  list({ userId, metricId, subscriptionId, page, count }: In<typeof listLimitAdjustments>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { rows, total } = await reader.page({
        from: adjustments,
        where: [
          ['user_id = ?', given(userId)],
          ['metric_id = ?', given(metricId)],
          ['subscription_id = ?', given(subscriptionId)],
        ],
        order: 'id desc',
        page,
        count,
      });
      return { adjustments: rows.map(listedAdjustment), total };
    });
  }

  /** The subscription named, or the user's; in its current period. */
  private async placeOf(tx: Tx, input: Input, metric: MerchantMetric): Promise<AssignedPeriod> {
    const { subscriptionId, userId, productId } = input;
    const subscriptions =
      subscriptionId !== ''
        ? [await this.metered.ofSubscription(tx, subscriptionId)].flatMap(found => found ?? [])
        : await this.metered.ofUsers(tx, [assertUser(tx, { userId }, await findUser(tx, { userId })).id]);
    if (subscriptionId !== '' && subscriptions.length === 0) throw new Rejected('subscription_not_found');
    const eligible = productId === 0 ? subscriptions : subscriptions.filter(one => one.productId === productId);
    const found = assignPeriod(eligible, { metricId: metric.id, at: tx.now, now: tx.now });
    if ('refused' in found) throw new Rejected('usage_not_subscribed');
    return found;
  }
}

const listedAdjustment = (adjustment: Adjustment) => {
  const { metricId, userId, subscriptionId } = adjustment;
  return { ...adjustmentView(adjustment), metricId, userId, subscriptionId };
};
