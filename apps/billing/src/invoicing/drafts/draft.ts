import type { Discount, Invoice } from '@recur/contracts';
import { Appender, type Tx } from '@recur/platform';
import type { Plans } from '../../customers/plans.js';
import type { Gateway } from '../../gateways/domain/gateway.js';
import { invoiceAggregate } from '../aggregates.js';
import { withoutSubscription } from '../composed/domain/facts.js';
import { type Draft, draft as priced } from '../domain/draft.js';
import type { InvoiceState } from '../state.js';
import { invoiceLines } from '../tables.js';
import { lineRows, type PlanOf, planIn } from './lines.js';

/** Saves a new draft and emits `invoice.created`. */
export function saveDraft(
  tx: Tx | Appender,
  given: Draft,
  gateway: Gateway | undefined,
  copies: Plans,
  { log, invoiceId = tx.newId('in_') }: { log?: 'New'; invoiceId?: string } = {},
): { draft: InvoiceState; view: Invoice } {
  const draft = draftOf(given, { merchantId: tx.merchantId, invoiceId, now: tx.now }, gateway, planIn(copies));
  return { draft, view: addDraft(tx, draft, log) };
}

/** A new draft with its parts, not saved. */
export function draftOf(
  given: Draft,
  context: { merchantId: number; invoiceId: string; now: number },
  gateway: Gateway | undefined,
  planOf: PlanOf,
  discount: Discount | null = null,
): InvoiceState {
  const drafted = priced(given, { ...context, gatewayId: gateway?.gatewayId ?? 0 });
  return Object.assign(drafted, {
    ...{ lines: lineRows(drafted, planOf), gateway, payment: undefined },
    ...{ seller: null, buyer: null, discount },
    ...withoutSubscription,
  });
}

/** Saves a new draft and emits `invoice.created`. Returns its view. */
export function addDraft(tx: Tx | Appender, draft: InvoiceState, log?: 'New'): Invoice {
  for (const line of draft.lines) {
    if (tx instanceof Appender) tx.add(invoiceLines, line);
    else tx.save(invoiceLines, line);
  }
  return tx.step(invoiceAggregate, draft, 'invoice.created', { log });
}

/** Replaces the lines of a draft in the database. */
export async function replaceLines(tx: Tx, { invoiceId, lines }: InvoiceState): Promise<void> {
  await tx.run('delete from invoice_lines where merchant_id = $1 and invoice_id = $2', [tx.merchantId, invoiceId]);
  for (const line of lines) tx.save(invoiceLines, line);
}
