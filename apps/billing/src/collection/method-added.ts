import { Injectable } from '@nestjs/common';
import { type Tx, type Work, type WorkItem, work } from '@recur/platform';
import { announcedBy, type Chargeable, chargeableMethod, METHOD_ADDED } from '../gateways/chargeable.js';
import { chargeWork } from '../invoices/collecting.js';
import { isBusy } from '../invoices/domain/charge.js';
import { tryMethod } from '../invoices/domain/dunning.js';
import { InvoiceOutcomes } from '../invoices/outcomes.js';
import { collections } from '../invoices/payment-tables.js';
import type { InvoiceState } from '../invoices/state.js';
import { invoiceAggregate } from '../invoices/views.js';

/** Invoices of one statement. */
const limits = { invoices: 100 } as const;

/** Open invoices of users ($2) at gateways ($3) that are charged automatically, after invoice $4. */
const charged = `select c.invoice_id from unnest($2::bigint[], $3::bigint[]) w (user_id, gateway_id)
  join invoices i on i.merchant_id = $1 and i.user_id = w.user_id and i.gateway_id = w.gateway_id
    and i.status = 'processing' and i.kind = 'invoice'
  join collections c on c.merchant_id = i.merchant_id and c.invoice_id = i.invoice_id and c.automatic
  where c.invoice_id > $4 order by c.invoice_id limit ${limits.invoices}`;

/**
 * The method that an open invoice is charged with: that chosen for its payment, that of its subscription, a new one, the
 * user's default. Undefined where there is none.
 */
export async function chargedMethod(
  tx: Tx,
  outcomes: InvoiceOutcomes,
  invoice: InvoiceState,
  newMethodId: string,
): Promise<Chargeable | undefined> {
  const { gatewayId, userId, payment } = invoice;
  // a choice holds for the payment that it was made for, and not after that has failed
  const chosen = (payment?.status === 'created' && payment.checkout?.paymentMethodId) || '';
  const own = await outcomes.methodOf(tx, invoice);
  return chargeableMethod(tx, { gatewayId, userId }, [chosen, own, newMethodId]);
}

/**
 * Tries open invoices at once with a payment method that their user has saved, or that is charged from now on: those whose last
 * attempt failed or found nothing to charge, and that would be charged with another method than that attempt was.
 */
@Injectable()
export class MethodTries {
  readonly work: Work = work(METHOD_ADDED, { time: 'merchant', logged: false }, (tx, items) => this.tryAll(tx, items));

  constructor(private readonly outcomes: InvoiceOutcomes) {}

  private async tryAll(tx: Tx, items: readonly WorkItem[]): Promise<void> {
    const announced = new Map(items.map(({ key }) => [key.replace(/-[^-]*$/, ''), announcedBy(key)]));
    const users = [...announced.values()].map(({ userId }) => userId);
    const gateways = [...announced.values()].map(({ gatewayId }) => gatewayId);
    for (let [after, isMore] = ['', true]; isMore; ) {
      const found = await tx.query(charged, [tx.merchantId, users, gateways, after]);
      const ids = found.map(({ invoice_id }) => String(invoice_id));
      // the locks wait for claims under way: each either has seen the method, or is seen here with what came of it
      await this.outcomes.lockInOrder(tx, ids);
      for (const invoiceId of ids) {
        const invoice = await tx.lock(invoiceAggregate, invoiceId, 'invoice_not_found');
        const { methodId = '' } = announced.get(`${invoice.gatewayId}-${invoice.userId}`) ?? {};
        await this.tryOne(tx, invoice, methodId);
        after = invoiceId;
      }
      isMore = ids.length === limits.invoices;
    }
  }

  private async tryOne(tx: Tx, invoice: InvoiceState, newMethodId: string): Promise<void> {
    const { invoiceId } = invoice;
    const collection = await tx.lockIfAny(collections, { invoiceId });
    if (!collection || invoice.status !== 'processing') return;
    const { lastTime, lastMethodId, awaitsMethod } = collection;
    // an invoice that was not tried yet is, when its time comes
    if (lastTime === 0 && !awaitsMethod) return;
    const method = await chargedMethod(tx, this.outcomes, invoice, newMethodId);
    if (!method || (method.methodId === lastMethodId && !awaitsMethod)) return;
    tx.save(collections, tryMethod(collection, method.methodId, tx.now));
    if (!isBusy(invoice.payment)) tx.schedule(chargeWork.attempt, invoiceId, tx.now);
  }
}
