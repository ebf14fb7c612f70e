import { Controller, Inject, Injectable } from '@nestjs/common';
import { capturePayment, type In } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, CLOCK, type Clock, CONFIG, crashPoint, Db, Handle, type Tx } from '@recur/platform';
import type { Config } from '../config.js';
import type { GatewayAdapter } from '../gateways/adapters/adapter.js';
import { GatewayAdapters } from '../gateways/adapters/adapters.js';
import type { Chargeable } from '../gateways/chargeable.js';
import { GatewayCredentials } from '../gateways/credentials.js';
import type { Gateway } from '../gateways/domain/gateway.js';
import { chargeWork } from '../invoices/collecting.js';
import { type ChargeOutcome, chargeIdempotencyKey, requestCapture } from '../invoices/domain/charge.js';
import type { Payment } from '../invoices/domain/payment.js';
import { InvoiceOutcomes } from '../invoices/outcomes.js';
import { payments } from '../invoices/payment-tables.js';

/** The most time between claiming an attempt and sending it: after it, another worker may have taken it over. */
const limits = { sendWithinMs: 20_000 } as const;

/** Calls of gateways about payments. They go over the network: never inside a transaction. */
@Injectable()
export class Charges {
  constructor(
    private readonly adapters: GatewayAdapters,
    private readonly answers: GatewayCredentials,
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
      throw new Error(`attempt ${chargeIdempotencyKey(payment)} was claimed too long ago to be sent`);
    }
    const outcome = await this.use(gateway).charge(this.answers.account(gateway), {
      idempotencyKey: chargeIdempotencyKey(payment),
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
    const charge = { idempotencyKey: chargeIdempotencyKey(payment), reference, gatewayUserId, sentAt };
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

@Controller()
export class Captures {
  constructor(
    private readonly db: Db,
    private readonly outcomes: InvoiceOutcomes,
  ) {}

  @Handle(capturePayment)
  capture({ paymentId, externalCaptureId }: In<typeof capturePayment>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const locked = await this.outcomes.lockCharge(tx, paymentId);
      if (!locked) throw new Rejected('payment_not_found');
      const { payment } = locked;
      const requested = requestCapture(payment, externalCaptureId, tx.now);
      if (requested === payment) return {};
      tx.save(payments, requested);
      tx.schedule(chargeWork.capture, paymentId, tx.now);
      const { invoiceId, userId } = payment;
      tx.log(`Payment(${paymentId})`, 'Capture', { invoiceId, userId });
      return {};
    });
  }
}

/** Seconds after which a release is looked for again, where nothing told of it. */
export const releaseSeconds = 60;

/** A release that takes longer than this holds up nothing more. */
const longestSeconds = 3_600;

/** Users of invoices ($2) with a charge that was ended since $3 and may still be taken at its gateway. */
const unreleased = `select distinct p.user_id from payments p
  where p.merchant_id = $1 and p.outcome <> '' and p.status in ('cancelled', 'failed') and p.modify_time >= $3
    and p.user_id in (select user_id from invoices where merchant_id = $1 and invoice_id = any($2))`;

/** Open invoices of a user ($2) whose attempt is due ($3), in the order of locks. */
const waitingText = `select i.invoice_id from invoices i join collections c using (merchant_id, invoice_id)
  where i.merchant_id = $1 and i.user_id = $2 and i.status = 'processing' and i.kind = 'invoice'
    and (c.try_now or c.try_method_id <> '' or c.next_time between 1 and $3)
  order by i.invoice_id limit 100`;

/**
 * Users among those of invoices who are not charged for the moment: a charge of theirs that was ended, because another one
 * replaces it, may still be completed by them until its gateway has released it.
 */
export async function unreleasedUsers(tx: Tx, invoiceIds: readonly string[]): Promise<ReadonlySet<number>> {
  const rows = await tx.query(unreleased, [tx.merchantId, invoiceIds, tx.now - longestSeconds]);
  return new Set(rows.map(row => Number(row.user_id)));
}

/** The gateway has released an ended charge of a user: the attempts that waited for it are made. */
export async function resumeAfterRelease(tx: Tx, { userId }: { userId: number }): Promise<void> {
  const rows = await tx.query(waitingText, [tx.merchantId, userId, tx.now]);
  for (const { invoice_id } of rows) tx.schedule(chargeWork.attempt, String(invoice_id), tx.now);
}
