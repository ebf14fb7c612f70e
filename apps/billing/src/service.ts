import { events } from '@recur/contracts';
import { CONFIG, type ServiceDefinition } from '@recur/platform';
import { type Config, config } from './config.js';
import { CreditAccounts } from './credits/accounts.js';
import { creditAccount, creditConfig } from './credits/aggregates.js';
import { CreditConfigs } from './credits/configs.js';
import { PromoChanges } from './credits/promo-changes.js';
import { creditAccounts, creditConfigs, creditRecharges, creditTransactions } from './credits/tables.js';
import { copies } from './customers/copies.js';
import { merchants, metrics, plans, users } from './customers/tables.js';
import { Discounts } from './discounts/discounts.js';
import { DiscountLists } from './discounts/lists.js';
import { discounts, userDiscounts } from './discounts/tables.js';
import { Documents } from './documents/documents.js';
import { InvoiceMails } from './documents/invoice-mails.js';
import { MailSender } from './documents/mail-sender.js';
import { DocumentReader } from './documents/reader.js';
import { DocumentRenderer } from './documents/renderer.js';
import { gatewayAdapters } from './gateways/adapters/adapters.js';
import { Sandbox } from './gateways/adapters/sandbox.js';
import { sandboxCallbacks, sandboxCharges } from './gateways/adapters/sandbox-tables.js';
import { gatewayAggregate } from './gateways/aggregates.js';
import { GatewayAnswers } from './gateways/answers.js';
import { GatewaySetup } from './gateways/gateway-setup.js';
import { Gateways } from './gateways/gateways.js';
import { PaymentMethods } from './gateways/payment-methods.js';
import { gateways, gatewayUsers, paymentMethods } from './gateways/tables.js';
import { invoiceAggregate, paymentAggregate } from './invoicing/aggregates.js';
import { CreditNotes } from './invoicing/credit-notes/credit-notes.js';
import { DiscountPreview } from './invoicing/discount-preview.js';
import { DocumentLinks } from './invoicing/document-links.js';
import { InvoiceDrafts } from './invoicing/drafts/invoice-drafts.js';
import { InvoiceEndings } from './invoicing/endings.js';
import { InvoiceExpiry } from './invoicing/expiry.js';
import { InvoiceFinalizer } from './invoicing/finalize.js';
import { Invoices } from './invoicing/invoices.js';
import { InvoiceList } from './invoicing/lists/invoice-list.js';
import { InvoiceUsage } from './invoicing/lists/usage-history.js';
import { InvoiceOwners } from './invoicing/owners.js';
import { PaymentNew } from './invoicing/payments/payment-new.js';
import { Payments } from './invoicing/payments/payments.js';
import { WireTransfers } from './invoicing/payments/wire-transfers.js';
import { Recharges } from './invoicing/recharges.js';
import { refundAggregate } from './invoicing/refunds/aggregates.js';
import { Disputes } from './invoicing/refunds/disputes.js';
import { RefundList } from './invoicing/refunds/refund-list.js';
import { Refunds } from './invoicing/refunds/refunds.js';
import { paymentSurpluses, refunds } from './invoicing/refunds/tables.js';
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
import { LimitAdjustments } from './usage/adjustments.js';
import { UsageDeletions } from './usage/events/deletions.js';
import { UsageEventList } from './usage/events/event-list.js';
import { EventViews } from './usage/events/event-views.js';
import { Partitions } from './usage/events/partitions.js';
import { UsageQueue } from './usage/events/queue.js';
import { UsageRecorder } from './usage/events/recorder.js';
import { UsageEvents } from './usage/events/usage-events.js';
import { UsageNotices, userMetricAggregate } from './usage/notices.js';
import { UsageRecounts } from './usage/recounts.js';
import { UsageHistory } from './usage/snapshots.js';
import { StoredSubscriptionFacts, SubscriptionFacts } from './usage/subscription-facts.js';
import * as usage from './usage/tables.js';
import { UsageUpgrades } from './usage/upgrades.js';
import { UserUsage } from './usage/user-usage.js';

export const billing: ServiceDefinition<Config> = {
  name: 'billing',
  config,
  schema: {
    tables: [
      ...[invoices, invoiceLines, payments, gateways, numberings, users, plans],
      ...[gatewayUsers, paymentMethods, sandboxCharges, sandboxCallbacks],
      ...[creditConfigs, creditAccounts, creditTransactions, creditRecharges, discounts, userDiscounts],
      ...[taxSettings, taxExemptions, usTaxRates, vatNumbers, vatNumberChecks],
      ...[merchants, refunds, paymentSurpluses, mails],
      ...[metrics, usage.usageEvents, usage.eventKeys, usage.uniques, usage.counters, usage.billings],
      ...[usage.adjustments, usage.snapshots, usage.notices],
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
    vat_number: vatNumberAggregate,
    userMetric: userMetricAggregate,
  },
  copies,
  controllers: [
    ...[Gateways, GatewaySetup, PaymentMethods, InvoiceDrafts, Invoices, InvoiceList, Payments, PaymentNew],
    ...[CreditAccounts, CreditConfigs, PromoChanges, Recharges],
    ...[Discounts, DiscountLists, DiscountPreview],
    ...[CreditNotes, Refunds, RefundList],
    ...[Documents, InvoiceMails, MailHistory],
    ...[Places, TaxSetup, VatNumberOperations],
    ...[UsageEvents, UsageEventList, UserUsage, UsageHistory, LimitAdjustments, InvoiceUsage],
  ],
  providers: [
    GatewayAnswers,
    Sandbox,
    gatewayAdapters,
    InvoiceExpiry,
    InvoiceFinalizer,
    ...[InvoiceEndings, InvoiceOwners, WireTransfers, Disputes],
    DocumentLinks,
    DocumentReader,
    DocumentRenderer,
    MailOutbox,
    MailSender,
    VatNumbers,
    ...[UsageRecorder, UsageQueue, UsageDeletions, Partitions, EventViews],
    ...[UsageNotices, UsageRecounts, UsageUpgrades],
    { provide: SubscriptionFacts, useClass: StoredSubscriptionFacts },
    { provide: Vies, useFactory: (settings: Config) => new Vies(settings), inject: [CONFIG] },
  ],
  work: app => [
    ...[app.get(InvoiceExpiry).work, app.get(MailSender).work],
    ...[app.get(UsageNotices).work, app.get(UsageRecounts).work, app.get(UsageUpgrades).work],
  ],
};

/** Tables without row-level security, besides the platform's own. */
export const infrastructure = ['expiries', 'user_copies_search', 'mails_search'];
