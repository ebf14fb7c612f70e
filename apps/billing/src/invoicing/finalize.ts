import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Invoice } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { CONFIG, type StepOptions, type Tx } from '@recur/platform';
import type { Config } from '../config.js';
import { belowMinimum } from '../pricing/settle.js';
import { invoiceAggregate, paymentAggregate } from './aggregates.js';
import { takeMain } from './credit-use.js';
import { DocumentLinks } from './document-links.js';
import { openPayment } from './domain/collection.js';
import * as domain from './domain/invoice.js';
import type { Payment, PaymentDraft } from './domain/payment.js';
import { InvoiceEndings } from './endings.js';
import { nextNumber } from './numbers.js';
import { partiesOf } from './parties.js';
import type { InvoiceState } from './state.js';

/** Payment term of an invoice that is finished when it is made. */
export const DAYS_UNTIL_DUE = 3;

/** Options of a finalization. */
interface Finalization {
  /** Unix second at which it expires; absent, by the payment term in days. */
  deadline?: number;
  /** The merchant's details of the payment. */
  details?: Omit<PaymentDraft, 'paymentId' | 'now'>;
  /** Entry in the operation log: about the invoice, or about its payment. */
  log?: StepOptions;
  paymentLog?: StepOptions;
}

/** Finalizes drafts: opens them for payment. */
@Injectable()
export class InvoiceFinalizer {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly documents: DocumentLinks,
    private readonly endings: InvoiceEndings,
  ) {}

  /** A payment link with a 256-bit token. */
  newLink(): string {
    return `${this.config.PORTAL_BASE}/invoice/${randomBytes(32).toString('base64url')}`;
  }

  /**
   * Finalizes a draft: takes main credit, opens a payment for the rest by the state's gateway, schedules the expiry,
   * freezes the parties, and gives the number, whose lock is the last. With nothing due it is paid at once and gets no
   * payment. Throws what `finish` does, and Rejected `amount_below_minimum`. Returns the invoice's view.
   */
  async finalize(
    tx: Tx,
    draft: InvoiceState,
    daysUntilDue: number,
    { details, log, paymentLog, ...given }: Finalization = {},
  ): Promise<{ view: Invoice; payment?: Payment }> {
    domain.assertFinishable(draft);
    const minimum = minimumOf(draft);
    const [partialCreditPaid, { merchant, seller, buyer }] = await Promise.all([
      takeMain(tx, draft, minimum),
      partiesOf(tx, draft.userId),
    ]);
    const prepared = { ...draft, partialCreditPaid, seller, buyer };
    assertCollectable(prepared, minimum);
    const { counter, number } = await nextNumber(tx, 'invoice', merchant);
    const gatewayId = draft.gateway?.gatewayId ?? 0;
    const finish = {
      number,
      gatewayId,
      link: this.newLink(),
      pdfLink: this.documents.linkOf(draft.merchantId, draft.invoiceId),
      daysUntilDue,
      now: tx.now,
    };
    const finished = { ...domain.finish(prepared, finish), counter };
    if (finished.status === 'paid') return { view: await this.endings.paid(tx, finished, undefined, log?.log) };
    const [payment, attached] = openPayment(finished, { ...details, paymentId: tx.newId('pay_'), now: tx.now });
    const deadline = given.deadline ?? domain.expiryTime(attached);
    const opened = { ...attached, deadline, payment };
    tx.schedule('invoice.expire', opened.invoiceId, deadline);
    const view = tx.step(invoiceAggregate, opened, 'invoice.process', log);
    tx.step(paymentAggregate, payment, 'payment.created', paymentLog);
    return { view, payment };
  }
}

/** The smallest amount that the gateway collects, where it is in the gateway's own currency; else 0. */
export const minimumOf = ({ gateway, currency }: Pick<InvoiceState, 'gateway' | 'currency'>): bigint =>
  gateway?.currency === currency ? gateway.minimumAmount : 0n;

function assertCollectable(invoice: InvoiceState, minimum: bigint): void {
  const due = domain.dueOf(invoice);
  if (belowMinimum(due, minimum, 'other') === 'collect') return;
  throw new Rejected(
    'amount_below_minimum',
    `Invoice ${invoice.invoiceId} has ${due} due: the gateway collects ${minimum} or more`,
  );
}
