import { orThrow } from '@recur/client';
import { invoiceStatus } from '@recur/contracts';
import { refundableOf } from '../../model/refunds.js';
import type { Living, Step } from './living.js';
import { documentText, expectedText } from './texts.js';

/** Refunds thousandths of what is refundable of a paid invoice. Returns false where there is none. */
export async function refundPart(
  subscriber: Living,
  { which, part }: Extract<Step, { do: 'refund' }>,
): Promise<boolean> {
  const { seller, sold, life } = subscriber;
  const paid = life.sales.expected.filter(doc => doc.state === 'paid' && doc.total > 0n && refundableOf(doc) > 0n);
  const doc = paid[which % paid.length];
  if (!doc) return false;
  const text = expectedText(doc).join('\n');
  const invoice = (await subscriber.documents()).find(
    each => each.status === invoiceStatus.paid && documentText(each, sold).join('\n') === text,
  );
  if (!invoice) throw new Error(`there is no invoice\n${text}`);
  const amount = (refundableOf(doc) * BigInt(part) + 999n) / 1000n;
  const { invoiceId } = invoice;
  const request = { invoiceId, refundAmount: Number(amount), reason: 'A part was not used' };
  const { api } = seller;
  const isThroughPayment = doc.back.received > doc.back.sentBack;
  orThrow(await api.post('/merchant/invoice/refund', request));
  // a gateway makes the refund of a card by itself; a transfer is made by hand
  if (life.isByWire && isThroughPayment)
    orThrow(await api.post('/merchant/invoice/mark_refund_success', { invoiceId }));
  life.sales.refund(doc, amount);
  subscriber.trace.push(`    ${amount} of ${text.replaceAll('\n', '\n    ')}`);
  return true;
}
