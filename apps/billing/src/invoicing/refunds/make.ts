import { bizType } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { takeRecharged } from '../../credits/recharges.js';
import { chargesItself } from '../../gateways/domain/kinds.js';
import { moved, type Refund } from '../domain/refund.js';
import { assertRefundable } from '../domain/refund-ledger.js';
import type { InvoiceState } from '../state.js';
import { bookRefund, giveToMain, type RefundRequest, refundType } from './book.js';
import { succeed } from './settle.js';
import { REFUND_SEND } from './tables.js';

/**
 * Makes a refund of a locked invoice. The part that exceeds the payment goes back to main credit at once; the rest stays
 * open until it is settled; a gateway that charges by itself makes it. Without such a rest the refund succeeds at once, and
 * its credit note is returned too. The refund of a credit recharge takes the credit back first. Throws what
 * `assertRefundable`, `bookRefund` and `takeRecharged` do.
 */
export async function makeRefund(
  tx: Tx,
  invoice: InvoiceState,
  request: RefundRequest,
): Promise<{ refund: Refund; note?: InvoiceState }> {
  assertRefundable(invoice, invoice.payment);
  const booked = await bookRefund(tx, invoice, request);
  const { refund } = booked;
  if (invoice.bizType === bizType.creditRecharge) await takeRecharged(tx, refund);
  if (refund.toPayments > 0n) {
    if (refund.toMainCredit > 0n) await giveToMain(tx, refund, refund.toMainCredit);
    const isSent = refund.type === refundType.gateway && chargesItself(invoice.gateway);
    if (isSent) tx.schedule(REFUND_SEND, refund.refundId, tx.now);
    return { refund };
  }
  const settled = moved(refund, 'succeed', '', tx.now);
  const note = await succeed(tx, booked.invoice, booked.note, settled, { mainCredit: refund.toMainCredit });
  return { refund: settled, note };
}
