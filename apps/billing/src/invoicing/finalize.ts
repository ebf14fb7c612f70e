import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Invoice } from '@recur/contracts';
import { CONFIG, type Tx } from '@recur/platform';
import type { Config } from '../config.js';
import type { Gateway } from '../gateways/domain/gateway.js';
import { DocumentLinks } from './document-links.js';
import { openPayment } from './domain/collection.js';
import * as domain from './domain/invoice.js';
import type { Payment, PaymentDraft } from './domain/payment.js';
import type { StoredInvoice } from './lines.js';
import { invoices, payments } from './tables.js';
import { invoiceView, paymentView } from './views.js';

/** Payment term of an invoice that is finished when it is made. */
export const DAYS_UNTIL_DUE = 3;

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
   * once and gets no payment. Returns the invoice's view.
   */
  async finalize(
    tx: Tx,
    draft: StoredInvoice,
    gateway: Gateway | undefined,
    daysUntilDue: number,
    details: Omit<PaymentDraft, 'paymentId' | 'now'> = {},
  ): Promise<{ view: Invoice; payment?: Payment }> {
    const finished = domain.finish(draft, {
      number: await nextNumber(tx),
      gatewayId: gateway?.gatewayId ?? 0,
      link: this.newLink(),
      pdfLink: this.documents.linkOf(draft.merchantId, draft.invoiceId),
      daysUntilDue,
      now: tx.now,
    });
    if (finished.status === 'paid') {
      const view = invoiceView(finished, gateway);
      tx.save(invoices, finished);
      tx.emit('invoice.paid', finished, view);
      return { view };
    }
    const [payment, opened] = openPayment(finished, { ...details, paymentId: tx.newId('pay_'), now: tx.now });
    const view = invoiceView(opened, gateway, payment);
    tx.save(invoices, opened);
    tx.save(payments, payment);
    tx.schedule('invoice.expire', opened.invoiceId, domain.expiryTime(opened));
    tx.emit('invoice.process', opened, view);
    tx.emit('payment.created', payment, paymentView(payment));
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
