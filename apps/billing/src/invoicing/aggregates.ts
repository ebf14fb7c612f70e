import * as contract from '@recur/contracts';
import { type AggregateOf, aggregate } from '@recur/platform';
import type { Payment } from './domain/payment.js';
import { type InvoiceState, withParts } from './state.js';
import { type InvoiceRow, invoices, payments } from './tables.js';
import { invoiceView, paymentView } from './views.js';

type InvoiceEvent = Extract<contract.EventName, `invoice.${string}`>;
type PaymentEvent = Exclude<Extract<contract.EventName, `payment.${string}`>, 'payment.report.mismatch'>;

/** An invoice with its lines, gateway and current payment. Locked before the payment. */
export const invoiceAggregate: AggregateOf<InvoiceEvent, InvoiceRow, InvoiceState, contract.Invoice> = aggregate({
  name: 'invoice',
  title: 'Invoice',
  events: contract.events,
  table: invoices,
  key: 'invoiceId',
  load: withParts,
  ids: ({ invoiceId, userId }) => ({ invoiceId, userId }),
  view: invoiceView,
});

export const paymentAggregate: AggregateOf<PaymentEvent, Payment, Payment, contract.Payment> = aggregate({
  name: 'payment',
  title: 'Payment',
  events: contract.events,
  table: payments,
  key: 'paymentId',
  ids: ({ invoiceId, userId }) => ({ invoiceId, userId }),
  view: paymentView,
});
