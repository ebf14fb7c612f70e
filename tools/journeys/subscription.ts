import { randomUUID } from 'node:crypto';
import { type Client, createClient, type Input, type Output, orThrow } from '@recur/client';
import { subscriptionStatus } from '@recur/contracts';
import type { Say } from '../local/progress.js';
import { advanceTo, timeOf } from '../simulate/clock.js';
import { sandboxGateway } from './card.js';

type Invoice = Output<'/merchant/invoice/detail'>['invoice'];
type Subscription = Output<'/merchant/subscription/detail'>['subscription'];

const DAY = 86_400;
/** Seconds within which a charge is settled, also one whose answer came too late: the gateway is asked for it after a minute. */
export const SETTLED = 600;
const { active, incomplete, cancelled } = subscriptionStatus;
export const price = (minor: number) => `${(minor / 100).toFixed(2)} EUR`;

/**
 * A subscription on the merchant's clock, through HTTP only: a trial, an upgrade, a charge that fails, a renewal and a
 * cancellation. Each preview is compared with the invoice that follows, line by line. Repeatable on the same merchant.
 * Returns the subscription's id. Throws Error where something is not as it was previewed.
 */
export async function subscriptionJourney(baseUrl: string, apiKey: string, say: Say): Promise<string> {
  const gatewayId = await sandboxGateway(createClient({ baseUrl, credential: apiKey }));
  const walk = await Walk.begin(createClient({ baseUrl, credential: apiKey }), gatewayId);
  say(`User ${walk.userId} has a card, and two plans are sold: Starter, with a week's trial at 1.00 EUR, and Team.`);
  say(`${await walk.subscribe()}; the trial is under way.`);
  say(`${await walk.renew(walk.end)}; the trial is over.`);
  say(`${await walk.upgrade()}; the plan is Team now.`);
  say(`${await walk.fail()}; the card was declined, and the subscription is incomplete.`);
  say(`${await walk.recover()}: a new card was charged at once, and the subscription is renewed.`);
  say(`${await walk.cancel()}: it has ended with its period.`);
  return walk.id;
}

/** The subscription under way. */
class Walk {
  id = '';
  /** Unix second at which the current period ends. */
  end = 0;
  private expected: Invoice | undefined;

  private constructor(
    private readonly api: Client,
    private readonly gatewayId: number,
    readonly userId: number,
    private readonly plans: { starter: number; team: number },
  ) {}

  static async begin(api: Client, gatewayId: number): Promise<Walk> {
    const { user } = orThrow(
      await api.post('/merchant/user/new', {
        email: `subscriber-${randomUUID().slice(0, 8)}@example.com`,
      }),
    );
    const monthly = { currency: 'EUR', intervalUnit: 'month' as const, intervalCount: 1 };
    const plan = async (
      body: Pick<Input<'/merchant/plan/new'>, 'planName' | 'amount' | 'trialAmount' | 'trialDurationTime'>,
    ) => {
      const { plan } = orThrow(await api.post('/merchant/plan/new', { ...monthly, ...body }));
      orThrow(await api.post('/merchant/plan/activate', { planId: plan.id }));
      return plan.id;
    };
    const starter = await plan({ planName: 'Starter', amount: 1000, trialAmount: 100, trialDurationTime: 7 * DAY });
    const walk = new Walk(api, gatewayId, user.id, { starter, team: await plan({ planName: 'Team', amount: 3000 }) });
    await walk.useCard('succeeds');
    return walk;
  }

  async subscribe(): Promise<string> {
    const terms = { userId: this.userId, gatewayId: this.gatewayId, planId: this.plans.starter, quantity: 1 };
    const { invoice } = orThrow(await this.api.post('/merchant/subscription/create_preview', terms));
    const path = '/merchant/subscription/create_submit';
    const made = orThrow(await this.api.post(path, terms));
    this.id = made.subscription.subscriptionId;
    await this.pass(SETTLED);
    await this.assertIs(active, this.plans.starter);
    return this.compared(invoice, made.invoiceId);
  }

  /** Previews the next invoice, moves the clock to a time past its charge, and compares. */
  async renew(to: number): Promise<string> {
    const invoice = await this.next();
    await advanceTo(this.api, to);
    const { latestInvoiceId } = await this.assertIs(active);
    return this.compared(invoice, latestInvoiceId);
  }

  async upgrade(): Promise<string> {
    await this.pass(10 * DAY);
    const change = { subscriptionId: this.id, newPlanId: this.plans.team, quantity: 1 };
    const preview = orThrow(await this.api.post('/merchant/subscription/update_preview', change));
    const { invoice, prorationDate, totalAmount: confirmTotalAmount } = preview;
    const { invoiceId } = orThrow(
      await this.api.post('/merchant/subscription/update_submit', { ...change, prorationDate, confirmTotalAmount }),
    );
    await this.pass(SETTLED);
    await this.assertIs(active, this.plans.team);
    return this.compared(invoice, invoiceId);
  }

  async fail(): Promise<string> {
    await this.useCard('declines_softly');
    this.expected = await this.next();
    await advanceTo(this.api, this.end + 3600);
    const { latestInvoiceId } = await this.assertIs(incomplete);
    return this.compared(this.expected, latestInvoiceId);
  }

  async recover(): Promise<string> {
    await this.useCard('succeeds');
    await this.pass(SETTLED);
    const { latestInvoiceId } = await this.assertIs(active);
    const { number } = await this.invoice(latestInvoiceId);
    return `Invoice ${number} is paid`;
  }

  async cancel(): Promise<string> {
    orThrow(await this.api.post('/merchant/subscription/cancel_at_period_end', { subscriptionId: this.id }));
    await advanceTo(this.api, this.end + 60);
    await this.assertIs(cancelled);
    return `Subscription ${this.id} was cancelled`;
  }

  /** The card of the user, in place of the one before. */
  private async useCard(scenario: string): Promise<void> {
    const where = { gatewayId: this.gatewayId, userId: this.userId };
    const { methodList } = orThrow(await this.api.get('/merchant/payment/method_list', where));
    // first, because an open invoice is tried as soon as a method is saved, with the user's default one
    const drop = '/merchant/payment/method/delete';
    for (const { id } of methodList) orThrow(await this.api.post(drop, { ...where, paymentMethodId: id }));
    orThrow(await this.api.post('/merchant/payment/method/new', { ...where, data: { scenario } }));
  }

  private async pass(seconds: number): Promise<void> {
    await advanceTo(this.api, (await timeOf(this.api)) + seconds);
  }

  private async next(): Promise<Invoice> {
    const path = '/merchant/subscription/preview_subscription_next_invoice';
    return orThrow(await this.api.get(path, { subscriptionId: this.id })).invoice;
  }

  private async invoice(invoiceId: string): Promise<Invoice> {
    return orThrow(await this.api.get('/merchant/invoice/detail', { invoiceId })).invoice;
  }

  /** The subscription as it is now. Throws Error where it has another status or plan. */
  private async assertIs(status: number, planId?: number): Promise<Subscription> {
    const path = '/merchant/subscription/detail';
    const { subscription } = orThrow(await this.api.get(path, { subscriptionId: this.id }));
    this.end = subscription.currentPeriodEnd;
    if (subscription.status === status && (planId ?? subscription.planId) === subscription.planId) return subscription;
    throw new Error(`subscription ${this.id} has status ${subscription.status} and plan ${subscription.planId}`);
  }

  private async compared(preview: Invoice, invoiceId: string): Promise<string> {
    const invoice = await this.invoice(invoiceId);
    if (inWords(invoice) !== inWords(preview)) {
      throw new Error(`invoice ${invoiceId} is not as it was previewed: ${inWords(invoice)}, not ${inWords(preview)}`);
    }
    return `Invoice ${invoice.number} over ${price(invoice.totalAmount)} is as it was previewed`;
  }
}

/** The part of an invoice that a preview promises. */
export function inWords({ totalAmount, taxAmount, lines }: Invoice): string {
  const shown = lines.map(({ name, quantity, amountExcludingTax, tax, amount }) =>
    [name, quantity, amountExcludingTax, tax, amount].join(' '),
  );
  return JSON.stringify({ totalAmount, taxAmount, lines: shown });
}
