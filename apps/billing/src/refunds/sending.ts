import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock, crashPoint, Db, type Tx, type Work, type WorkItem } from '@recur/platform';
import { GatewayAdapters } from '../gateways/adapters/adapters.js';
import { GatewayCredentials } from '../gateways/credentials.js';
import type { Gateway } from '../gateways/domain/gateway.js';
import { gatewayCalls, recordEach } from '../gateways/gateway-calls.js';
import { findGateway } from '../gateways/gateway-index.js';
import {
  type ChargeOutcome,
  type Mismatch,
  pollDelay,
  type ReportedMoney,
  statesMoney,
} from '../invoices/domain/charge.js';
import type { Payment } from '../invoices/domain/payment.js';
import type { Refund } from '../invoices/domain/refund.js';
import { CustomerNotifications } from '../invoices/notifications.js';
import { InvoiceOutcomes } from '../invoices/outcomes.js';
import { payments, REFUND_SEND, refunds } from '../invoices/payment-tables.js';
import type { InvoiceState } from '../invoices/state.js';
import {
  lockRefund,
  makeRefund,
  type NewRefund,
  type RefundOutcome,
  type RefundWithDocuments,
  reverseRefund,
  settledRefund,
} from './book.js';
import { type Misreported, tellMismatch } from './mismatches.js';

/** Outcome of a refund as its gateway states it. */
export interface RefundReport {
  refundId: string;
  /** The gateway that reports it. */
  gatewayId: number;
  outcome: ChargeOutcome;
}

/** Makes and settles refunds, with what follows: the end of what the invoice sells, and a notice to the user. */
@Injectable()
export class RefundSettlement {
  constructor(
    private readonly outcomes: InvoiceOutcomes,
    private readonly notices: CustomerNotifications,
  ) {}

  /** Locks an invoice after what it sells, to end that. Throws Rejected `invoice_not_found`. */
  lock(tx: Tx, invoiceId: string): Promise<InvoiceState> {
    return this.outcomes.lock(tx, { invoiceId, kind: 'invoice', deletedTime: 0 }, 'invoice_not_found');
  }

  /** Refunds a locked invoice; with `endsSubscription` its subscription ends. Throws what `makeRefund` does. */
  async make(tx: Tx, invoice: InvoiceState, request: NewRefund, endsSubscription = false): Promise<Refund> {
    const { refund, note } = await makeRefund(tx, invoice, request);
    if (endsSubscription) await this.outcomes.ended(tx, invoice);
    if (note) await this.notices.notify(tx, 'credited', note);
    return refund;
  }

  /** Settles a refund. Throws what `settledRefund` does. */
  async settle(tx: Tx, locked: RefundWithDocuments, outcome: RefundOutcome, log?: string): Promise<Refund> {
    const { refund, note } = await settledRefund(tx, locked, outcome, log);
    if (note) await this.notices.notify(tx, 'credited', note);
    return refund;
  }
}

/** Records what gateways say about refunds: the same for answers, inquiries and callbacks. */
@Injectable()
export class RefundReports {
  constructor(private readonly settlement: RefundSettlement) {}

  /** Records a report, with its log entry; false for one that says nothing new, or names no refund. */
  async report(tx: Tx, { refundId, gatewayId, outcome }: RefundReport): Promise<boolean> {
    const known = await tx.find(refunds, { refundId });
    if (!known) return false;
    const locked = await lockRefund(tx, known);
    const { refund } = locked;
    const payment = await tx.lockIfAny(payments, { paymentId: refund.paymentId });
    if (payment && statesMoney(outcome) && refund.status === 'created') {
      const reason = refundMismatch(payment, refund, gatewayId, outcome);
      if (reason) return tellMismatch(tx, payment, misreported(refund, gatewayId, reason, outcome));
    }
    if (payment?.gatewayId !== gatewayId) return false;
    const isFinal = outcome.is === 'succeeded' || outcome.is === 'declined' || outcome.is === 'cancelled';
    const reason = outcome.is === 'declined' ? outcome.reason : '';
    if (refund.status === 'created') {
      const gatewayRefundId = (outcome.is === 'absent' ? '' : outcome.reference) || refund.gatewayRefundId;
      if (!isFinal) return pollRefund(tx, { ...refund, gatewayRefundId });
      const move = outcome.is === 'succeeded' ? 'succeed' : 'fail';
      await this.settlement.settle(tx, locked, { move, explanation: reason, gatewayRefundId }, `Refund: ${outcome.is}`);
      return true;
    } else if (refund.status === 'success' && refund.sentTime > 0 && isFinal && outcome.is !== 'succeeded') {
      await reverseRefund(tx, locked, reason);
      return true;
    }
    return false;
  }
}

/** The fault of a reported refund: another amount than was asked for is none of ours. */
function refundMismatch(
  payment: Payment,
  refund: Refund,
  gatewayId: number,
  money: ReportedMoney,
): Mismatch | undefined {
  if (gatewayId !== payment.gatewayId) return 'gateway';
  if (refund.sentTime === 0) return 'sending';
  if (money.currency !== refund.currency) return 'currency';
  return money.amount === refund.toPayments ? undefined : 'amount';
}

const misreported = (
  { refundId, toPayments: expected }: Refund,
  gatewayId: number,
  reason: Mismatch,
  { reference, amount, currency }: ReportedMoney,
): Misreported => ({ about: 'refund', reason, gatewayId, reference, amount, currency, expected, refundId });

function pollRefund(tx: Tx, refund: Refund): boolean {
  tx.save(refunds, { ...refund, inquiries: refund.inquiries + 1, modifyTime: tx.now });
  tx.schedule(REFUND_SEND, refund.refundId, tx.now + pollDelay({ inquiries: refund.inquiries, outcome: 'unknown' }));
  const { refundId, invoiceId, userId } = refund;
  tx.log(`Refund(${refundId})`, 'Refund: unknown', { invoiceId, userId });
  return true;
}

interface RefundClaim {
  gateway: Gateway;
  payment: Payment;
  refund: Refund;
  /** True if it may have been sent before. */
  isRepeat: boolean;
}

/**
 * Makes refunds at their gateway: claims each in a transaction, sends it outside of any under the refund's id as its key,
 * and records the outcome in another. What may have been sent before is asked for first.
 */
@Injectable()
export class RefundSending {
  readonly work: Work;

  constructor(
    db: Db,
    private readonly adapters: GatewayAdapters,
    private readonly answers: GatewayCredentials,
    private readonly reports: RefundReports,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.work = gatewayCalls(
      db,
      REFUND_SEND,
      { batch: 10, leaseSeconds: 60 },
      {
        claim: (tx, items) => this.claim(tx, items),
        call: claim => this.call(claim),
        record: recordEach<RefundReport>((tx, report) => this.reports.report(tx, report)),
      },
    );
  }

  /** Notes that open refunds are sent: from now on they cannot be cancelled. */
  private async claim(tx: Tx, items: readonly WorkItem[]): Promise<ReadonlyMap<string, RefundClaim>> {
    const sentTime = Math.floor(this.clock.wall() / 1000);
    const claims = new Map<string, RefundClaim>();
    for (const refundId of items.map(({ key }) => key).sort()) {
      const refund = await tx.lockIfAny(refunds, { refundId });
      if (refund?.status !== 'created') continue;
      const payment = await tx.find(payments, { paymentId: refund.paymentId });
      const gateway = payment && (await findGateway(tx, payment.gatewayId));
      if (!gateway || !this.adapters.of(gateway.gatewayName)) continue;
      tx.save(refunds, { ...refund, sentTime });
      claims.set(refundId, { gateway, payment, refund, isRepeat: refund.sentTime > 0 });
    }
    return claims;
  }

  private async call({ gateway, payment, refund, isRepeat }: RefundClaim): Promise<RefundReport | undefined> {
    const adapter = this.adapters.of(gateway.gatewayName);
    if (!adapter) return undefined;
    const account = this.answers.account(gateway);
    const { refundId, toPayments: amount, currency } = refund;
    const request = { idempotencyKey: refundId, refundId, reference: payment.gatewayPaymentId, amount, currency };
    crashPoint('before-refund');
    const made = isRepeat ? await adapter.refundStatus(account, request, refund.gatewayRefundId) : undefined;
    const outcome = made && made.is !== 'absent' ? made : await adapter.refund(account, request);
    crashPoint('after-refund');
    return { refundId, gatewayId: gateway.gatewayId, outcome };
  }
}
