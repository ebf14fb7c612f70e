import { type Client, type Output, orThrow } from '@recur/client';
import type { Say } from '../local/progress.js';

type CreditNote = Output<'/merchant/invoice/detail'>['creditNotes'][number];

/** A refund's credit note, and the size of its PDF in bytes. */
export interface Refunded {
  creditNote: CreditNote;
  pdfBytes: number;
}

/**
 * Refunds a third of a paid invoice, marks the refund as paid, and fetches the PDF of its credit note. `money` writes an
 * amount in minor units.
 */
export async function refundAThird(
  api: Client,
  { invoiceId, totalAmount }: { invoiceId: string; totalAmount: number },
  money: (amount: number) => string,
  say: Say,
): Promise<Refunded> {
  const refundAmount = Math.floor(totalAmount / 3);
  orThrow(await api.post('/merchant/invoice/refund', { invoiceId, refundAmount, reason: 'A month was not used' }));
  orThrow(await api.post('/merchant/invoice/mark_refund_success', { invoiceId }));
  const detail = orThrow(await api.get('/merchant/invoice/detail', { invoiceId }));
  const [creditNote] = detail.creditNotes;
  if (!creditNote) throw new Error(`the refund of ${invoiceId} has no credit note`);
  const { number, taxAmount } = creditNote;
  say(`A refund of ${money(refundAmount)} made credit note ${number}, of which ${money(-taxAmount)} are tax.`);
  const response = await fetch(creditNote.gatewayInvoicePdf);
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (!response.ok || Buffer.from(bytes.subarray(0, 5)).toString() !== '%PDF-') {
    throw new Error(`${creditNote.gatewayInvoicePdf} answered ${response.status}, and no PDF`);
  }
  say(`Their PDFs need no key: the invoice is at ${detail.invoice.gatewayInvoicePdf}`);
  say(`and the credit note at ${creditNote.gatewayInvoicePdf}`);
  return { creditNote, pdfBytes: bytes.length };
}
