import { Injectable } from '@nestjs/common';
import { Db, type Reader, type Work } from '@recur/platform';
import { gatewayUserIdOf } from '../gateways/chargeable.js';
import { gatewayCalls, recordEach } from '../gateways/gateway-calls.js';
import { findGateway } from '../gateways/gateway-index.js';
import { chargeWork } from '../invoices/collecting.js';
import type { ChargeReport } from '../invoices/domain/charge.js';
import type { Payment } from '../invoices/domain/payment.js';
import { payments } from '../invoices/payment-tables.js';
import { Charges } from './charges.js';
import { ChargeSettlement } from './settlement.js';

const limits = { batch: 10, leaseSeconds: 60 } as const;

/** The call that a payment needs; undefined for none. */
type CallOf = (payment: Payment, charges: Charges, reader: Reader) => Promise<Call | undefined>;
type Call = () => ReturnType<Charges['ask']>;

interface InquiryClaim {
  payment: Payment;
  call: Call;
}

/** Work about charges that were sent before: asking for outcomes that are not known, and captures. */
@Injectable()
export class PaymentReconciliation {
  readonly works: readonly Work[];

  constructor(
    private readonly db: Db,
    private readonly charges: Charges,
    private readonly settlement: ChargeSettlement,
  ) {
    this.works = [this.workOf(chargeWork.reconcile, inquiry), this.workOf(chargeWork.capture, capture)];
  }

  /** Calls of this kind can be repeated without harm, so a claim leaves no trace. */
  private workOf(kind: string, callOf: CallOf): Work {
    return gatewayCalls<InquiryClaim, ChargeReport>(this.db, kind, limits, {
      claim: async (tx, items) => {
        const claims = new Map<string, InquiryClaim>();
        for (const { key } of items) {
          const payment = await tx.find(payments, { paymentId: key });
          const call = payment && (await callOf(payment, this.charges, tx));
          if (call) claims.set(key, { payment, call });
        }
        return claims;
      },
      call: async ({ payment: { paymentId, attempt, gatewayId }, call }) => ({
        paymentId,
        attempt,
        gatewayId,
        by: 'answer',
        outcome: await call(),
      }),
      record: recordEach((tx, report) => this.settlement.report(tx, report)),
    });
  }
}

/** Asks for the outcome of a charge; ends it where its payment is no longer open. */
const inquiry: CallOf = async (payment, charges, reader) => {
  const { gatewayId, userId, outcome, status } = payment;
  if (outcome === '') return undefined;
  // a worker has it, or another will take it over
  if (outcome === 'sending' && status === 'created') return undefined;
  const gateway = await findGateway(reader, gatewayId);
  if (!gateway || !charges.adapterOf(gateway)) return undefined;
  const gatewayUserId = await gatewayUserIdOf(reader, { gatewayId, userId });
  return () =>
    status === 'created' ? charges.ask(gateway, payment, gatewayUserId) : charges.stop(gateway, payment, gatewayUserId);
};

/** Collects an authorised amount that the merchant asked for. */
const capture: CallOf = async (payment, charges, reader) => {
  if (payment.status !== 'created' || payment.outcome !== 'authorised' || payment.captureId === '') return undefined;
  const gateway = await findGateway(reader, payment.gatewayId);
  return gateway && charges.adapterOf(gateway) ? () => charges.capture(gateway, payment) : undefined;
};
