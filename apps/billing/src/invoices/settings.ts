import { sendStatus } from '@recur/contracts';
import { flag, integer, settings, type Tx, table } from '@recur/platform';

/** Settings of a merchant for its invoices. */
export interface InvoiceSettings {
  merchantId: number;
  /** False: invoices of total 0 are finished without a number, not sent, and not listed. */
  showZeroInvoice: boolean;
  /** False: documents are not sent by e-mail unless asked for. */
  invoiceEmail: boolean;
  /** True: subscriptions outlive a lost dispute. */
  keepAfterDispute: boolean;
}

export const invoiceSettings = table<InvoiceSettings>('invoice_settings', {
  key: ['merchantId'],
  columns: { merchantId: integer(), showZeroInvoice: flag(), invoiceEmail: flag(), keepAfterDispute: flag() },
});

const ofInvoices = settings(invoiceSettings, { showZeroInvoice: true, invoiceEmail: true, keepAfterDispute: false });

/** A merchant's settings for its invoices, or the defaults. */
export const invoiceSettingsOf = ofInvoices.of;

/** Changes settings under their row lock. The caller writes the log entry. */
export const changeInvoiceSettings = ofInvoices.change;

/** The sending of a document that is finished with a number, or without one, as the merchant wants it. */
export const sendStatusOf = ({ invoiceEmail }: InvoiceSettings, number: string): number =>
  invoiceEmail && number !== '' ? sendStatus.unsent : sendStatus.unnecessary;

/**
 * Records that documents were sent by e-mail. The row alone changes, without a version or an event: how an e-mail went is
 * told by the history of e-mails.
 */
export async function markSent(tx: Tx, invoiceIds: readonly string[]): Promise<void> {
  await tx.run(
    `update invoices set send_status = $3 where merchant_id = $1 and send_status <> $3 and invoice_id in (
       select invoice_id from invoices where merchant_id = $1 and invoice_id = any($2) order by invoice_id for update)`,
    [tx.merchantId, invoiceIds, sendStatus.sent],
  );
}
