import { machine, type StateOf } from '@recur/kernel';

/**
 * Lifecycle of an invoice. `init` is the state before the first draft and is never stored. `pending` is a draft;
 * `processing` is open: numbered and awaiting payment. An open invoice becomes `failed` only when its payment term
 * ends; a failed charge leaves it open and payable again. A paid invoice stays paid unless its payment is reversed.
 * A deleted draft keeps its state. `collect` attaches a payment to an open invoice, `clear` detaches it.
 *
 * Invariants: the lines add up to the invoice to the last minor unit; the total is never negative; the number is given
 * once, when the draft is finished; an open invoice has at most one live payment.
 */
export const invoiceLifecycle = machine({
  init: { draft: 'pending' },
  pending: { edit: 'pending', delete: 'pending', finish: 'processing', settle: 'paid' },
  processing: { collect: 'processing', clear: 'processing', pay: 'paid', expire: 'failed', cancel: 'cancelled' },
  paid: { reverse: 'reversed' },
  failed: {},
  cancelled: {},
  reversed: {},
});
export type InvoiceStatus = StateOf<typeof invoiceLifecycle>;
export type InvoiceMove = (typeof invoiceLifecycle.moves)[number];
