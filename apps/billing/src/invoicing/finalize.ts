import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Invoice } from '@recur/contracts';
import { CONFIG, type StepOptions, type Tx } from '@recur/platform';
import type { Config } from '../config.js';
import { invoiceAggregate, paymentAggregate } from './aggregates.js';
import { DocumentLinks } from './document-links.js';
import { openPayment } from './domain/collection.js';
import * as domain from './domain/invoice.js';
import type { Payment, PaymentDraft } from './domain/payment.js';
import type { InvoiceState } from './state.js';

/** Payment term of an invoice that is finished when it is made. */
export const DAYS_UNTIL_DUE = 3;

/** Options of a finalization. */
interface Finalization {
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
  ) {}

  /** A payment link with a 256-bit token. */
  newLink(): string {
    return `${this.config.PORTAL_BASE}/invoice/${randomBytes(32).toString('base64url')}`;
  }

  /**
   * Finalizes a draft: assigns number and link, opens its payment and schedules its expiry. A draft of total 0 is paid at
   * once and gets no payment. The payment is collected by the state's gateway. Returns the invoice's view.
   */
  async finalize(
    tx: Tx,
    draft: InvoiceState,
    daysUntilDue: number,
    { details, log, paymentLog }: Finalization = {},
  ): Promise<{ view: Invoice; payment?: Payment }> {
    const finished = domain.finish(draft, {
      number: await nextNumber(tx),
      gatewayId: draft.gateway?.gatewayId ?? 0,
      link: this.newLink(),
      pdfLink: this.documents.linkOf(draft.merchantId, draft.invoiceId),
      daysUntilDue,
      now: tx.now,
    });
    if (finished.status === 'paid') return { view: tx.step(invoiceAggregate, finished, 'invoice.paid', log) };
    const [payment, opened] = openPayment(finished, { ...details, paymentId: tx.newId('pay_'), now: tx.now });
    tx.schedule('invoice.expire', opened.invoiceId, domain.expiryTime(opened));
    const view = tx.step(invoiceAggregate, { ...opened, payment }, 'invoice.process', log);
    tx.step(paymentAggregate, payment, 'payment.created', paymentLog);
    return { view, payment };
  }
}

/** The merchant's next invoice number. The counter row stays locked until the commit, so a rollback leaves no gap. */
async function nextNumber(tx: Tx): Promise<string> {
  const [row] = await tx.run(
    `insert into numberings (merchant_id, last_number) values ($1, 1)
     on conflict (merchant_id) do update set last_number = numberings.last_number + 1 returning last_number`,
    [tx.merchantId],
  );
  return String(row?.last_number);
}
