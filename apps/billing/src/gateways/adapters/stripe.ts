import { Rejected } from '@recur/kernel';
import { patient } from '@recur/platform';
import Stripe from 'stripe';
import {
  type ChargeRef,
  type ChargeRequest,
  type GatewayAccount,
  type GatewayAdapter,
  type GatewayEvent,
  type GatewayOutcome,
  type GatewayStatus,
  type MethodAnswer,
  type MethodRequest,
  type RefundRequest,
  type SavedMethod,
  UnreadableReport,
} from './adapter.js';
import {
  outcomeOf,
  outcomeOfError,
  outcomeOfRefund,
  parseEvents,
  type Read,
  savedMethod,
  toStripe,
} from './stripe-answers.js';

const apiVersion = '2026-10-28.endive';
const limits = { timeoutMs: patient(8_000), retries: 1, toleranceSeconds: 300 } as const;

/** Where Stripe's API is; absent: Stripe itself. */
export interface StripeAddress {
  host?: string;
  port?: number;
  protocol?: 'http' | 'https';
}

/** Cards through Stripe, by payment intents that are confirmed when they are created. */
export class StripeGateway implements GatewayAdapter {
  readonly name = 'stripe';

  /** `returnUrl`: where users come back to from a page of Stripe. */
  constructor(
    private readonly returnUrl: string,
    private readonly address: StripeAddress = {},
  ) {}

  async charge(account: GatewayAccount, request: ChargeRequest): Promise<GatewayOutcome> {
    const { idempotencyKey, paymentId, currency } = request;
    const amount = toStripe(request.amount, currency);
    if (amount === undefined) return notExpressible;
    return this.attempt(async () => {
      const intent = await this.client(account).paymentIntents.create(
        {
          amount,
          currency: currency.toLowerCase(),
          customer: request.gatewayUserId,
          payment_method: request.gatewayMethodId,
          allowed_payment_method_types: ['card'],
          confirm: true,
          capture_method: request.manualCapture ? 'manual' : 'automatic',
          ...(request.offSession ? { off_session: true } : { return_url: request.returnUrl }),
          metadata: { recur_key: idempotencyKey, recur_payment: paymentId },
        },
        { idempotencyKey },
      );
      return outcomeOf(intent);
    });
  }

  /** By reference; without one, among the customer's payment intents since shortly before the sending. */
  async status(account: GatewayAccount, { reference, ...charge }: ChargeRef): Promise<GatewayStatus> {
    const { paymentIntents } = this.client(account);
    return this.inquiry(async () => {
      if (reference) return outcomeOf(await paymentIntents.retrieve(reference));
      const since = { gte: charge.sentAt - limits.toleranceSeconds };
      const listed = paymentIntents.list({ customer: charge.gatewayUserId, created: since, limit: 100 });
      for await (const intent of listed) {
        if (intent.metadata.recur_key === charge.idempotencyKey) return outcomeOf(intent);
      }
      return { is: 'absent' };
    });
  }

  async capture(account: GatewayAccount, request: Omit<RefundRequest, 'refundId'>): Promise<GatewayOutcome> {
    const { reference, idempotencyKey } = request;
    const amount = toStripe(request.amount, request.currency);
    if (amount === undefined) return notExpressible;
    return this.attempt(async () => {
      const params = { amount_to_capture: amount };
      return outcomeOf(await this.client(account).paymentIntents.capture(reference, params, { idempotencyKey }));
    });
  }

  cancel(account: GatewayAccount, reference: string): Promise<GatewayOutcome> {
    return this.attempt(async () => outcomeOf(await this.client(account).paymentIntents.cancel(reference)));
  }

  async refund(account: GatewayAccount, request: RefundRequest): Promise<GatewayOutcome> {
    const { reference, idempotencyKey, refundId } = request;
    const amount = toStripe(request.amount, request.currency);
    if (amount === undefined) return notExpressible;
    return this.attempt(async () => {
      const metadata = { recur_key: idempotencyKey, recur_refund: refundId };
      const params = { payment_intent: reference, amount, metadata };
      return outcomeOfRefund(await this.client(account).refunds.create(params, { idempotencyKey }));
    });
  }

  /** By reference; without one, among the latest refunds of the payment intent. */
  async refundStatus(account: GatewayAccount, request: RefundRequest, refundReference: string): Promise<GatewayStatus> {
    const { refunds } = this.client(account);
    return this.inquiry(async () => {
      if (refundReference) return outcomeOfRefund(await refunds.retrieve(refundReference));
      const listed = await refunds.list({ payment_intent: request.reference, limit: 100 });
      const made = listed.data.find(({ metadata }) => metadata?.recur_key === request.idempotencyKey);
      return made ? outcomeOfRefund(made) : { is: 'absent' };
    });
  }

  /** Saves `data.paymentMethodId`, which Stripe's own form made; without one, answers a page of Stripe. */
  async saveMethod(account: GatewayAccount, request: MethodRequest): Promise<MethodAnswer> {
    const stripe = this.client(account);
    const { idempotencyKey, data, userId, email } = request;
    try {
      const customer =
        request.gatewayUserId ||
        (
          await stripe.customers.create(
            { ...(email && { email }), metadata: { recur_user: String(userId) } },
            { idempotencyKey: `customer-${account.gatewayId}-${userId}` },
          )
        ).id;
      const gatewayUserId = customer;
      if (typeof data.paymentMethodId !== 'string' || data.paymentMethodId === '') {
        const session = await stripe.checkout.sessions.create(
          { mode: 'setup', customer, allowed_payment_method_types: ['card'], success_url: this.returnUrl },
          { idempotencyKey },
        );
        return { is: 'page', gatewayUserId, url: session.url ?? '' };
      }
      const intent = await stripe.setupIntents.create(
        {
          customer,
          payment_method: data.paymentMethodId,
          allowed_payment_method_types: ['card'],
          usage: 'off_session',
          confirm: true,
          return_url: this.returnUrl,
        },
        { idempotencyKey },
      );
      if (intent.status === 'requires_action') {
        return { is: 'page', gatewayUserId, url: intent.next_action?.redirect_to_url?.url ?? '' };
      }
      if (intent.status !== 'succeeded') return { is: 'refused', reason: `the setup is ${intent.status}` };
      return { is: 'saved', gatewayUserId, method: await this.method(stripe, data.paymentMethodId) };
    } catch (error) {
      const outcome = outcomeOfError(error);
      return { is: 'refused', reason: outcome.is === 'declined' ? outcome.reason : 'Stripe did not answer' };
    }
  }

  async deleteMethod(account: GatewayAccount, gatewayMethodId: string): Promise<void> {
    await this.attempt(async () => {
      await this.client(account).paymentMethods.detach(gatewayMethodId);
      return { is: 'cancelled', reference: gatewayMethodId };
    });
  }

  async callback(
    account: GatewayAccount,
    headers: Readonly<Record<string, string>>,
    body: Uint8Array,
    now: number,
  ): Promise<GatewayEvent[] | undefined> {
    const stripe = this.client(account);
    const signature = headers['stripe-signature'] ?? '';
    let event: unknown;
    try {
      event = stripe.webhooks.constructEvent(
        Buffer.from(body),
        signature,
        account.webhookSecret,
        limits.toleranceSeconds,
        undefined,
        now * 1000,
      );
    } catch (error) {
      if (error instanceof Stripe.errors.StripeSignatureVerificationError) return undefined;
      // rightly signed, and no JSON
      throw new UnreadableReport('', '', error);
    }
    const { id, type } = (event ?? {}) as { id?: unknown; type?: unknown };
    const unreadable = (error: unknown) => new UnreadableReport(nameIn(id), nameIn(type), error);
    return Promise.all(eventsOf(event, unreadable).map(fact => this.completed(stripe, fact, unreadable)));
  }

  /** The fact with the method that it names. */
  private async completed(stripe: Stripe, fact: Read, unreadable: (error: unknown) => Error): Promise<GatewayEvent> {
    if (fact.about !== 'method') return fact;
    const { lacks, ...known } = fact;
    try {
      return { ...known, method: await this.method(stripe, lacks) };
    } catch (error) {
      if (error instanceof Stripe.errors.StripeInvalidRequestError) throw unreadable(error);
      throw new Rejected('dependency_away', 'Stripe did not answer');
    }
  }

  private async method(stripe: Stripe, id: string): Promise<SavedMethod> {
    return savedMethod(await stripe.paymentMethods.retrieve(id));
  }

  private async attempt(run: () => Promise<GatewayOutcome>): Promise<GatewayOutcome> {
    try {
      return await run();
    } catch (error) {
      return outcomeOfError(error);
    }
  }

  /** An inquiry that is refused, as with a revoked key, says nothing about the charge. */
  private async inquiry(run: () => Promise<GatewayStatus>): Promise<GatewayStatus> {
    try {
      return await run();
    } catch (error) {
      const { reference } = outcomeOfError(error);
      return { is: 'unknown', reference };
    }
  }

  private client({ secret }: GatewayAccount): Stripe {
    const { timeoutMs: timeout, retries: maxNetworkRetries } = limits;
    return new Stripe(secret, { apiVersion, timeout, maxNetworkRetries, telemetry: false, ...this.address });
  }
}

function eventsOf(event: unknown, unreadable: (error: unknown) => Error): Read[] {
  try {
    return parseEvents(event);
  } catch (error) {
    throw unreadable(error);
  }
}

/** A name for the log. */
const nameIn = (name: unknown): string => (typeof name === 'string' ? name.slice(0, 255) : '');

const notExpressible: GatewayOutcome = {
  is: 'declined',
  kind: 'hard',
  reason: 'amount_not_expressible',
  reference: '',
};
