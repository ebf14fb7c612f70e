import { isDeepStrictEqual } from 'node:util';
import {
  activateTemporarily,
  addTrialTime,
  aggregationType,
  batchUsageEvents,
  cancelAtPeriodEnd,
  cancelPayment,
  cancelSubscription,
  changeDueDay,
  createSubscription,
  discountBillingType,
  type Invoice,
  incrementPromoCredit,
  invoiceDetail,
  keepAfterPeriodEnd,
  listCreditNotes,
  metricType,
  newOnetimeAddonPayment,
  type Operation,
  type Plan,
  planType,
  previewChange,
  previewNextInvoice,
  refundInvoice,
  renewSubscription,
  submitChange,
  updateSubscriptionConfig,
} from '@recur/contracts';
import type { Subscribers } from '../../world/clock.js';
import { charge } from '../../world/usage.js';
import { type Ask, broken, unbalanced } from './audit.js';
import { Random } from './random.js';

const DAY = 86_400;
const HOUR = 3600;
const BEGIN = Date.UTC(2026, 0, 31) / 1000;
const STEPS = 18;

/** Counts of a run. */
export const seen = { changes: 0, renewals: 0, endings: 0, unpaid: 0 };

/** A document without what differs between a preview and the document. */
const shown = ({ lines, totalAmount, taxAmount, discountAmount, periodStart, periodEnd }: Invoice) => ({
  totalAmount,
  taxAmount,
  discountAmount,
  periodStart,
  periodEnd,
  lines: lines.map(({ lineId: _, plan: _plan, ...line }) => line),
});

/** Refusals by a rule of the state; any other refusal ends a course. */
const expected = [
  'amount_below_minimum',
  'invoice_not_refundable',
  'payment_not_open',
  'payment_under_way',
  'subscription_exists',
  'subscription_not_extendable',
  'subscription_without_next_invoice',
  'subscription_wrong_state',
];

/** Steps that a course may take next; `renew` follows an end more often than not. */
const deeds = [
  ...([
    'change',
    'change',
    'change',
    'extend',
    'dueDay',
    'endLater',
    'keep',
    'declines',
    'succeeds',
    'succeeds',
  ] as const),
  ...([
    'answersLate',
    'use',
    'use',
    'addon',
    'refund',
    'cancelPayment',
    'promo',
    'end',
    'renew',
    'activate',
    'nothing',
  ] as const),
] as const;
type Deed = (typeof deeds)[number];

/** The subscriptions of one user, one after the other, whose course follows from a seed. */
export class Course {
  private readonly random: Random;
  /** The steps so far, with their times. */
  readonly trace: string[] = [];
  private readonly ask: Ask;
  private now = BEGIN;
  private id = '';
  private userId = 0;
  private plans: number[] = [];
  private addon = 0;
  private onetimeAddon = 0;
  private metric = '';
  private code = '';
  private isDaily = false;

  private constructor(
    private readonly s: Subscribers,
    seed: number,
  ) {
    this.random = new Random(seed);
    this.ask = text => s.t.rows(text.replaceAll('$m', String(s.merchant.merchantId)));
  }

  /** Lives a course to its end; returns it with what it has broken. */
  static async live(s: Subscribers, seed: number): Promise<{ trace: readonly string[]; findings: readonly string[] }> {
    const course = new Course(s, seed);
    const findings = await course
      .toEnd()
      .catch((error: unknown) => [error instanceof Error ? error.message : String(error)]);
    return { trace: course.trace, findings };
  }

  private async toEnd(): Promise<readonly string[]> {
    await this.s.anew('2026-01-31');
    await this.settings();
    this.sell();
    if (!(await this.subscribed())) return [];
    await this.wait(60);
    for (let step = 0; step < STEPS; step++) {
      const findings = [...(await this.step()), ...(await broken(this.ask))];
      if (findings.length > 0) return findings;
    }
    await this.card('succeeds');
    await this.wait(5 * DAY);
    return [...(await broken(this.ask)), ...(await unbalanced(this.ask))];
  }

  // the merchant

  private async settings(): Promise<void> {
    const { random, s } = this;
    if (random.chance(0.5)) {
      await this.ask(`update gateways set minimum_amount = 300, currency = 'EUR' where gateway_id = ${s.gatewayId()}`);
    }
    await this.call(updateSubscriptionConfig, {
      autoChargeRetryInterval: random.pick([6, 24, 72]) * HOUR,
      downgradeEffectImmediately: random.chance(0.2),
      incompleteExpireTime: random.pick([DAY, 7 * DAY]),
      upgradeProration: random.chance(0.9),
      usageGraceTime: random.pick([0, HOUR]),
    });
    if (random.chance(0.6)) return;
    this.code = `code-${s.merchant.merchantId}`;
    const kind = random.pick([
      { billingType: discountBillingType.onetime },
      { billingType: discountBillingType.recurring },
      { billingType: discountBillingType.recurring, cycleLimit: 2 },
    ]);
    await s.code(this.code, { discountPercentage: 2000, ...kind });
  }

  /** Four plans, of which the first may have a trial and the last is free and sells no usage, and two add-ons. */
  private sell(): void {
    const { random, s } = this;
    const { merchantId } = s.merchant;
    this.isDaily = random.chance(0.15);
    this.addon = s.plan({ amount: 500, type: planType.recurringAddon });
    this.onetimeAddon = s.plan({ amount: 250, type: planType.onetimeAddon });
    const interval = this.isDaily
      ? { intervalUnit: 'day', intervalCount: random.pick([1, 3]) }
      : { intervalUnit: 'month', intervalCount: 1 };
    const common = { bindingAddonIds: String(this.addon), bindingOnetimeAddonIds: String(this.onetimeAddon) };
    let metered: Partial<Plan> = {};
    if (random.chance(0.4)) {
      this.metric = `m${merchantId}`;
      const types = { type: metricType.chargeMetered, aggregationType: aggregationType.sum };
      s.knowMetric(merchantId, types, merchantId);
      metered = { metricMeteredCharge: [charge(merchantId, { standardAmount: 7 })] };
    }
    const other = { intervalUnit: random.pick(['week', 'month', 'year']), intervalCount: random.pick([1, 2]) };
    this.plans = [
      s.plan({ amount: 1000, ...interval, ...common, ...metered, ...this.trial() }),
      s.plan({ amount: 2590, ...interval, ...common, ...metered }),
      s.plan({ amount: 1900, ...other, ...common, ...metered }),
      s.plan({ amount: 0, ...interval, ...common }),
    ];
  }

  private trial(): Partial<Plan> {
    const { random } = this;
    const kind = random.pick(['none', 'none', 'trial', 'steps', 'ending']);
    if (kind === 'none') return {};
    if (kind !== 'steps') {
      const trialAmount = random.pick([0, 200]);
      return { trialDurationTime: 10 * DAY, trialAmount, cancelAtTrialEnd: kind === 'ending' ? 1 : 0 };
    }
    const step = {
      name: '',
      metadata: {},
      trialCompareAtPrice: 0,
      intervalUnit: '',
      intervalCount: 0,
      trialDuration: 0,
    };
    const [first, second] = [random.pick([0, 100]), random.pick([0, 900])];
    const month = { intervalUnit: 'month', intervalCount: 1 };
    return {
      multiTrials: [
        { ...step, trialDuration: 7 * DAY, trialPrice: first },
        { ...step, ...month, trialPrice: second },
      ],
    };
  }

  private async subscribed(): Promise<boolean> {
    const { random, s } = this;
    this.userId = await s.userWithCard();
    const made = await this.call(createSubscription, {
      gatewayId: s.gatewayId(),
      userId: this.userId,
      planId: this.plans[0],
      quantity: this.quantity(),
      addonParams: this.addons(),
      discountCode: this.code,
      timeZone: random.pick(['UTC', 'Europe/Berlin', 'America/New_York']),
      billingAnchorDay: this.isDaily ? 0 : random.pick([0, 0, 5, 31]),
      freeInInitialPeriod: random.chance(0.15),
    });
    return made !== undefined;
  }

  // what is done

  private async step(): Promise<readonly string[]> {
    const { random } = this;
    await this.look();
    const findings = await this.does(await this.deed());
    await this.wait(random.pick([0, 60, 60, HOUR]));
    if (findings.length > 0 || random.chance(0.2)) return findings;
    return this.renewal();
  }

  private async deed(): Promise<Deed> {
    const { status } = await this.s.state(this.id);
    const hasEnded = ['cancelled', 'expired', 'failed'].includes(String(status));
    if (hasEnded) seen.endings++;
    if (status === 'incomplete') seen.unpaid++;
    return hasEnded && this.random.chance(0.6) ? 'renew' : this.random.pick(deeds);
  }

  private async does(deed: Deed): Promise<readonly string[]> {
    const { id: subscriptionId, random, userId, s } = this;
    const own = { subscriptionId };
    switch (deed) {
      case 'change':
        return this.change();
      case 'extend':
        await this.call(addTrialTime, { ...own, appendTrialEndHour: random.pick([1, 30, 200, 1000]) });
        break;
      case 'dueDay':
        await this.call(changeDueDay, { ...own, dueDay: random.pick([1, 3, 5, 7]) });
        break;
      case 'endLater':
        await this.call(cancelAtPeriodEnd, own);
        break;
      case 'keep':
        await this.call(keepAfterPeriodEnd, own);
        break;
      case 'end':
        if (random.chance(0.4))
          await this.call(cancelSubscription, {
            ...own,
            prorate: random.chance(0.5),
            invoiceNow: random.chance(0.5),
            refund: random.chance(0.3),
          });
        break;
      case 'activate':
        await this.call(activateTemporarily, { ...own, expireTime: this.now + 3 * DAY });
        break;
      case 'renew':
        await this.call(renewSubscription, { ...own, gatewayId: s.gatewayId() });
        break;
      case 'declines':
        await this.card('declines_softly');
        break;
      case 'succeeds':
        await this.card('succeeds');
        break;
      case 'answersLate':
        await this.card(random.pick(['times_out_after_charging', 'times_out_before_charging', 'calls_back_late']));
        break;
      case 'use':
        if (this.metric) await this.use();
        break;
      case 'addon':
        await this.call(newOnetimeAddonPayment, { ...own, addonId: this.onetimeAddon, quantity: this.quantity() });
        break;
      case 'refund':
        await this.refund();
        break;
      case 'cancelPayment':
        await this.cancelOpen();
        break;
      case 'promo':
        await this.call(incrementPromoCredit, { userId, currency: 'EUR', amount: 100 + random.below(900) });
        break;
    }
    return [];
  }

  /** Changes the subscription as it was previewed. */
  private async change(): Promise<readonly string[]> {
    const { random } = this;
    const request = {
      subscriptionId: this.id,
      newPlanId: random.pick(this.plans),
      quantity: this.quantity(),
      addonParams: this.addons(),
      effectImmediate: random.pick([0, 0, 1, 2]),
      ...(random.chance(0.2) && { applyPromoCredit: random.chance(0.5), applyPromoCreditAmount: random.pick([0, 50]) }),
      ...(random.chance(0.15) && { discountCode: this.code }),
    };
    const preview = await this.call(previewChange, request);
    if (!preview) return [];
    const { prorationDate, totalAmount, invoice } = preview;
    const confirmed = { prorationDate, confirmTotalAmount: totalAmount, refund: random.chance(0.3) };
    const made = await this.call(submitChange, { ...request, ...confirmed });
    if (!made?.invoiceId) return [];
    seen.changes++;
    return differing(await this.document(made.invoiceId), invoice);
  }

  private async use(): Promise<void> {
    const { random, userId, metric: metricCode } = this;
    const events = [1, 2].map(n => ({
      userId,
      metricCode,
      externalEventId: `${this.now}-${n}-${random.next()}`,
      aggregationValue: random.below(40),
      ...(random.chance(0.3) && { eventTime: this.now - random.below(3 * DAY) }),
    }));
    await this.call(batchUsageEvents, { events });
  }

  private async refund(): Promise<void> {
    const [paid] = await this.ask(
      `select invoice_id, total_amount - refunded_amount as left from invoices where merchant_id = $m and status = 'paid'
        and kind = 'invoice' and total_amount > refunded_amount and payment_id <> '' order by id desc limit 1`,
    );
    if (!paid) return;
    const [credited] = await this.ask(
      `select coalesce(sum(credited_net + credited_tax), 0) as sum from invoice_lines where merchant_id = $m
        and invoice_id = '${paid.invoice_id}'`,
    );
    const left = Number(paid.left) - Number(credited?.sum);
    if (left <= 0) return;
    const refundAmount = Math.max(1, Math.floor(left * this.random.pick([0.3, 1])));
    await this.call(refundInvoice, {
      invoiceId: paid.invoice_id,
      refundAmount,
      reason: 'Test',
      cancelSubscription: this.random.chance(0.2),
    });
  }

  private async cancelOpen(): Promise<void> {
    const [open] = await this.ask(
      `select payment_id from payments where merchant_id = $m and status = 'created' order by id desc limit 1`,
    );
    if (open) await this.call(cancelPayment, { paymentId: open.payment_id });
  }

  // time

  /** Previews the next invoice, and compares it with the one that the cycle makes. */
  private async renewal(): Promise<readonly string[]> {
    const { random } = this;
    await this.look();
    const [before] = await this.ask('select coalesce(max(id), 0) as id from invoices where merchant_id = $m');
    // a change that waits for its payment may take effect meanwhile
    const waiting = await this.ask(
      `select 1 from subscription_pending_updates where subscription_id = '${this.id}' and status = 'pending' and effect_immediate = 1`,
    );
    const preview = await this.call(previewNextInvoice, { subscriptionId: this.id });
    const { end } = await this.s.state(this.id);
    const atEnd = end - this.now + random.pick([-3 * DAY, -DAY, -5400, -1800, 60, DAY, 4 * DAY]);
    const isNear = atEnd > 0 && atEnd < 100 * DAY;
    await this.wait(isNear && random.chance(0.4) ? atEnd : random.pick([HOUR, DAY, 3 * DAY, 10 * DAY, 40 * DAY]));
    const [made] = await this.ask(
      `select invoice_id from invoices where merchant_id = $m and subscription_id = '${this.id}' and id > ${before?.id}
        and (kind = 'invoice' and bill_reason in ('cycle', 'trialStep') or bill_reason = 'downgrade') order by id limit 1`,
    );
    if (!made || waiting.length > 0 || preview?.invoice.invoiceId) return [];
    const document = await this.document(String(made.invoice_id));
    if (!preview) return [`${made.invoice_id} had no preview`];
    // a draft that was there already is what was previewed
    if (document.periodStart !== preview.invoice.periodStart) return [];
    seen.renewals++;
    return differing(document, preview.invoice);
  }

  private async wait(seconds: number): Promise<void> {
    this.now += seconds;
    this.trace.push(`to ${at(this.now)}`);
    await this.s.to(this.now);
  }

  // helpers

  /** The newest subscription of the user. */
  private async look(): Promise<void> {
    const [row] = await this.ask(
      'select subscription_id from subscriptions where merchant_id = $m order by id desc limit 1',
    );
    this.id = String(row?.subscription_id);
  }

  private async card(scenario: string): Promise<void> {
    this.trace.push(`${at(this.now)} a card that ${scenario}`);
    await this.s.swap(this.userId, scenario);
  }

  private quantity = () => this.random.pick([1, 1, 2, 5]);
  private addons() {
    return this.random.chance(0.3) ? [{ addonPlanId: this.addon, quantity: 1 + this.random.below(2) }] : [];
  }

  private async document(invoiceId: string): Promise<Invoice> {
    const answer = await this.s.t.call(invoiceDetail, { invoiceId }, this.s.merchant);
    if (answer.ok) return answer.data.invoice;
    const { creditNotes } = await this.s.t.done(listCreditNotes, { searchKey: invoiceId }, this.s.merchant);
    return creditNotes[0] as Invoice;
  }

  /** The answer of a command; undefined where a rule refuses it. Throws for any other refusal. */
  private async call<Op extends Operation>(operation: Op, input: object) {
    const result = await this.s.t.call(operation, input, this.s.merchant);
    const end = result.ok ? 'done' : `${result.slug} ${result.message ?? JSON.stringify(result.issues)}`;
    this.trace.push(`${at(this.now)} ${operation.name} ${JSON.stringify(input)}: ${end}`);
    if (result.ok) return result.data;
    const isOfCode = result.issues.some(({ path }) => path === '/discountCode');
    if (expected.includes(result.slug) || isOfCode) return undefined;
    throw new Error(`${operation.name}: ${end}`);
  }
}

const at = (time: number): string => new Date(time * 1000).toISOString().slice(0, 16);

const differing = (document: Invoice, preview: Invoice): readonly string[] =>
  isDeepStrictEqual(shown(document), shown(preview))
    ? []
    : [`previewed ${JSON.stringify(shown(preview))}, made ${JSON.stringify(shown(document))}`];
