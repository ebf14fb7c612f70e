import { events } from '@recur/contracts';
import type { ServiceDefinition } from '@recur/platform';
import { type Config, config } from './config.js';
import { CreditAccounts } from './credits/accounts.js';
import { creditAccount, creditConfig } from './credits/aggregates.js';
import { CreditConfigs } from './credits/configs.js';
import { PromoChanges } from './credits/promo-changes.js';
import { creditAccounts, creditConfigs, creditTransactions } from './credits/tables.js';
import { copies } from './customers/copies.js';
import { plans, users } from './customers/tables.js';
import { gatewayAggregate } from './gateways/aggregates.js';
import { Gateways } from './gateways/gateways.js';
import { gateways } from './gateways/tables.js';
import { invoiceAggregate, paymentAggregate } from './invoicing/aggregates.js';
import { InvoiceExpiry } from './invoicing/expiry.js';
import { InvoiceFinalizer } from './invoicing/finalize.js';
import { InvoiceDrafts } from './invoicing/invoice-drafts.js';
import { InvoiceList } from './invoicing/invoice-list.js';
import { Invoices } from './invoicing/invoices.js';
import { PaymentNew } from './invoicing/payment-new.js';
import { Payments } from './invoicing/payments.js';
import { expiries, invoiceLines, invoices, numberings, payments } from './invoicing/tables.js';
import { migrations } from './migrations/index.js';

export const billing: ServiceDefinition<Config> = {
  name: 'billing',
  config,
  schema: {
    tables: [
      ...[invoices, invoiceLines, payments, gateways, numberings, expiries, users, plans],
      ...[creditConfigs, creditAccounts, creditTransactions],
    ],
    migrations,
    worksFrom: 5,
  },
  events,
  aggregates: {
    invoice: invoiceAggregate,
    payment: paymentAggregate,
    gateway: gatewayAggregate,
    creditAccount,
    creditConfig,
  },
  copies,
  controllers: [
    ...[Gateways, InvoiceDrafts, Invoices, InvoiceList, Payments, PaymentNew],
    ...[CreditAccounts, CreditConfigs, PromoChanges],
  ],
  providers: [InvoiceExpiry, InvoiceFinalizer],
  workers: app => [app.get(InvoiceExpiry)],
};

/** Tables without row-level security, besides the platform's own. */
export const infrastructure = [expiries.table, 'user_copies_search'];
