import { events } from '@recur/contracts';
import { aggregate, type ServiceDefinition } from '@recur/platform';
import { type Config, config } from './config.js';
import { copies } from './customers/copies.js';
import { plans, users } from './customers/tables.js';
import { Documents } from './documents/documents.js';
import { InvoiceMails } from './documents/invoice-mails.js';
import { MailSender } from './documents/mail-sender.js';
import { DocumentReader } from './documents/reader.js';
import { DocumentRenderer } from './documents/renderer.js';
import { Gateways } from './gateways/gateways.js';
import { gateways } from './gateways/tables.js';
import { gatewayView } from './gateways/views.js';
import { DocumentLinks } from './invoicing/document-links.js';
import { InvoiceExpiry } from './invoicing/expiry.js';
import { InvoiceFinalizer } from './invoicing/finalize.js';
import { InvoiceList } from './invoicing/invoice-list.js';
import { Invoices } from './invoicing/invoices.js';
import { PaymentNew } from './invoicing/payment-new.js';
import { Payments } from './invoicing/payments.js';
import { expiries, invoiceLines, invoices, numberings, payments } from './invoicing/tables.js';
import { paymentView } from './invoicing/views.js';
import { MailHistory } from './mail/history.js';
import { MailOutbox } from './mail/outbox.js';
import { MailQueue } from './mail/queue.js';
import { dueMails, mails } from './mail/tables.js';
import { migrations } from './migrations/index.js';

export const billing: ServiceDefinition<Config> = {
  name: 'billing',
  config,
  schema: {
    tables: [invoices, invoiceLines, payments, gateways, numberings, expiries, mails, dueMails, users, plans],
    migrations,
    worksFrom: 5,
  },
  events,
  aggregates: {
    invoice: aggregate(invoices, 'invoiceId'),
    payment: aggregate(payments, 'paymentId', paymentView),
    gateway: aggregate(gateways, 'gatewayId', gateway => gatewayView(gateway)),
  },
  copies,
  controllers: [Gateways, Invoices, InvoiceList, Payments, PaymentNew, Documents, InvoiceMails, MailHistory],
  providers: [
    ...[InvoiceExpiry, InvoiceFinalizer, DocumentLinks],
    ...[DocumentReader, DocumentRenderer, MailOutbox, MailQueue, MailSender],
  ],
  workers: app => [app.get(InvoiceExpiry), app.get(MailSender)],
};

/** Tables without row-level security, besides the platform's own. */
export const infrastructure = [expiries.table, dueMails.table, 'user_copies_search', 'mails_search'];
