import * as contract from '@recur/contracts';
import { type AggregateOf, aggregate } from '@recur/platform';
import type { Refund } from '../domain/refund.js';
import { refunds } from './tables.js';
import { refundView } from './views.js';

type RefundEvent = Extract<contract.EventName, `refund.${string}`>;

/** A refund of an invoice. Locked after the invoice and its credit note. */
export const refundAggregate: AggregateOf<RefundEvent, Refund, Refund, contract.Refund> = aggregate({
  name: 'refund',
  title: 'Refund',
  events: contract.events,
  table: refunds,
  key: 'refundId',
  ids: ({ invoiceId, userId }) => ({ invoiceId, userId }),
  view: refundView,
});
