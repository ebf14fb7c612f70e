import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { type Client, createClient, type Input, orThrow } from '@recur/client';
import { type Invoice, pendingUpdateEffect, planType } from '@recur/contracts';
import { advanceTo } from '../../../simulate/clock.js';
import { sandboxGateway } from '../../card.js';
import { promised } from '../examples/documents.js';
import type { Stand } from '../stand.js';
import { Life } from './life.js';

/** The choice of a subscription: a plan by its place in `prices`, and quantities. */
export interface Wish {
  plan: number;
  quantity: number;
  addons: number;
}

const prices = [1000, 2590, 333] as const;
const intervals = ['month', 'month', 'week'] as const;
const addonPrice = 700;
const priceOf = ({ plan, quantity, addons }: Wish) => (prices[plan] ?? 0) * quantity + addonPrice * addons;

/** Counts of a run. */
export const seen = { changes: 0, deferred: 0, renewals: 0, credits: 0, taxes: 0, endings: 0 };

/** A merchant of a zone whose plans are those of a wish: two monthly ones, a weekly one, and an add-on to each of them. */
export class Shop {
  readonly lives: Life[] = [];
  private readonly client: Client;
  private readonly plans: number[] = [];
  private gatewayId = 0;
  private addon = 0;

  private constructor(
    private readonly stand: Stand,
    private readonly merchantId: string | number,
    apiKey: string,
  ) {
    const { baseUrl } = stand.stack.facts();
    this.client = createClient({ baseUrl, credential: apiKey });
  }

  static async open(stand: Stand, timeZone: string): Promise<Shop> {
    const { merchantId, apiKey } = await stand.stack.merchant(timeZone);
    const shop = new Shop(stand, merchantId, apiKey);
    const { client } = shop;
    shop.gatewayId = await sandboxGateway(client);
    orThrow(await client.post('/merchant/update', { countryCode: 'DE' }));
    orThrow(await client.post('/merchant/subscription/config/update', { timeZone }));
    shop.addon = await shop.plan({ type: planType.recurringAddon });
    for (const [at, amount] of prices.entries()) {
      shop.plans.push(await shop.plan({ amount, intervalUnit: intervals[at], addonIds: [shop.addon] }));
    }
    return shop;
  }

  private async plan(more: Partial<Input<'/merchant/plan/new'>>): Promise<number> {
    const monthly = { currency: 'EUR', intervalUnit: 'month', intervalCount: 1 } as const;
    const body = { planName: 'Plan', amount: addonPrice, ...monthly, ...more };
    const { plan } = orThrow(await this.client.post('/merchant/plan/new', body));
    orThrow(await this.client.post('/merchant/plan/activate', { planId: plan.id }));
    return plan.id;
  }

  to = (time: number) => advanceTo(this.client, time);

  private chosen({ plan, quantity, addons }: Wish) {
    const addonParams = addons > 0 ? [{ addonPlanId: this.addon, quantity: addons }] : [];
    return { planId: this.plans[plan] ?? 0, quantity, addonParams };
  }

  async subscribe(wish: Wish): Promise<void> {
    const { client, gatewayId } = this;
    const { user } = orThrow(await client.post('/merchant/user/new', { email: `${randomUUID()}@example.com` }));
    const userId = user.id;
    orThrow(await client.post('/merchant/user/update', { userId, countryCode: 'EE' }));
    orThrow(await client.post('/merchant/payment/method/new', { gatewayId, userId, data: { scenario: 'succeeds' } }));
    const request = { gatewayId, userId, ...this.chosen(wish) };
    const { subscription } = orThrow(await client.post('/merchant/subscription/create_submit', request));
    this.lives.push(new Life(subscription.subscriptionId, priceOf(wish)));
  }

  /** Changes a subscription as it was previewed; nothing where a rule refuses it. */
  async change(life: Life, wish: Wish, effectImmediate: number): Promise<void> {
    const { planId: newPlanId, ...rest } = this.chosen(wish);
    const request = { subscriptionId: life.id, newPlanId, ...rest, effectImmediate };
    const preview = await this.client.post('/merchant/subscription/update_preview', request);
    if (!preview.ok) return;
    const { prorationDate, totalAmount, invoice } = preview.data;
    const submit = { ...request, prorationDate, confirmTotalAmount: totalAmount };
    const made = orThrow(await this.client.post('/merchant/subscription/update_submit', submit));
    const waiting = made.subscriptionPendingUpdate;
    const isDeferred = waiting?.effectImmediate === pendingUpdateEffect.periodEnd;
    life.changed(priceOf(wish), isDeferred ? waiting.effectTime : prorationDate, prorationDate);
    if (isDeferred) seen.deferred++;
    if (made.invoiceId === '') return;
    expect(promised(await this.document(made.invoiceId))).toEqual(promised(invoice));
    seen.changes++;
    if (totalAmount < 0) seen.credits++;
  }

  /** Ends a subscription now. */
  async end(life: Life, prorate: boolean): Promise<void> {
    const { id: subscriptionId } = life;
    orThrow(await this.client.post('/merchant/subscription/cancel', { subscriptionId, prorate }));
    const [row] = await this.rows(
      `select cancel_time, current_period_end from subscriptions where $m and subscription_id = '${subscriptionId}'`,
    );
    life.ended(Number(prorate ? row?.cancel_time : row?.current_period_end));
    seen.endings++;
  }

  /**
   * Previews of the next invoices that are not made yet, and the last invoice that is. Time goes on meanwhile: where an
   * invoice was made between the two there is no preview.
   */
  async previews() {
    const path = '/merchant/subscription/preview_subscription_next_invoice';
    const before = await this.lastInvoice();
    const previews = await Promise.all(
      this.lives.map(async ({ id: subscriptionId }) => {
        const answer = await this.client.get(path, { subscriptionId });
        return answer.ok && answer.data.invoice.invoiceId === '' ? answer.data.invoice : undefined;
      }),
    );
    const last = await this.lastInvoice();
    const made = await this.rows(`select subscription_id from invoices where $m and id > ${before} and id <= ${last}`);
    const late = new Set(made.map(row => row.subscription_id));
    return { previews: previews.map((preview, at) => (late.has(this.lives[at]?.id) ? undefined : preview)), last };
  }

  private async lastInvoice(): Promise<number> {
    const [last] = await this.rows('select coalesce(max(id), 0) as id from invoices where $m');
    return Number(last?.id);
  }

  /**
   * The first document that the billing cycle made for each subscription since is the one that was previewed: an invoice,
   * or the document of a deferred change that charges a paid period anew.
   */
  async compare({ previews, last }: Awaited<ReturnType<Shop['previews']>>): Promise<void> {
    const made = await this.rows(
      `select distinct on (subscription_id) subscription_id, invoice_id from invoices
        where $m and bill_reason in ('cycle', 'downgrade') and id > ${last} order by subscription_id, id`,
    );
    const ids = new Map(made.map(row => [row.subscription_id, String(row.invoice_id)]));
    for (const [at, { id }] of this.lives.entries()) {
      const [preview, invoiceId] = [previews[at], ids.get(id)];
      if (!preview || !invoiceId) continue;
      expect(promised(await this.document(invoiceId))).toEqual(promised(preview));
      seen.renewals++;
      if (preview.taxAmount > 0) seen.taxes++;
    }
  }

  /** Takes note of the live periods, before something ends one of them early. */
  async look(now: number): Promise<void> {
    const rows = await this.rows(
      `select subscription_id, seq, start_at, end_at, state from subscription_periods where $m and state <> 'void'`,
    );
    for (const life of this.lives)
      life.see(
        rows.filter(row => row.subscription_id === life.id),
        now,
      );
  }

  /** Asserts V4: the price over time was billed, periods tile, and no line is credited beyond its net. */
  async audit(): Promise<void> {
    const billed = await this.rows(
      `select subscription_id, sum(total_amount_excluding_tax) as net from invoices
        where $m and status = 'paid' and note_reason in ('', 'composed') group by 1`,
    );
    const nets = new Map(billed.map(row => [row.subscription_id, Number(row.net)]));
    for (const life of this.lives) {
      expect([life.id, ...life.gaps]).toEqual([life.id]);
      const { id, worth, tolerance } = life;
      const net = nets.get(id) ?? 0;
      const off = Math.abs(net - worth) > tolerance;
      expect({ id, worth, net, off }).toEqual({ id, worth, net, off: false });
    }
    const beyond = await this.rows(
      `select line_id from invoice_lines where $m and source_line_id = '' and credited_net > amount - tax and amount > 0`,
    );
    expect(beyond).toEqual([]);
  }

  private async document(invoiceId: string): Promise<Invoice> {
    const answer = await this.client.get('/merchant/invoice/detail', { invoiceId });
    if (answer.ok) return answer.data.invoice;
    const path = '/merchant/invoice/credit_note/list';
    const { creditNotes } = orThrow(await this.client.get(path, { searchKey: invoiceId }));
    return creditNotes[0] as Invoice;
  }

  /** Rows of one of billing's tables that belong to the merchant. */
  private rows = (text: string) => this.stand.ask('billing', text.replaceAll('$m', `merchant_id = ${this.merchantId}`));
}
