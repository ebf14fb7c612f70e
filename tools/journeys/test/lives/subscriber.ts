import { orThrow } from '@recur/client';
import { type Invoice, invoiceStatus } from '@recur/contracts';
import { timeOf } from '../../../simulate/clock.js';
import type { Card } from '../../model/collection.js';
import { Life } from '../../model/life.js';
import type { Terms, Wish } from '../../model/terms.js';
import type { Seller } from '../examples/seller.js';
import type { Living, Step } from './living.js';
import { refundPart } from './refunds.js';
import { type Sold, sell } from './sold.js';
import { shown } from './texts.js';
import { mark, type Transfer, Transfers } from './transfers.js';

/** How a subscriber pays: by card, or by these transfers through a gateway. */
export interface Paying {
  currency: string;
  card: Card;
  transfers: readonly Transfer[];
  gatewayId: number;
}

// a card that is not asked for does not matter to a wire
const scenarios: Readonly<Record<Card, string>> = {
  wire: 'succeeds',
  pays: 'succeeds',
  paysLate: 'times_out_after_charging',
  declines: 'declines_softly',
  declinesForGood: 'declines_hard',
  asks: 'needs_action',
};
const effects = { byRules: 0, now: 1, periodEnd: 2 } as const;

/** A subscription that is lived twice: over HTTP, and in the model. */
export class Subscriber implements Living {
  private preview: Invoice | undefined;
  private known: ReadonlySet<string> = new Set();

  private constructor(
    readonly seller: Seller,
    readonly sold: Sold,
    readonly userId: number,
    readonly email: string,
    readonly subscriptionId: string,
    readonly life: Life,
    readonly trace: string[],
    readonly transfers: Transfers,
  ) {}

  static async begin(
    seller: Seller,
    terms: Omit<Terms, 'start'>,
    { currency, card, transfers, gatewayId }: Paying,
  ): Promise<Subscriber> {
    const { api } = seller;
    const sold = await sell(seller, terms, currency);
    const { userId, email } = await seller.buyer(scenarios[card]);
    orThrow(await api.post('/merchant/user/update', { userId, ...partyOf(terms) }));
    const { promo, begin, taxPercentage, zone: timeZone } = terms;
    if (promo && promo.balance > 0n) {
      const more = { userId, currency, amount: Number(promo.balance) };
      orThrow(await api.post('/merchant/credit/promo_credit_increment', more));
    }
    const trialEnd = begin.is === 'free' ? (await timeOf(api)) + begin.seconds : 0;
    const request = {
      userId,
      gatewayId,
      ...chosen(sold, terms.wish),
      timeZone,
      taxPercentage,
      trialEnd,
      discountCode: sold.discountCode,
      applyPromoCredit: promo !== undefined,
      billingAnchorDay: anchorDayOf(terms),
    };
    const { subscription } = orThrow(await api.post('/merchant/subscription/create_submit', request));
    const { subscriptionId, createTime: start } = subscription;
    const begun = begin.is === 'free' ? { is: 'free' as const, seconds: trialEnd - start } : begin;
    const life = new Life({ ...terms, begin: begun, start }, card);
    const trace = [`${shown(start)} create_submit ${JSON.stringify(request)} ${card}`];
    return new Subscriber(seller, sold, userId, email, subscriptionId, life, trace, new Transfers(transfers));
  }

  /** Looks at the next invoice, where it is not made yet. */
  async look(): Promise<void> {
    const { api } = this.seller;
    const path = '/merchant/subscription/preview_subscription_next_invoice';
    const answer = await api.get(path, { subscriptionId: this.subscriptionId });
    this.preview = answer.ok && answer.data.invoice.invoiceId === '' ? answer.data.invoice : undefined;
    this.known = new Set((await this.documents()).map(({ invoiceId }) => invoiceId));
  }

  forgetPreview(): void {
    this.preview = undefined;
  }

  /** What was previewed, and the document that the cycle made instead; undefined where it made none. */
  async followed(): Promise<[preview: Invoice, document: Invoice] | undefined> {
    const made = (await this.documents()).filter(({ invoiceId }) => !this.known.has(invoiceId));
    const [first] = made
      .filter(({ invoiceName }) => /^Subscription(Cycle|Downgrade)$/.test(invoiceName))
      .toSorted((a, b) => a.id - b.id);
    return this.preview && first && [this.preview, first];
  }

  async documents(): Promise<Invoice[]> {
    const { api } = this.seller;
    const [invoices, creditNotes] = await Promise.all([
      all(api.pages('/merchant/invoice/list', { userId: this.userId })),
      all(api.pages('/merchant/invoice/credit_note/list', { emails: this.email })),
    ]);
    return [...invoices.filter(({ status }) => status !== invoiceStatus.pending), ...creditNotes];
  }

  /** Makes a step, unless the rules of its state are not for it. */
  async take(step: Step): Promise<boolean> {
    const { api } = this.seller;
    const { life, trace } = this;
    life.live(await timeOf(api));
    const text = `${shown(life.now)} ${JSON.stringify(step)}`;
    try {
      const isMade = await this.makes(step);
      if (isMade) trace.push(text);
      return isMade;
    } catch (cause) {
      throw new Error([`${cause}`, ...trace, text].join('\n'), { cause });
    }
  }

  private async makes(step: Step): Promise<boolean> {
    const { seller, life, subscriptionId, userId, sold } = this;
    const { api } = seller;
    if (step.do === 'nothing') return true;
    if (step.do === 'refund') return refundPart(this, step);
    if (life.hasEnded) return false;
    if (step.do === 'card') {
      if (life.isByWire) return false;
      await seller.card(userId, scenarios[step.card]);
      life.live(await timeOf(api));
      life.useCard(step.card);
      return true;
    }
    if (step.do === 'approve') return this.approve();
    if (life.status !== 'active' || life.isUnderWay) return false;
    switch (step.do) {
      case 'change':
        return this.change(step);
      case 'extend':
        orThrow(
          await api.post('/merchant/subscription/add_new_trial_start', {
            subscriptionId,
            appendTrialEndHour: step.hours,
          }),
        );
        life.extend(step.hours * 3600);
        return true;
      case 'dueDay': {
        if (!life.takesDueDay) return false;
        const dueDay = life.dueDayFrom(step.day);
        orThrow(await api.post('/merchant/subscription/change_due_day', { subscriptionId, dueDay }));
        life.changeDueDay(dueDay);
        return true;
      }
      case 'use': {
        if (sold.metricCode === '') return false;
        const eventTime = life.now;
        if (await seller.use(userId, sold.metricCode, step.units, { eventTime })) return false;
        life.use(step.units);
        return true;
      }
      case 'endLater':
        if (life.endsWithPeriod) return false;
        orThrow(await api.post('/merchant/subscription/cancel_at_period_end', { subscriptionId }));
        life.cancelAtPeriodEnd();
        return true;
      case 'keep':
        if (!life.endsWithPeriod) return false;
        orThrow(await api.post('/merchant/subscription/cancel_last_cancel_at_period_end', { subscriptionId }));
        life.keep();
        return true;
      case 'cancel': {
        const { prorate, invoiceNow } = step;
        orThrow(await api.post('/merchant/subscription/cancel', { subscriptionId, prorate, invoiceNow }));
        const { cancelOrExpireTime } = await seller.subscription(subscriptionId);
        life.live(cancelOrExpireTime);
        life.cancel({ prorate, invoiceNow });
        return true;
      }
    }
  }

  private async change({ wish, effect }: Extract<Step, { do: 'change' }>): Promise<boolean> {
    const { life, sold, subscriptionId, seller } = this;
    if (!life.takesChange({ wish, effect })) return false;
    const { planId: newPlanId, ...rest } = chosen(sold, wish);
    const request = { subscriptionId, newPlanId, ...rest, effectImmediate: effects[effect] };
    const preview = orThrow(await seller.api.post('/merchant/subscription/update_preview', request));
    const { prorationDate, totalAmount: confirmTotalAmount } = preview;
    life.live(prorationDate);
    const submit = { ...request, prorationDate, confirmTotalAmount };
    const { invoiceId, paid } = orThrow(await seller.api.post('/merchant/subscription/update_submit', submit));
    if (life.isByWire && invoiceId !== '' && !paid) await mark(this, invoiceId);
    life.change({ wish, effect, paid: life.paysChanges });
    return true;
  }

  private async approve(): Promise<boolean> {
    const { life, seller, userId } = this;
    if (!life.isAsked) return false;
    const { paymentDetails } = orThrow(await seller.api.get('/merchant/payment/list', { userId, count: 1 }));
    const link = paymentDetails[0]?.payment?.link ?? '';
    await fetch(link, { method: 'POST', body: new URLSearchParams({ answer: 'approve' }) });
    life.approve();
    return true;
  }
}

/** A user of a country, or a business with a VAT number. */
function partyOf({ buyer }: Omit<Terms, 'start'>) {
  if (buyer === 'none') return {};
  if (buyer === 'business') return { countryCode: 'FR', type: 2 as const, vATNumber: 'FR40303265045' };
  return { countryCode: buyer };
}

/** The day that the periods are counted from; 0 for that of the beginning. */
export function anchorDayOf({ begin, wish, intervals }: Omit<Terms, 'start'>): number {
  const { unit } = intervals[wish.plan === 2 ? 1 : 0];
  if (begin.is !== 'stub' || unit === 'day') return 0;
  return unit === 'week' ? begin.day % 8 : begin.day;
}

const chosen = ({ plans, addons }: Sold, { plan, quantity, addons: many }: Wish) => ({
  planId: plans[plan] ?? 0,
  quantity,
  addonParams: addons.flatMap((addonPlanId, at) => {
    const each = many[at] ?? 0;
    return each > 0 ? [{ addonPlanId, quantity: each }] : [];
  }),
});

async function all<T>(entries: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const entry of entries) found.push(entry);
  return found;
}
