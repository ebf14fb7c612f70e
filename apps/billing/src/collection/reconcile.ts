import { Injectable } from '@nestjs/common';
import { Db, fetchedWork, type Reader, systemCaller, type Tx, type Work, type WorkItem } from '@recur/platform';
import { gatewayUserIdOf } from '../gateways/chargeable.js';
import { findGateway } from '../gateways/gateway-index.js';
import { chargeWork } from '../invoices/collecting.js';
import type { ChargeReport } from '../invoices/domain/charge.js';
import type { Payment } from '../invoices/domain/payment.js';
import { payments } from '../invoices/payment-tables.js';
import { Charges } from './charges.js';
import { Settlement } from './settlement.js';

const limits = { batch: 10, leaseSeconds: 60 } as const;

type Call = (
  payment: Payment,
  charges: Charges,
  reader: Reader,
) => Promise<(() => ReturnType<Charges['ask']>) | undefined>;

/** Work about charges that were sent before: asking for outcomes that are not known, and captures. */
@Injectable()
export class PaymentReconciliation {
  readonly works: readonly Work[];

  constructor(
    private readonly db: Db,
    private readonly charges: Charges,
    private readonly settlement: Settlement,
  ) {
    this.works = [this.workOf(chargeWork.reconcile, inquiry), this.workOf(chargeWork.capture, capture)];
  }

  private workOf(kind: string, call: Call): Work {
    return fetchedWork(
      kind,
      { time: 'merchant', ...limits },
      items => Promise.all(items.map(item => this.call(item, call))),
      async (tx: Tx, items, reports) => {
        for (const [at, item] of items.entries()) {
          const report = reports[at];
          if (report) await this.settlement.report(tx.item(item), report);
        }
      },
    );
  }

  private async call({ merchantId, key, requestId }: WorkItem, call: Call): Promise<ChargeReport | undefined> {
    const caller = systemCaller(merchantId, requestId, Number.POSITIVE_INFINITY);
    const ready = await this.db.read(caller, async reader => {
      const payment = await reader.find(payments, { paymentId: key });
      const run = payment && (await call(payment, this.charges, reader));
      return run && { payment, run };
    });
    if (!ready) return undefined;
    const { paymentId, attempt, gatewayId } = ready.payment;
    return { paymentId, attempt, gatewayId, by: 'answer', outcome: await ready.run() };
  }
}

/** Asks for the outcome of a charge; ends it where its payment is no longer open. */
const inquiry: Call = async (payment, charges, reader) => {
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
const capture: Call = async (payment, charges, reader) => {
  if (payment.status !== 'created' || payment.outcome !== 'authorised' || payment.captureId === '') return undefined;
  const gateway = await findGateway(reader, payment.gatewayId);
  return gateway && charges.adapterOf(gateway) ? () => charges.capture(gateway, payment) : undefined;
};
