import type { Invoice } from '@recur/contracts';
import { Appender, type Tx } from '@recur/platform';
import type { Plans } from '../../customers/plans.js';
import type { Gateway } from '../../gateways/domain/gateway.js';
import { invoiceAggregate } from '../aggregates.js';
import { withoutSubscription } from '../composed/facts.js';
import * as domain from '../domain/invoice.js';
import type { InvoiceState } from '../state.js';
import { invoiceLines } from '../tables.js';
import { lineRows, planIn } from './lines.js';

/** Saves a new draft and emits `invoice.created`. */
export function saveDraft(
  tx: Tx | Appender,
  given: domain.Draft,
  gateway: Gateway | undefined,
  copies: Plans,
  { log, invoiceId = tx.newId('in_') }: { log?: 'New'; invoiceId?: string } = {},
): { draft: InvoiceState; view: Invoice } {
  const drafted = domain.draft(given, {
    invoiceId,
    merchantId: tx.merchantId,
    gatewayId: gateway?.gatewayId ?? 0,
    now: tx.now,
  });
  const lines = lineRows(drafted, planIn(copies));
  const draft: InvoiceState = Object.assign(drafted, {
    ...{ lines, gateway, payment: undefined },
    ...{ seller: null, buyer: null, discount: null },
    ...withoutSubscription,
  });
  for (const line of lines) {
    if (tx instanceof Appender) tx.add(invoiceLines, line);
    else tx.save(invoiceLines, line);
  }
  const view = tx.step(invoiceAggregate, draft, 'invoice.created', { log });
  return { draft, view };
}
