import { randomUUID } from 'node:crypto';
import { type Client, createClient, type Input, orThrow } from '@recur/client';
import { aggregationType, type Invoice, paymentStatus, planType, type Subscription } from '@recur/contracts';
import { advanceTo } from '../../../simulate/clock.js';
import { sandboxGateway } from '../../card.js';
import type { Stand } from '../stand.js';

type PlanInput = Partial<Input<'/merchant/plan/new'>>;
type Terms = Partial<Input<'/merchant/subscription/create_submit'>>;
type MetricInput = Partial<Input<'/merchant/metric/new'>>;
type EventInput = Partial<Input<'/merchant/metric/event/new'>>;

/** Status, period and total of an invoice, as `Create paid 01-31 02-28 1000`. */
const inWords = ({ invoiceName, status, periodStart, periodEnd, totalAmount }: Invoice): string =>
  [invoiceName.replace('Subscription', ''), status, shown(periodStart), shown(periodEnd), totalAmount].join(' ');

/** The UTC date of a time, with the hour where it is not the first. */
export function shown(at: number): string {
  const iso = new Date(at * 1000).toISOString();
  return iso.slice(11, 13) === '00' ? iso.slice(5, 10) : iso.slice(5, 13);
}

/** Amounts of an invoice's lines before tax, after their discounts. */
export const netsOf = ({ lines }: Invoice): number[] =>
  lines.map(({ amountExcludingTax, discountAmount }) => amountExcludingTax - discountAmount);

/** Usage lines of an invoice, each with its net amount and its tax, as `150 × Calls: 1250 + 250`. */
export const usageOf = ({ lines }: Invoice): string[] =>
  lines
    .filter(({ metricCharge }) => metricCharge !== null)
    .map(({ description, amountExcludingTax, tax }) => `${description}: ${amountExcludingTax} + ${tax}`);

/** A merchant with a test clock whose users pay by card, through HTTP only. No tax but what a request states. */
export class Seller {
  private constructor(
    readonly api: Client,
    readonly gatewayId: number,
    readonly apiKey: string,
  ) {}

  static async open(stand: Stand, name: string): Promise<Seller> {
    const { apiKey } = await stand.stack.merchant(name);
    const api = createClient({ baseUrl: stand.stack.facts().baseUrl, credential: apiKey });
    return new Seller(api, await sandboxGateway(api), apiKey);
  }

  to = (time: number) => advanceTo(this.api, time);

  /** An active plan, 1000 EUR cents a month unless said otherwise. */
  async plan(over: PlanInput = {}): Promise<number> {
    const monthly = { amount: 1000, currency: 'EUR', intervalUnit: 'month', intervalCount: 1 } as const;
    const { plan } = orThrow(await this.api.post('/merchant/plan/new', { planName: 'Plan', ...monthly, ...over }));
    orThrow(await this.api.post('/merchant/plan/activate', { planId: plan.id }));
    return plan.id;
  }

  addon = (amount: number) => this.plan({ amount, type: planType.recurringAddon });

  /** A metric whose value is the sum of its events. */
  async metric(over: MetricInput): Promise<{ id: number; code: string }> {
    const code = `m${randomUUID().slice(0, 8)}`;
    const sum = { aggregationType: aggregationType.sum, aggregationProperty: 'units', metricName: 'Calls', code };
    const { merchantMetric } = orThrow(await this.api.post('/merchant/metric/new', { ...sum, ...over }));
    return { id: merchantMetric.id, code };
  }

  /** Records usage. Returns why it was refused, or blank. */
  async use(userId: number, metricCode: string, value: number, over: EventInput = {}): Promise<string> {
    const event = { userId, metricCode, aggregationValue: value, externalEventId: randomUUID(), ...over };
    const answer = await this.api.post('/merchant/metric/event/new', event);
    return answer.ok ? '' : answer.error.type;
  }

  /** Raises or lowers a limit by hand. Returns why it was refused, or blank. */
  async adjust(userId: number, metricCode: string, amount: number): Promise<string> {
    const adjustment = { userId, metricCode, amount, reason: 'By hand' };
    const answer = await this.api.post('/merchant/metric/limit_adjust', adjustment);
    return answer.ok ? '' : answer.error.type;
  }

  /** A user's usage of a limit in the current period, and the limit. */
  async limit(userId: number, metricCode: string): Promise<[used: number, limit: number]> {
    const path = '/merchant/metric/event/current_value';
    const { currentValue, totalLimit } = orThrow(await this.api.post(path, { userId, metricCode }));
    return [currentValue, totalLimit];
  }

  /** An active code that takes off a percentage; `cycleLimit` 0 does not limit. */
  async code(billingType: number, discountPercentage: number, cycleLimit = 0): Promise<string> {
    const code = randomUUID();
    const given = { billingType, discountType: 1, discountPercentage, cycleLimit, startTime: 0, endTime: 0 };
    const { discount } = orThrow(await this.api.post('/merchant/discount/new', { code, ...given }));
    orThrow(await this.api.post('/merchant/discount/activate', { id: discount.id }));
    return code;
  }

  /** A user whose card has the outcome of a scenario. */
  async buyer(scenario = 'succeeds'): Promise<{ userId: number; email: string }> {
    const email = `${randomUUID()}@example.com`;
    const { user } = orThrow(await this.api.post('/merchant/user/new', { email }));
    await this.card(user.id, scenario);
    return { userId: user.id, email };
  }

  /** Gives a user a card in place of the one before. */
  async card(userId: number, scenario: string): Promise<void> {
    const where = { gatewayId: this.gatewayId, userId };
    const { methodList } = orThrow(await this.api.get('/merchant/payment/method_list', where));
    const drop = '/merchant/payment/method/delete';
    for (const { id } of methodList) orThrow(await this.api.post(drop, { ...where, paymentMethodId: id }));
    orThrow(await this.api.post('/merchant/payment/method/new', { ...where, data: { scenario } }));
  }

  /** A subscription of a new user, as it was made; its first invoice is charged when the clock moves on. */
  async subscribe(terms: Terms = {}): Promise<Subscription> {
    const { userId = (await this.buyer()).userId, planId = await this.plan() } = terms;
    const body = { ...terms, userId, planId, gatewayId: this.gatewayId };
    return orThrow(await this.api.post('/merchant/subscription/create_submit', body)).subscription;
  }

  async subscription(subscriptionId: string): Promise<Subscription> {
    return orThrow(await this.api.get('/merchant/subscription/detail', { subscriptionId })).subscription;
  }

  /** Status and current period of a subscription, as `2 01-31 02-28`. */
  async standing(subscriptionId: string): Promise<string> {
    const { status, currentPeriodStart, currentPeriodEnd } = await this.subscription(subscriptionId);
    return `${status} ${shown(currentPeriodStart)} ${shown(currentPeriodEnd)}`;
  }

  async document(invoiceId: string): Promise<Invoice> {
    return orThrow(await this.api.get('/merchant/invoice/detail', { invoiceId })).invoice;
  }

  /** Invoices of a user in the order in which they were made. */
  async documents(userId: number): Promise<Invoice[]> {
    const { invoices } = orThrow(await this.api.get('/merchant/invoice/list', { userId }));
    return invoices.toReversed();
  }

  async lastDocument(userId: number): Promise<Invoice> {
    const last = (await this.documents(userId)).at(-1);
    if (!last) throw new Error(`user ${userId} has no invoice`);
    return last;
  }

  totals = async (userId: number): Promise<number[]> =>
    (await this.documents(userId)).map(({ totalAmount }) => totalAmount);

  invoices = async (userId: number): Promise<string[]> => (await this.documents(userId)).map(inWords);

  async creditNotes(emails: string): Promise<Invoice[]> {
    return orThrow(await this.api.get('/merchant/invoice/credit_note/list', { emails })).creditNotes;
  }

  /** How many charges of a user failed. */
  async declined(userId: number): Promise<number> {
    const { total } = orThrow(await this.api.get('/merchant/payment/list', { userId, status: paymentStatus.failed }));
    return total;
  }

  async preview(subscriptionId: string): Promise<Invoice> {
    const path = '/merchant/subscription/preview_subscription_next_invoice';
    return orThrow(await this.api.get(path, { subscriptionId })).invoice;
  }
}

export type Change = Partial<Input<'/merchant/subscription/update_submit'>>;
