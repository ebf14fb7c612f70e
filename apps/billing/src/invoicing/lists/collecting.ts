import type { PortalCollecting } from '@recur/contracts';
import type { Reader } from '@recur/platform';
import type { InvoiceState } from '../state.js';
import { collections } from '../tables.js';

/** How an open invoice is collected, as its user sees it; null for one that is not open. */
export async function collectingOf(reader: Reader, invoice: InvoiceState): Promise<PortalCollecting | null> {
  const { invoiceId, status, deadline, payment } = invoice;
  if (status !== 'processing') return null;
  const collection = await reader.find(collections, { invoiceId });
  const { automatic = false, nextTime = 0, attempts = 0, failures = 0 } = collection ?? {};
  const awaitsUser = payment?.status === 'created' && payment.outcome === 'action';
  return {
    deadline,
    automatic,
    nextAttemptTime: nextTime,
    attempts,
    failures,
    actionUrl: awaitsUser ? payment.link : '',
    announcedTime: payment?.announcedTime ?? 0,
  };
}
