import { Injectable } from '@nestjs/common';
import * as contract from '@recur/contracts';
import { aggregate, type EventSource, type Tx, type Work, type WorkItem, work } from '@recur/platform';
import { metricsById } from '../customers/catalog.js';
import { groupedBy, lockNoticeDue, type NoticeOf } from './counters.js';
import { alertsDue, limitOf } from './domain/billing.js';
import { type Counter, isLimit } from './domain/counter.js';
import { MeteredSubscriptions } from './metered-subscriptions.js';
import { scheduleRecount } from './recounts.js';
import { counters, type Notice, notices } from './tables.js';

/** The kind of work that emits user.metric.update; its key is `<userId>-<metricId>`. */
const NOTICE_WORK = 'usage.notice';

export const userMetricAggregate: EventSource<'user.metric.update', Notice, Notice, contract.UserMetricUpdate> =
  aggregate({ name: 'userMetric', title: 'UserMetric', events: contract.events, table: notices, key: 'noticeId' });

/** The counter, with its next notice scheduled: at most one a second for a user's metric. */
export function scheduleUsageNotice(tx: Tx, counter: Counter): Counter {
  if (counter.noticeDue) return counter;
  tx.schedule(NOTICE_WORK, noticeKey(counter), Math.max(tx.now, counter.noticeAt + 1));
  return { ...counter, noticeDue: true };
}

const noticeKey = ({ userId, metricId }: NoticeOf) => `${userId}-${metricId}`;

function keyIn({ key }: { key: string }): NoticeOf {
  const [userId = 0, metricId = 0] = key.split('-').map(Number);
  return { userId, metricId };
}

/** Emits user.metric.update with the newest values, and an alert each at 80 % and 100 % of a limit. */
@Injectable()
export class UsageNotices {
  readonly work: Work = work(NOTICE_WORK, { time: 'merchant', logged: false }, (tx, items) =>
    this.notifyAll(tx, items),
  );

  constructor(private readonly metered: MeteredSubscriptions) {}

  private async notifyAll(tx: Tx, items: readonly WorkItem[]): Promise<void> {
    const due = groupedBy(await lockNoticeDue(tx, items.map(keyIn)), noticeKey);
    await tx.together(items, item => this.notify(tx.item(item), item, due.get(item.key) ?? []));
  }

  private async notify(tx: Tx, { key }: WorkItem, due: readonly Counter[]): Promise<void> {
    const { userId, metricId } = keyIn({ key });
    const metric = (await metricsById(tx, [metricId])).get(metricId);
    if (due.length === 0 || !metric) return;
    let notice = (await tx.lockIfAny(notices, { noticeId: key })) ?? {
      merchantId: tx.merchantId,
      noticeId: key,
      userId,
      metricId,
      version: 0,
    };
    for (const counter of due) notice = await this.tell(tx, counter, metric, notice);
  }

  /** Tells of one counter; returns the notice with its new version. */
  private async tell(tx: Tx, counter: Counter, metric: contract.MerchantMetric, before: Notice): Promise<Notice> {
    let notice = before;
    const totalLimit = isLimit(metric) ? await this.totalOf(tx, counter, metric) : 0n;
    const alerts = alertsDue(counter.used, totalLimit, counter.alerted);
    for (const alert of [0, ...alerts]) {
      const { subscriptionId, userId, periodStart, periodEnd, used } = counter;
      const version = tx.emit(userMetricAggregate, notice, 'user.metric.update', {
        merchantId: tx.merchantId,
        userId,
        subscriptionId,
        metricId: metric.id,
        code: metric.code,
        metricName: metric.metricName,
        currentValue: Number(used),
        totalLimit: Number(totalLimit),
        alert,
        periodStart,
        periodEnd,
        updateTime: tx.now,
      });
      notice = { ...notice, version };
    }
    // a counter is compared with its events from its first change on, and again when it changes after its time
    if (counter.noticeAt === 0 || tx.now >= counter.periodEnd) scheduleRecount(tx, counter);
    tx.save(counters, { ...counter, noticeDue: false, noticeAt: tx.now, alerted: alerts.at(-1) ?? counter.alerted });
    return notice;
  }

  private async totalOf(tx: Tx, counter: Counter, metric: contract.MerchantMetric): Promise<bigint> {
    const subscription = await this.metered.ofSubscription(tx, counter.subscriptionId);
    const period = subscription?.periods.find(({ start }) => start === counter.periodStart);
    if (!period) return 0n;
    return limitOf(period, metric.id, metric.carryoverProrationEnabled) + counter.adjusted;
  }
}
