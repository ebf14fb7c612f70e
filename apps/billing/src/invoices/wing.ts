import type { Wing } from '@recur/platform';
import { InvoiceClosing } from './close.js';
import { DocumentLinks } from './document-links.js';
import { DiscountPreview } from './issuing/discount-preview.js';
import { InvoiceFinalizer } from './issuing/finalize.js';
import { InvoiceIssuer } from './issuing/issue.js';
import { InvoiceList } from './lists/invoice-list.js';
import { InvoiceUsage } from './lists/usage-history.js';
import { numberings } from './numbers.js';
import { CreditNotes } from './operations/credit-notes.js';
import { InvoiceDrafts } from './operations/invoice-drafts.js';
import { Recharges } from './operations/recharges.js';
import { collections, paymentSurpluses, payments, refunds } from './payment-tables.js';
import { invoiceSettings } from './settings.js';
import { invoiceLines, invoices } from './tables.js';
import { invoiceAggregate, paymentAggregate, refundAggregate } from './views.js';

/** Invoices and credit notes: calculated, issued, closed. */
export const invoicesWing: Wing = {
  tables: [invoices, invoiceLines, payments, numberings, collections, refunds, paymentSurpluses, invoiceSettings],
  aggregates: { invoice: invoiceAggregate, refund: refundAggregate, payment: paymentAggregate },
  controllers: [InvoiceDrafts, InvoiceList, Recharges, DiscountPreview, CreditNotes, InvoiceUsage],
  providers: [InvoiceFinalizer, InvoiceClosing, DocumentLinks, InvoiceIssuer],
};
