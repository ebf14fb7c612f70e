import { Injectable } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import type { Db, Tx } from '@recur/platform';
import { chargesItself, type Gateway, usableGateway } from '../gateways/domain/gateway.js';
import { allGateways } from '../gateways/gateway-index.js';
import { InvoiceClosing } from '../invoices/close.js';
import { startCollecting, tryNow } from '../invoices/collecting.js';
import { isBusy } from '../invoices/domain/charge.js';
import { clearPayment, openAnotherPayment } from '../invoices/domain/collection.js';
import type { CollectionTerms } from '../invoices/domain/dunning.js';
import { amountDue, assertOpen } from '../invoices/domain/invoice.js';
import type { Checkout, Payment } from '../invoices/domain/payment.js';
import { InvoiceFinalizer, minimumOf } from '../invoices/issuing/finalize.js';
import { collections, payments } from '../invoices/payment-tables.js';
import type { InvoiceState } from '../invoices/state.js';
import { invoiceAggregate, paymentAggregate } from '../invoices/views.js';

/** How a user pays. */
export interface PaymentMeans {
  gatewayId: number;
  /** Gives the id of the method to charge, '' for the default one, once the invoice is locked and open. */
  method(): Promise<string>;
}

/** Payments of open invoices that their users make. */
@Injectable()
export class PayInvoice {
  constructor(
    private readonly finalizer: InvoiceFinalizer,
    private readonly closing: InvoiceClosing,
  ) {}

  /**
   * Pays an open invoice: the charge is made at once by a gateway that charges, a transfer is awaited by one that does not.
   * Throws Rejected `invoice_not_open`, `payment_exists` while a charge is under way, or what the gateway and method say.
   */
  async pay(tx: Tx, invoiceId: string, { gatewayId, method }: PaymentMeans): Promise<Payment> {
    const invoice = await lockOpen(tx, invoiceId);
    const gateway = usableGateway(await allGateways(tx), gatewayId);
    const methodId = await method();
    const { payment: current } = invoice;
    const isThere = current?.status === 'created' && current.outcome === '' && current.gatewayId === gatewayId;
    if (!isThere) return this.another(tx, invoice, gateway, methodId);
    if (methodId !== '') tx.save(payments, { ...current, checkout: backTo(invoice.link, methodId) });
    tx.log(`Payment(${current.paymentId})`, 'Pay', { userId: invoice.userId, invoiceId });
    if (chargesItself(gateway)) await tryNow(tx, invoice);
    return current;
  }

  /**
   * Has an open invoice collected by another gateway from now on. One whose charge is under way stays where it is, and so
   * does one that the gateway does not take. The invoice is locked.
   */
  async move(
    tx: Tx,
    invoice: InvoiceState,
    gateway: Gateway,
    terms: Pick<CollectionTerms, 'automatic'>,
  ): Promise<void> {
    const { status, payment, gatewayId, currency, invoiceId, periodStart } = invoice;
    if (status !== 'processing' || gatewayId === gateway.gatewayId) return;
    const isWaiting = payment?.outcome === 'action';
    if ((isBusy(payment) && !isWaiting) || amountDue(invoice) < minimumOf({ gateway, currency })) return;
    if (!chargesItself(gateway) && currency !== gateway.currency) return;
    const link = invoice.link || this.finalizer.newLink();
    const { opened } = await this.opened(tx, invoice, gateway, { link, checkout: payment?.checkout ?? null });
    const isCollected = (await tx.find(collections, { invoiceId })) !== undefined;
    const chargeTime = Math.max(tx.now, periodStart);
    if (!isCollected && chargesItself(gateway)) startCollecting(tx, opened, { ...terms, chargeTime, periodStart });
  }

  /** Another payment, in place of one that failed, is of another gateway, or waits for its user. */
  private async another(tx: Tx, invoice: InvoiceState, gateway: Gateway, methodId: string): Promise<Payment> {
    const link = invoice.link || this.finalizer.newLink();
    const { payment, opened } = await this.opened(
      tx,
      invoice,
      gateway,
      { link, checkout: backTo(link, methodId) },
      'Pay',
    );
    if (chargesItself(gateway)) await tryNow(tx, opened);
    return payment;
  }

  private async opened(
    tx: Tx,
    invoice: InvoiceState,
    gateway: Gateway,
    { link, checkout }: Pick<Payment, 'link' | 'checkout'>,
    log?: string,
  ) {
    const { gatewayId } = gateway;
    const free = await this.cleared(tx, invoice);
    const ids = { paymentId: tx.newId('pay_'), id: await tx.nextId(payments) };
    const [payment, opened] = openAnotherPayment(free, free.payment, {
      ...ids,
      gatewayId,
      link,
      checkout,
      now: tx.now,
    });
    tx.onConflict('payments_one_live', () => new Rejected('payment_exists'));
    tx.step(invoiceAggregate, { ...opened, gateway, payment }, 'invoice.updated');
    tx.step(paymentAggregate, payment, 'payment.created', log === undefined ? {} : { log });
    return { payment, opened };
  }

  /** The invoice without the open payment that another one replaces. */
  private async cleared(tx: Tx, invoice: InvoiceState): Promise<InvoiceState> {
    const { payment } = invoice;
    if (payment?.status !== 'created') return invoice;
    const { paymentId, outcome } = payment;
    if (outcome !== '' && outcome !== 'action') {
      throw new Rejected('payment_exists', `Payment ${paymentId} is under way: wait for its outcome`);
    }
    const [cancelled, free] = clearPayment(invoice, payment, tx.now);
    // at once: the unique index has to see it before the payment that replaces it
    await tx.saveNow(payments, cancelled);
    this.closing.stopped(tx, cancelled);
    return { ...free, payment: undefined };
  }
}

/** After a page of the gateway, the user comes back to the invoice. */
const backTo = (link: string, paymentMethodId: string): Checkout => ({
  gatewayPaymentType: '',
  paymentUIMode: '',
  gasPayer: '',
  metadata: {},
  returnUrl: link,
  cancelUrl: link,
  ...(paymentMethodId !== '' && { paymentMethodId }),
});

async function lockOpen(tx: Tx, invoiceId: string): Promise<InvoiceState> {
  const where = { invoiceId, kind: 'invoice' as const, deletedTime: 0 };
  const invoice = await tx.lock(invoiceAggregate, where, 'invoice_not_found');
  assertOpen(invoice);
  return invoice;
}

/**
 * The merchant and invoice behind the token of a payment link, of whichever payment it was the link; undefined for an
 * unknown one. invoice_links belongs to no merchant's rows, since whoever follows a link names none; a trigger fills it.
 */
export async function invoiceOfLink(
  db: Db,
  token: string,
): Promise<{ merchantId: number; invoiceId: string } | undefined> {
  const text = `select merchant_id, invoice_id from invoice_links where token_hash = sha256(convert_to($1::text, 'UTF8'))`;
  const [row] = await db.infra(text, [token]);
  return row && { merchantId: Number(row.merchant_id), invoiceId: String(row.invoice_id) };
}
