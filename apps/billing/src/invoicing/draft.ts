import type { Invoice } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import type { Plans } from '../customers/plans.js';
import type { Gateway } from '../gateways/domain/gateway.js';
import * as domain from './domain/invoice.js';
import { lineRows, planIn, type StoredInvoice } from './lines.js';
import { invoiceLines, invoices } from './tables.js';
import { invoiceView } from './views.js';

/** Saves a new draft and emits `invoice.created`. The log entry is left to the caller. */
export function saveDraft(
  tx: Tx,
  given: domain.Draft,
  gateway: Gateway | undefined,
  copies: Plans,
): { draft: StoredInvoice; view: Invoice } {
  const drafted = domain.draft(given, {
    invoiceId: tx.newId('in_'),
    merchantId: tx.merchantId,
    gatewayId: gateway?.gatewayId ?? 0,
    now: tx.now,
  });
  const draft = Object.assign(drafted, { lines: lineRows(drafted, planIn(copies)) });
  for (const line of draft.lines) tx.save(invoiceLines, line);
  tx.save(invoices, draft);
  const view = invoiceView(draft, gateway);
  tx.emit('invoice.created', draft, view);
  return { draft, view };
}
