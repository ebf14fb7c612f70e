import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Invoice } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { CONFIG, type StepOptions, type Tx } from '@recur/platform';
import type { Config } from '../../config.js';
import { chargesItself } from '../../gateways/domain/gateway.js';
import { belowMinimum } from '../../pricing/settle.js';
import { InvoiceClosing } from '../close.js';
import { startCollecting } from '../collecting.js';
import { applyMain } from '../crediting/credit-use.js';
import { DocumentLinks } from '../document-links.js';
import { openPayment } from '../domain/collection.js';
import { termDeadline } from '../domain/deadlines.js';
import { type CollectionTerms, isChargedAtFinish } from '../domain/dunning.js';
import * as domain from '../domain/invoice.js';
import type { Payment, PaymentDraft } from '../domain/payment.js';
import { CustomerNotifications } from '../notifications.js';
import { isNumbered, nextNumber } from '../numbers.js';
import { afterTaxation, partiesOf, type Taxation } from '../parties.js';
import { payments } from '../payment-tables.js';
import { invoiceSettingsOf, sendStatusOf } from '../settings.js';
import type { InvoiceState } from '../state.js';
import { invoiceAggregate, paymentAggregate } from '../views.js';

/** Payment term of an invoice that is finished when it is made. */
export const DAYS_UNTIL_DUE = 3;

/** Options of a finalization. */
export interface Finalization {
  /** The merchant's details of the payment. */
  details?: Omit<PaymentDraft, 'paymentId' | 'now'>;
  /** How it is collected where its gateway charges by itself, and its deadline. */
  collection?: CollectionTerms;
  /** Entry in the operation log: about the invoice, or about its payment. */
  log?: StepOptions;
  paymentLog?: StepOptions;
  /** The decision on the rates of the lines, if they were not stated. */
  taxation?: Taxation;
}

/** Finalizes drafts: opens them for payment. */
@Injectable()
export class InvoiceFinalizer {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly documents: DocumentLinks,
    private readonly closing: InvoiceClosing,
    private readonly notices: CustomerNotifications,
  ) {}

  /** A payment link with a 256-bit token. */
  newLink(): string {
    return `${this.config.PORTAL_BASE}/invoice/${randomBytes(32).toString('base64url')}`;
  }

  /**
   * Finalizes a draft: takes main credit, opens a payment for the rest by the state's gateway, schedules its attempts and
   * the expiry, freezes the parties, and gives the number, whose lock is the last. With nothing due it is paid at once and
   * gets no payment; of total 0 it gets no number either, where the merchant does not show such invoices. Throws what
   * `finish` does, and Rejected `amount_below_minimum`. Returns the invoice's view.
   */
  async finalize(
    tx: Tx,
    draft: InvoiceState,
    daysUntilDue: number,
    { details, collection = {}, log, paymentLog, taxation }: Finalization = {},
  ): Promise<{ view: Invoice; payment?: Payment }> {
    domain.assertFinishable(draft);
    const minimum = minimumOf(draft);
    const [partialCreditPaid, { merchant, seller, buyer }, settings] = await Promise.all([
      applyMain(tx, draft, minimum),
      partiesOf(tx, draft),
      invoiceSettingsOf(tx),
    ]);
    const prepared = { ...draft, partialCreditPaid, seller, buyer };
    assertCollectable(prepared, minimum);
    if (taxation) await afterTaxation(tx, taxation);
    const { counter, number } = isNumbered(draft.totalAmount, settings.showZeroInvoice)
      ? await nextNumber(tx, 'invoice', merchant)
      : { counter: 0, number: '' };
    const gatewayId = draft.gateway?.gatewayId ?? 0;
    const finish = {
      number,
      gatewayId,
      link: this.newLink(),
      ...this.documents.keyed(draft.merchantId, draft.invoiceId),
      daysUntilDue,
      now: tx.now,
    };
    const sendStatus = sendStatusOf(settings, number);
    const finished = { ...domain.finishInvoice(prepared, finish), counter, sendStatus };
    if (finished.status === 'paid') return { view: await this.closing.paid(tx, finished, undefined, log?.log) };
    const isCharged = chargesItself(draft.gateway);
    const [payment, attached] = openPayment(finished, {
      ...details,
      paymentId: tx.newId('pay_'),
      id: await tx.nextId(payments),
      now: tx.now,
      automatic: isCharged && collection.automatic !== false,
    });
    const deadline = collection.deadline ?? termDeadline(attached);
    const opened = { ...attached, deadline, payment };
    tx.schedule('invoice.expire', opened.invoiceId, deadline);
    const collected = isCharged && startCollecting(tx, opened, collection);
    const { view } = tx.step(invoiceAggregate, opened, 'invoice.process', log);
    tx.step(paymentAggregate, payment, 'payment.created', paymentLog);
    // an invoice that is charged at once is announced with what comes of that
    const isAtOnce = collected && isChargedAtFinish(collected, opened.finishTime);
    if (!isAtOnce) await this.notices.notify(tx, 'issued', opened);
    return { view, payment };
  }
}

/** The smallest amount that the gateway collects, where it is in the gateway's own currency; else 0. */
export const minimumOf = ({ gateway, currency }: Pick<InvoiceState, 'gateway' | 'currency'>): bigint =>
  gateway?.currency === currency ? gateway.minimumAmount : 0n;

function assertCollectable(invoice: InvoiceState, minimum: bigint): void {
  const due = domain.amountDue(invoice);
  if (belowMinimum(due, minimum, 'other') === 'collect') return;
  throw new Rejected(
    'amount_below_minimum',
    `Invoice ${invoice.invoiceId} has ${due} due: the gateway collects ${minimum} or more`,
  );
}
