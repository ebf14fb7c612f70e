import type { invoiceStatus, paymentStatus, pendingUpdateEffect, subscriptionStatus } from '@recur/contracts';
import { type Calls, orThrow, RecurError, slept } from './calls.js';
import type { Failure, FailureType } from './result.js';
import type { Input, Output } from './table.js';
import { namedBy, type UserName } from './user.js';

export interface Attach {
  user: UserName;
  /** The id of the plan, or the merchant's own id of it (a string). */
  plan: number | string;
  /** Default 1. */
  quantity?: number;
  discountCode?: string;
  /** Where the pages lead on to. */
  returnUrl?: string;
  cancelUrl?: string;
  /**
   * The key of the intent, sent as it is: it has its effect once, whatever happened since. Absent or blank: it has its effect
   * where it is not there. What a user buys on the page of a checkout is not under the key.
   */
  idempotencyKey?: string;
  /** How long the outcome of a charge is waited for, 10 s by default; after that the page of its invoice shows it. */
  waitMs?: number;
}

export type Attached =
  /** The user has the plan, or will have it at the unix second `effectTime`; 0: now. */
  | { is: 'done'; subscriptionId: string; effectTime: number }
  /** Where the user has to go: the checkout of the plan, or the page of the unpaid invoice. */
  | { is: 'page'; url: string }
  | { is: 'refused'; error: Failure }
  /** No answer tells what became of it, so it may have its effect: the same call again finds out. */
  | { is: 'unknown'; error: Failure };

type Detail = Output<'/merchant/subscription/user_subscription_detail'>;
type Subscription = NonNullable<Detail['subscription']>;
type Pending = NonNullable<Detail['unfinishedSubscriptionPendingUpdate']>;
type Plan = Output<'/merchant/plan/detail'>['plan']['plan'];

// codes of the contracts, which are not loaded: the compiler compares them
const sub: typeof subscriptionStatus = {
  init: 0,
  pending: 1,
  active: 2,
  cancelled: 4,
  expired: 5,
  incomplete: 7,
  processing: 8,
  failed: 9,
};
const open: Pick<typeof invoiceStatus, 'processing' | 'paid'> = { processing: 2, paid: 3 };
const underWay: Pick<typeof paymentStatus, 'created' | 'success'> = { created: 10, success: 20 };
const atPeriodEnd: (typeof pendingUpdateEffect)['periodEnd'] = 0;

const unpaid: readonly number[] = [sub.init, sub.pending, sub.processing];
const ended: readonly number[] = [sub.cancelled, sub.expired, sub.failed];
const pollMs = 250;
const mostLooks = 8;
const mostRuns = 8;
/** Refusals that another call which was faster explains. */
const overtaken: readonly FailureType[] = [
  ...(['subscription_exists', 'subscription_wrong_state', 'payment_under_way', 'idempotency_reused'] as const),
];
/** Failures after which it is open what became of a call, beside those that say that it may be tried again. */
const silent: readonly FailureType[] = ['unreachable', 'unreadable', 'aborted'];

/**
 * Gives a user a plan: buys it, or changes the subscription to its product, whichever it is, and only what is not there.
 * Charges a saved payment method; a user without one is sent to a page.
 */
export async function attach(calls: Calls, request: Attach): Promise<Attached> {
  try {
    return await (await Attaching.begin(calls, request)).run();
  } catch (cause) {
    if (!(cause instanceof RecurError)) throw cause;
    const error = cause.failure;
    const isOpen = error.retryable || error.status >= 500 || silent.includes(error.type);
    return { is: isOpen ? 'unknown' : 'refused', error };
  }
}

/** A known user, and the client session of one that was found as a person. */
interface Buyer {
  named: { userId: number } | { externalUserId: string };
  clientSession?: string;
}

/** A step was answered as an earlier call was: what the answer tells may be over. */
class Outdated extends Error {}

class Attaching {
  private readonly wanted: { quantity: number; discountCode: string; returnUrl: string; cancelUrl: string };
  private runs = 0;
  private readonly until: number;

  private constructor(
    private readonly calls: Calls,
    private readonly request: Attach,
    private readonly plan: Plan,
    private readonly buyer: Buyer,
  ) {
    const { quantity = 1, discountCode = '', returnUrl = '', cancelUrl = '' } = request;
    this.wanted = { quantity, discountCode, returnUrl, cancelUrl };
    this.until = Date.now() + (request.waitMs ?? 10_000);
  }

  static async begin(calls: Calls, request: Attach): Promise<Attaching> {
    const { plan, user, returnUrl, cancelUrl } = request;
    const which = typeof plan === 'number' ? { planId: plan } : { externalPlanId: plan };
    const [offer, buyer] = await Promise.all([
      calls.get('/merchant/plan/detail', which).then(orThrow),
      buyerOf(calls, user, { returnUrl, cancelUrl }),
    ]);
    return new Attaching(calls, request, offer.plan.plan, buyer);
  }

  /** Looks at what is there and does the rest; once more where another call was faster. */
  async run(): Promise<Attached> {
    for (;;) {
      this.runs += 1;
      try {
        return await this.once();
      } catch (cause) {
        const type = cause instanceof RecurError ? cause.failure.type : undefined;
        const isOvertaken = cause instanceof Outdated || (type !== undefined && overtaken.includes(type));
        const isUnderWay = type === 'payment_under_way' && Date.now() < this.until;
        if (!isUnderWay && (!isOvertaken || this.runs >= mostRuns)) throw cause;
        await slept(pollMs);
      }
    }
  }

  private async once(): Promise<Attached> {
    const { subscription, unfinishedSubscriptionPendingUpdate: pending } = await this.look();
    if (!subscription || ended.includes(subscription.status)) return this.buy(subscription);
    const { subscriptionId, status, planId, quantity, latestInvoiceId } = subscription;
    const isThere = this.isWanted(planId, quantity);
    if (unpaid.includes(status) && isThere) return this.outcome(subscriptionId, latestInvoiceId);
    if (status === sub.init || status === sub.pending) return this.buy(subscription);
    if (pending && this.isWanted(pending.updatePlanId, pending.updateQuantity)) return this.awaited(pending);
    if (!isThere || pending) return this.change(subscription, pending);
    if (status === sub.incomplete) return this.outcome(subscriptionId, latestInvoiceId);
    return done(subscriptionId);
  }

  /** The user's subscription to the product of the plan, with the change that waits. */
  private async look(): Promise<Pick<Detail, 'subscription' | 'unfinishedSubscriptionPendingUpdate'>> {
    const which = { ...this.buyer.named, productId: this.plan.productId };
    for (let left = mostLooks; ; left--) {
      const found = await this.calls.get('/merchant/subscription/user_subscription_detail', which);
      // billing may not have heard yet of a user who is new
      if (!found.ok && found.error.type === 'user_not_found')
        return { subscription: null, unfinishedSubscriptionPendingUpdate: null };
      const detail = orThrow(found);
      // the parts are read one after another: a change that is named and not there has been made in between
      const isTorn = detail.subscription?.pendingUpdateId && !detail.unfinishedSubscriptionPendingUpdate;
      if (!isTorn || left === 0) return detail;
      await slept(pollMs);
    }
  }

  private isWanted = (planId: number, quantity: number) => planId === this.plan.id && quantity === this.wanted.quantity;

  /** Buys the plan in place of the last subscription: by a saved method, or for nothing; else on the page of the checkout. */
  private async buy(last: Subscription | null): Promise<Attached> {
    const { quantity, discountCode, returnUrl, cancelUrl } = this.wanted;
    const terms = { ...this.buyer.named, planId: this.plan.id, quantity, discountCode };
    const preview = orThrow(await this.calls.post('/merchant/subscription/create_preview', terms));
    const { userId, totalAmount, trialEnd, gateway } = preview;
    const gatewayId = await this.chargeable(userId, gateway?.gatewayId ?? 0);
    const isDemanded = trialEnd > 0 && this.plan.trialDemand === 'paymentMethod';
    if (gatewayId === undefined && (totalAmount !== 0 || isDemanded)) return this.checkout(userId);
    const input = { ...terms, gatewayId: gatewayId ?? 0, returnUrl, cancelUrl };
    const made = await this.did('/merchant/subscription/create_submit', input, [userId, ...traits(last)]);
    const { subscriptionId } = made.subscription;
    return made.paid ? done(subscriptionId) : this.outcome(subscriptionId, made.invoiceId);
  }

  private async change(subscription: Subscription, pending: Pending | null): Promise<Attached> {
    const { subscriptionId, userId, gatewayId, amount } = subscription;
    // a user who has paid nothing yet has chosen no way to pay
    const usual = amount === 0 ? await this.chargeable(userId, gatewayId) : gatewayId;
    const gateway = usual !== undefined && usual !== gatewayId ? { gatewayId: usual } : {};
    const input = { ...this.wanted, ...gateway, subscriptionId, newPlanId: this.plan.id };
    const made = await this.did('/merchant/subscription/update_submit', input, [
      ...traits(subscription),
      pending?.pendingUpdateId,
    ]);
    const { paid, invoiceId, subscriptionPendingUpdate: update } = made;
    if (paid || !update) return done(subscriptionId);
    return this.awaited({ ...update, invoiceId });
  }

  /** A change that was submitted: at the period's end, or when its invoice is paid. */
  private async awaited({ effectImmediate, effectTime, subscriptionId, invoiceId }: Pending): Promise<Attached> {
    if (effectImmediate === atPeriodEnd) return done(subscriptionId, effectTime);
    return this.outcome(subscriptionId, invoiceId);
  }

  /**
   * The outcome of an invoice: done when it is paid; its page when no charge is under way, one was declined, the user has
   * to confirm it, or the wait is over.
   */
  private async outcome(subscriptionId: string, invoiceId: string): Promise<Attached> {
    const read = async () => orThrow(await this.calls.get('/merchant/invoice/detail', { invoiceId })).invoice;
    let invoice = await read();
    const { gateway, userId } = invoice;
    const isCharged = invoice.status === open.processing && gateway !== null && (await this.hasMethod(userId, gateway));
    while (isCharged && invoice.status === open.processing && Date.now() < this.until) {
      const { payment, link } = invoice;
      // a payment that succeeded is about to pay the invoice; the link of a payment to be confirmed is the gateway's
      const isUnderWay = Object.values<number>(underWay).includes(payment?.status ?? 0);
      if (!payment?.autoCharge || !isUnderWay || payment.link !== link) break;
      await slept(pollMs);
      invoice = await read();
    }
    if (invoice.status === open.paid) return done(subscriptionId);
    // an invoice that is over leads nowhere
    if (invoice.status !== open.processing) this.lookAgain();
    return { is: 'page', url: invoice.link };
  }

  /** A gateway that charges by itself and has a saved method of the user: the usual one, else any. */
  private async chargeable(userId: number, usual: number): Promise<number | undefined> {
    if (userId === 0) return undefined;
    const { gateways } = orThrow(await this.calls.get('/merchant/gateway/list', {}));
    const usable = gateways.filter(({ archive }) => !archive);
    for (const gateway of usable.sort((one, other) => rank(one, usual) - rank(other, usual)))
      if (await this.hasMethod(userId, gateway)) return gateway.gatewayId;
    return undefined;
  }

  private async hasMethod(userId: number, { gatewayId, autoChargeEnabled }: Chargeable): Promise<boolean> {
    if (!autoChargeEnabled) return false;
    const { methodList } = orThrow(await this.calls.get('/merchant/payment/method_list', { gatewayId, userId }));
    return methodList.length > 0;
  }

  /** The checkout of the plan, with what is wanted filled in. */
  private async checkout(userId: number): Promise<Attached> {
    const { quantity, discountCode } = this.wanted;
    const session = this.buyer.clientSession ?? (await this.newSession(userId));
    const filled = { ...(quantity !== 1 && { quantity: String(quantity) }), ...(discountCode && { discountCode }) };
    return { is: 'page', url: `${this.plan.checkoutUrl}&${new URLSearchParams({ session, ...filled })}` };
  }

  private async newSession(userId: number): Promise<string> {
    const { returnUrl, cancelUrl } = this.request;
    const { email, externalUserId } = orThrow(await this.calls.get('/merchant/user/get', { userId })).user;
    const person = { email, ...(externalUserId && { externalUserId }), returnUrl, cancelUrl };
    return orThrow(await this.calls.post('/merchant/session/new_session', person)).clientSession;
  }

  /**
   * Does a step. Without a key of the caller's, all who saw the same before it and ask the same share a key, so that it is
   * done once; one who gets an answer that another has got before looks again.
   */
  private async did<P extends Step>(path: P, input: Input<P>, seen: readonly unknown[]): Promise<Output<P>> {
    const idempotencyKey = this.request.idempotencyKey || (await digest([path, input, seen, this.runs]));
    const result = await this.calls.post(path, input, { idempotencyKey });
    if (result.ok && result.replayed) this.lookAgain();
    return orThrow(result);
  }

  /** Throws Outdated, unless the caller's key decides, or that was done often enough. */
  private lookAgain(): void {
    if (!this.request.idempotencyKey && this.runs < mostRuns) throw new Outdated();
  }
}

type Step = '/merchant/subscription/create_submit' | '/merchant/subscription/update_submit';

/** The parts of a subscription that a change of it changes. */
const traits = (seen: Subscription | null) =>
  seen ? [seen.subscriptionId, seen.planId, seen.quantity, seen.lastUpdateTime, seen.latestInvoiceId] : [];

/** A short name of a value: the hexadecimal SHA-256 of its JSON. */
async function digest(value: unknown): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(value)));
  return [...new Uint8Array(bytes)].map(byte => byte.toString(16).padStart(2, '0')).join('');
}

type Chargeable = { gatewayId: number; autoChargeEnabled: boolean };
const rank = ({ gatewayId, isDefault }: Chargeable & { isDefault: boolean }, usual: number): number =>
  gatewayId === usual ? 0 : isDefault ? 1 : 2;

const done = (subscriptionId: string, effectTime = 0): Attached => ({ is: 'done', subscriptionId, effectTime });

/** The user as later calls name it. A person is found or made, which opens a client session with these URLs. */
async function buyerOf(calls: Calls, user: UserName, urls: Pick<Attach, 'returnUrl' | 'cancelUrl'>): Promise<Buyer> {
  if (typeof user !== 'object') return { named: namedBy(user) as Buyer['named'] };
  const session = orThrow(await calls.post('/merchant/session/new_session', { ...user, ...urls }));
  return { named: { userId: Number(session.userId) }, clientSession: session.clientSession };
}
