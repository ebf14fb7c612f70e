import { isDeepStrictEqual } from 'node:util';
import { sendStatus } from '@recur/contracts';
import type { Peeking, Tx } from '@recur/platform';
import { type InvoiceSettings, invoiceSettings } from '../tables.js';

export type Settings = InvoiceSettings;

const defaults = (merchantId: number): InvoiceSettings => ({
  merchantId,
  showZeroInvoice: true,
  invoiceEmail: true,
  keepAfterDispute: false,
});

/** A merchant's settings for its invoices, or the defaults. */
export const settingsOf = async (reader: Peeking): Promise<InvoiceSettings> =>
  (await reader.peek(invoiceSettings, {})) ?? defaults(reader.merchantId);

/** The sending of a document that is finished with a number, or without one, as the merchant wants it. */
export const sendStatusOf = ({ invoiceEmail }: InvoiceSettings, number: string): number =>
  invoiceEmail && number !== '' ? sendStatus.unsent : sendStatus.unnecessary;

/** Changes settings under their row lock. The caller writes the log entry. */
export async function changeSettings(
  tx: Tx,
  change: Partial<Omit<InvoiceSettings, 'merchantId'>>,
): Promise<InvoiceSettings> {
  // two commands may both find no row yet
  tx.onConflict('invoice_settings_pkey', 'again');
  const before = (await tx.lockIfAny(invoiceSettings, {})) ?? defaults(tx.merchantId);
  const settings = { ...before, ...change };
  if (!isDeepStrictEqual(settings, before)) tx.save(invoiceSettings, settings);
  return settings;
}
