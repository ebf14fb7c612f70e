import type { Invoice } from '@recur/contracts';
import { Appender, type Tx } from '@recur/platform';
import type { Plans } from '../../customers/plans.js';
import type { Gateway } from '../../gateways/domain/gateway.js';
import { invoiceAggregate } from '../aggregates.js';
import { withoutSubscription } from '../composed/domain/facts.js';
import { type Draft, draft as priced } from '../domain/draft.js';
import type { InvoiceState } from '../state.js';
import { invoiceLines } from '../tables.js';
import { lineRows, planIn } from './lines.js';

/** Saves a new draft and emits `invoice.created`. */
export function saveDraft(
  tx: Tx | Appender,
  given: Draft,
  gateway: Gateway | undefined,
  copies: Plans,
  { log, invoiceId = tx.newId('in_') }: { log?: 'New'; invoiceId?: string } = {},
): { draft: InvoiceState; view: Invoice } {
  const drafted = priced(given, {
    merchantId: tx.merchantId,
    invoiceId,
    now: tx.now,
    gatewayId: gateway?.gatewayId ?? 0,
  });
  const draft: InvoiceState = Object.assign(drafted, {
    lines: lineRows(drafted, planIn(copies)),
    gateway,
    payment: undefined,
    seller: null,
    buyer: null,
    discount: null,
    ...withoutSubscription,
  });
  for (const line of draft.lines) {
    if (tx instanceof Appender) tx.add(invoiceLines, line);
    else tx.save(invoiceLines, line);
  }
  return { draft, view: tx.step(invoiceAggregate, draft, 'invoice.created', { log }) };
}

/** Replaces the lines of a draft in the database. */
export async function replaceLines(tx: Tx, { invoiceId, lines }: InvoiceState): Promise<void> {
  await tx.jointly('lines that are replaced', invoiceId, async ids => {
    await tx.run('delete from invoice_lines where merchant_id = $1 and invoice_id = any($2)', [tx.merchantId, ids]);
    return ids;
  });
  for (const line of lines) tx.save(invoiceLines, line);
}
