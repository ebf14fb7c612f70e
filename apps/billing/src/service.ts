import { events } from '@recur/contracts';
import { CONFIG, type ServiceDefinition } from '@recur/platform';
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
import { Documents } from './documents/documents.js';
import { InvoiceMails } from './documents/invoice-mails.js';
import { MailSender } from './documents/mail-sender.js';
import { DocumentReader } from './documents/reader.js';
import { DocumentRenderer } from './documents/renderer.js';
import { gatewayAggregate } from './gateways/aggregates.js';
import { Gateways } from './gateways/gateways.js';
import { gateways } from './gateways/tables.js';
import { invoiceAggregate, paymentAggregate } from './invoicing/aggregates.js';
import { DiscountPreview } from './invoicing/discount-preview.js';
import { DocumentLinks } from './invoicing/document-links.js';
import { InvoiceExpiry } from './invoicing/expiry.js';
import { InvoiceFinalizer } from './invoicing/finalize.js';
import { InvoiceDrafts } from './invoicing/invoice-drafts.js';
import { InvoiceList } from './invoicing/invoice-list.js';
import { Invoices } from './invoicing/invoices.js';
import { PaymentNew } from './invoicing/payment-new.js';
import { Payments } from './invoicing/payments.js';
import { Recharges } from './invoicing/recharges.js';
import { invoiceLines, invoices, numberings, payments } from './invoicing/tables.js';
import { MailHistory } from './mail/history.js';
import { MailOutbox } from './mail/outbox.js';
import { mails } from './mail/tables.js';
import { migrations } from './migrations/index.js';
import { Places } from './tax/places.js';
import { taxExemptions, taxSettings, usTaxRates, vatNumberChecks, vatNumbers } from './tax/tables.js';
import { TaxSetup } from './tax/tax-setup.js';
import { VatNumberOperations } from './tax/vat-number-operations.js';
import { VatNumbers, vatNumberAggregate } from './tax/vat-numbers.js';
import { Vies } from './tax/vies.js';

export const billing: ServiceDefinition<Config> = {
  name: 'billing',
  config,
  schema: {
    tables: [
      ...[invoices, invoiceLines, payments, gateways, numberings, users, plans],
      ...[creditConfigs, creditAccounts, creditTransactions, creditRecharges, discounts, userDiscounts],
      ...[taxSettings, taxExemptions, usTaxRates, vatNumbers, vatNumberChecks],
      mails,
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
    vat_number: vatNumberAggregate,
  },
  copies,
  controllers: [
    ...[Gateways, InvoiceDrafts, Invoices, InvoiceList, Payments, PaymentNew],
    ...[CreditAccounts, CreditConfigs, PromoChanges, Recharges],
    ...[Discounts, DiscountLists, DiscountPreview],
    ...[Documents, InvoiceMails, MailHistory],
    ...[Places, TaxSetup, VatNumberOperations],
  ],
  providers: [
    InvoiceExpiry,
    InvoiceFinalizer,
    DocumentLinks,
    DocumentReader,
    DocumentRenderer,
    MailOutbox,
    MailSender,
    VatNumbers,
    { provide: Vies, useFactory: (settings: Config) => new Vies(settings), inject: [CONFIG] },
  ],
  work: app => [app.get(InvoiceExpiry).work, app.get(MailSender).work],
};

/** Tables without row-level security, besides the platform's own. */
export const infrastructure = ['expiries', 'user_copies_search', 'mails_search'];
