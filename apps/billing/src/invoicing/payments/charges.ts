import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock, CONFIG, crashPoint } from '@recur/platform';
import type { Config } from '../../config.js';
import type { GatewayAdapter } from '../../gateways/adapters/adapter.js';
import { GatewayAdapters } from '../../gateways/adapters/registry.js';
import { GatewayAnswers } from '../../gateways/answers.js';
import type { Chargeable } from '../../gateways/chargeable.js';
import type { Gateway } from '../../gateways/domain/gateway.js';
import { type ChargeOutcome, chargeKey } from '../domain/charge.js';
import type { Payment } from '../domain/payment.js';

/** The most time between claiming an attempt and sending it: after it, another worker may have taken it over. */
const limits = { sendWithinMs: 20_000 } as const;

/** Calls of gateways about payments. They go over the network: never inside a transaction. */
@Injectable()
export class Charges {
  constructor(
    private readonly adapters: GatewayAdapters,
    private readonly answers: GatewayAnswers,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** The adapter of a gateway; undefined for one that does not charge by itself in this deployment. */
  adapterOf(gateway: Pick<Gateway, 'gatewayName'> | undefined): GatewayAdapter | undefined {
    return gateway && this.adapters.of(gateway.gatewayName);
  }

  /** Unix seconds on the machine's clock, on which sendings are timed. */
  machineNow(): number {
    return Math.floor(this.clock.wall() / 1000);
  }

  /** Sends a claimed attempt. Throws Error if it was claimed too long ago: its outcome has to be asked for. */
  async send(gateway: Gateway, payment: Payment, method: Chargeable): Promise<ChargeOutcome> {
    const { paymentId, totalAmount: amount, currency, checkout, automatic: offSession, manualCapture } = payment;
    crashPoint('before-charge');
    if (this.clock.wall() - payment.sentTime * 1000 > limits.sendWithinMs) {
      throw new Error(`attempt ${chargeKey(payment)} was claimed too long ago to be sent`);
    }
    const outcome = await this.use(gateway).charge(this.answers.account(gateway), {
      idempotencyKey: chargeKey(payment),
      paymentId,
      amount,
      currency,
      offSession,
      manualCapture,
      ...method,
      // the page of the invoice, where nothing else was asked for
      returnUrl: checkout?.returnUrl || payment.link || this.config.PORTAL_BASE,
    });
    crashPoint('after-charge');
    return outcome;
  }

  /** Asks for the outcome of a sending. */
  ask(gateway: Gateway, payment: Payment, gatewayUserId: string): Promise<ChargeOutcome> {
    const { sentTime: sentAt, gatewayPaymentId: reference } = payment;
    const charge = { idempotencyKey: chargeKey(payment), reference, gatewayUserId, sentAt };
    return this.use(gateway).status(this.answers.account(gateway), charge);
  }

  /** Ends the charge of a payment that is no longer wanted; the outcome says whether that came too late. */
  async stop(gateway: Gateway, payment: Payment, gatewayUserId: string): Promise<ChargeOutcome> {
    const outcome = await this.ask(gateway, payment, gatewayUserId);
    if (outcome.is !== 'needsAction' && outcome.is !== 'authorised') return outcome;
    const { reference } = outcome;
    const stopped = await this.use(gateway).cancel(this.answers.account(gateway), reference);
    // a refusal says only that it cannot be cancelled any more: the next inquiry tells why
    return stopped.is === 'declined' ? { is: 'unknown', reference } : stopped;
  }

  /** Collects an authorised payment. */
  capture(gateway: Gateway, payment: Payment): Promise<ChargeOutcome> {
    const { gatewayPaymentId: reference, totalAmount: amount, currency } = payment;
    const idempotencyKey = `${payment.paymentId}-capture`;
    return this.use(gateway).capture(this.answers.account(gateway), { idempotencyKey, reference, amount, currency });
  }

  private use(gateway: Gateway): GatewayAdapter {
    const adapter = this.adapterOf(gateway);
    if (adapter) return adapter;
    throw new Error(`gateway ${gateway.gatewayId} (${gateway.gatewayName}) does not charge by itself`);
  }
}
