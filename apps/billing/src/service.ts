import { events } from '@recur/contracts';
import { aggregate, type ServiceDefinition } from '@recur/platform';
import { type Config, config } from './config.js';
import { CreditAccounts } from './credits/accounts.js';
import { creditAccount, creditConfig } from './credits/aggregates.js';
import { CreditConfigs } from './credits/configs.js';
import { PromoChanges } from './credits/promo-changes.js';
import { creditAccounts, creditConfigs, creditRecharges, creditTransactions } from './credits/tables.js';
import { copies } from './customers/copies.js';
import { plans, users } from './customers/tables.js';
import { Discounts } from './discounts/discounts.js';
import { DiscountLists } from './discounts/lists.js';
import { discounts, userDiscounts } from './discounts/tables.js';
import { Gateways } from './gateways/gateways.js';
import { gateways } from './gateways/tables.js';
import { gatewayView } from './gateways/views.js';
import { DiscountPreview } from './invoicing/discount-preview.js';
import { InvoiceExpiry } from './invoicing/expiry.js';
import { InvoiceFinalizer } from './invoicing/finalize.js';
import { InvoiceList } from './invoicing/invoice-list.js';
import { Invoices } from './invoicing/invoices.js';
import { PaymentNew } from './invoicing/payment-new.js';
import { Payments } from './invoicing/payments.js';
import { Recharges } from './invoicing/recharges.js';
import { expiries, invoiceLines, invoices, numberings, payments } from './invoicing/tables.js';
import { paymentView } from './invoicing/views.js';
import { migrations } from './migrations/index.js';

export const billing: ServiceDefinition<Config> = {
  name: 'billing',
  config,
  schema: {
    tables: [
      ...[invoices, invoiceLines, payments, gateways, numberings, expiries, users, plans],
      ...[creditConfigs, creditAccounts, creditTransactions, creditRecharges, discounts, userDiscounts],
    ],
    migrations,
    worksFrom: 5,
  },
  events,
  aggregates: {
    invoice: aggregate(invoices, 'invoiceId'),
    payment: aggregate(payments, 'paymentId', paymentView),
    gateway: aggregate(gateways, 'gatewayId', gateway => gatewayView(gateway)),
    creditAccount,
    creditConfig,
  },
  copies,
  controllers: [
    ...[Gateways, Invoices, InvoiceList, Payments, PaymentNew],
    ...[CreditAccounts, CreditConfigs, PromoChanges, Recharges],
    ...[Discounts, DiscountLists, DiscountPreview],
  ],
  providers: [InvoiceExpiry, InvoiceFinalizer],
  workers: app => [app.get(InvoiceExpiry)],
};

/** Tables without row-level security, besides the platform's own. */
export const infrastructure = [expiries.table, 'user_copies_search'];
