import { Injectable } from '@nestjs/common';
import { exponentOf } from '@recur/contracts';
import { languageOf } from '@recur/kernel';
import { type Tx, type Work, type WorkItem, work } from '@recur/platform';
import { mailAboutPrice } from '../../documents/mail-content.js';
import { MailOutbox } from '../../documents/mail-outbox.js';
import { partiesOf } from '../../invoices/parties.js';
import { invoiceSettingsOf } from '../../invoices/settings.js';
import { isUnannounced, type PriceEntry } from '../domain/price-entry.js';
import { endsWithPeriod, type RenewalState } from '../domain/renewal.js';
import { announced, timed } from '../domain/repricing.js';
import { isLive, type Subscription } from '../domain/subscription.js';
import { loadRenewalBatch } from '../renewal-batch.js';
import { leadOf, PRICE_NOTICE } from '../schedule.js';
import type { SubscriptionSettings } from '../tables.js';
import { subscriptionAggregate } from '../views.js';

const limits = { batch: 50, leaseSeconds: 120 } as const;

/** Announces price changes to the subscribers, by an event and an e-mail, as early as the merchant's settings say. */
@Injectable()
export class PriceNotices {
  readonly work: Work = work(
    PRICE_NOTICE,
    { time: 'merchant', batch: limits.batch, leaseSeconds: limits.leaseSeconds },
    (tx, items) => this.run(tx, items),
  );

  constructor(private readonly outbox: MailOutbox) {}

  private async run(tx: Tx, items: readonly WorkItem[]): Promise<void> {
    const { states, settings } = await loadRenewalBatch(
      tx,
      items.map(({ key }) => key),
    );
    for (const item of items) {
      const state = states.get(item.key);
      if (state) await this.announce(tx.item(item), state, settings);
    }
  }

  /**
   * Announces what is due. The period of the effect may have moved meanwhile, and the notice with it. One that ends with its
   * period, or has not begun, gets none: it is scheduled again when it goes on.
   */
  private async announce(tx: Tx, { sub, upcoming }: RenewalState, { noticeDays }: SubscriptionSettings): Promise<void> {
    const { subscriptionId, userId, planId } = sub;
    if (!sub.priceChanges.some(isUnannounced) || !isLive(sub.status) || endsWithPeriod(sub)) return;
    const now = timed(sub, upcoming ? [upcoming] : [], { now: tx.now, noticeDays, leadSeconds: leadOf(sub) });
    const due = now.priceChanges.filter(isUnannounced);
    const noticeTime = due[0]?.noticeTime ?? tx.now;
    const ids = { subscriptionId, userId, planId };
    if (noticeTime > tx.now) {
      tx.schedule(PRICE_NOTICE, subscriptionId, noticeTime);
      if (now === sub) return;
      tx.step(subscriptionAggregate, { ...now, modifyTime: tx.now }, 'subscription.updated');
      tx.log(`Subscription(${subscriptionId})`, 'PriceChangePlanned', ids);
      return;
    }
    tx.step(subscriptionAggregate, announced(now, tx.now), 'subscription.price_change_notice');
    tx.log(`Subscription(${subscriptionId})`, 'PriceChangeNotice', ids);
    for (const entry of due) await this.write(tx, 'price_change', now, entry);
  }

  /** Tells that price changes which were announced do not take place. */
  async takeBack(tx: Tx, sub: Subscription, announced: readonly PriceEntry[]): Promise<void> {
    tx.step(subscriptionAggregate, sub, 'subscription.price_change_notice');
    for (const entry of announced) await this.write(tx, 'price_kept', sub, entry);
  }

  /** Writes the e-mail, unless the merchant has switched e-mails off. */
  private async write(
    tx: Tx,
    kind: 'price_change' | 'price_kept',
    sub: Subscription,
    entry: PriceEntry,
  ): Promise<void> {
    if (!this.outbox.isConfigured || !(await invoiceSettingsOf(tx)).invoiceEmail) return;
    const { seller, buyer } = await partiesOf(tx, { userId: sub.userId, billed: null });
    if (!buyer) return;
    const { currency, timeZone, planSnapshot } = sub;
    const plans = [planSnapshot.plan, ...planSnapshot.addons.map(({ addonPlan }) => addonPlan)];
    const { oldUnitAmount, unitAmount, effectTime } = entry;
    const change = {
      plan: plans.find(plan => plan?.id === entry.planId)?.planName ?? '',
      currency,
      decimals: exponentOf(currency),
      timeZone,
      language: languageOf(buyer.language),
      oldAmount: BigInt(oldUnitAmount),
      amount: BigInt(kind === 'price_change' ? unitAmount : oldUnitAmount),
      from: effectTime,
    };
    await this.outbox.queue(tx, mailAboutPrice(kind, change, seller, buyer));
  }
}
