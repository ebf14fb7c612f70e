import { events } from '@recur/contracts';
import type { ServiceDefinition } from '@recur/platform';
import { type Config, config } from './config.js';
import { CreditAccounts } from './credits/accounts.js';
import { creditAccount, creditConfig } from './credits/aggregates.js';
import { CreditConfigs } from './credits/configs.js';
import { PromoChanges } from './credits/promo-changes.js';
import { creditAccounts, creditConfigs, creditTransactions } from './credits/tables.js';
import { copies } from './customers/copies.js';
import { merchants, plans, users } from './customers/tables.js';
import { gatewayAggregate } from './gateways/aggregates.js';
import { Gateways } from './gateways/gateways.js';
import { gateways } from './gateways/tables.js';
import { invoiceAggregate, paymentAggregate } from './invoicing/aggregates.js';
import { CreditNotes } from './invoicing/credit-notes/credit-notes.js';
import { InvoiceDrafts } from './invoicing/drafts/invoice-drafts.js';
import { InvoiceEndings } from './invoicing/endings.js';
import { InvoiceExpiry } from './invoicing/expiry.js';
import { InvoiceFinalizer } from './invoicing/finalize.js';
import { Invoices } from './invoicing/invoices.js';
import { InvoiceList } from './invoicing/lists/invoice-list.js';
import { InvoiceOwners } from './invoicing/owners.js';
import { PaymentNew } from './invoicing/payments/payment-new.js';
import { Payments } from './invoicing/payments/payments.js';
import { WireTransfers } from './invoicing/payments/wire-transfers.js';
import { refundAggregate } from './invoicing/refunds/aggregates.js';
import { Disputes } from './invoicing/refunds/disputes.js';
import { RefundList } from './invoicing/refunds/refund-list.js';
import { Refunds } from './invoicing/refunds/refunds.js';
import { paymentSurpluses, refunds } from './invoicing/refunds/tables.js';
import { expiries, invoiceLines, invoices, numberings, payments } from './invoicing/tables.js';
import { migrations } from './migrations/index.js';

export const billing: ServiceDefinition<Config> = {
  name: 'billing',
  config,
  schema: {
    tables: [
      ...[invoices, invoiceLines, payments, gateways, numberings, expiries, users, plans],
      ...[merchants, refunds, paymentSurpluses],
      ...[creditConfigs, creditAccounts, creditTransactions],
    ],
    migrations,
    worksFrom: 5,
  },
  events,
  aggregates: {
    invoice: invoiceAggregate,
    refund: refundAggregate,
    payment: paymentAggregate,
    gateway: gatewayAggregate,
    creditAccount,
    creditConfig,
  },
  copies,
  controllers: [
    ...[Gateways, InvoiceDrafts, Invoices, InvoiceList, Payments, PaymentNew],
    ...[CreditNotes, Refunds, RefundList],
    ...[CreditAccounts, CreditConfigs, PromoChanges],
  ],
  providers: [InvoiceExpiry, InvoiceFinalizer, InvoiceEndings, InvoiceOwners, WireTransfers, Disputes],
  workers: app => [app.get(InvoiceExpiry)],
};

/** Tables without row-level security, besides the platform's own. */
export const infrastructure = [expiries.table, 'user_copies_search'];
