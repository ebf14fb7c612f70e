import { events } from '@recur/contracts';
import { CONFIG, type ServiceDefinition } from '@recur/platform';
import { type Config, config } from './config.js';
import { CreditAccounts } from './credits/accounts.js';
import { creditAccount, creditConfig } from './credits/aggregates.js';
import { CreditConfigs } from './credits/configs.js';
import { PromoChanges } from './credits/promo-changes.js';
import { creditAccounts, creditConfigs, creditRecharges, creditTransactions } from './credits/tables.js';
import { copies } from './customers/copies.js';
import { merchants, plans, users } from './customers/tables.js';
import { Discounts } from './discounts/discounts.js';
import { DiscountLists } from './discounts/lists.js';
import { discounts, userDiscounts } from './discounts/tables.js';
import { CollectionMails } from './documents/collection-mails.js';
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
import { oldFacts } from './gateways/routes.js';
import { SandboxQuestions } from './gateways/sandbox-questions.js';
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
import { InvoiceOwners } from './invoicing/owners.js';
import { PaymentAttempts } from './invoicing/payments/attempts.js';
import { GatewayCallbacks } from './invoicing/payments/callbacks.js';
import { Captures } from './invoicing/payments/captures.js';
import { Charges } from './invoicing/payments/charges.js';
import { GatewayFacts } from './invoicing/payments/facts.js';
import { methodAdded } from './invoicing/payments/method-added.js';
import { PaymentNew } from './invoicing/payments/payment-new.js';
import { Payments } from './invoicing/payments/payments.js';
import { PaymentReconciliation } from './invoicing/payments/reconcile.js';
import { Settlement } from './invoicing/payments/settlement.js';
import { PaymentTimeline } from './invoicing/payments/timeline.js';
import { WireTransfers } from './invoicing/payments/wire-transfers.js';
import { Recharges } from './invoicing/recharges.js';
import { refundAggregate } from './invoicing/refunds/aggregates.js';
import { Disputes } from './invoicing/refunds/disputes.js';
import { RefundList } from './invoicing/refunds/refund-list.js';
import { Refunds } from './invoicing/refunds/refunds.js';
import { RefundSending, RefundSettlement } from './invoicing/refunds/sending.js';
import { paymentSurpluses, refunds } from './invoicing/refunds/tables.js';
import { collections, invoiceLines, invoices, numberings, payments } from './invoicing/tables.js';
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
      ...[collections, gatewayUsers, paymentMethods, sandboxCharges, sandboxCallbacks],
      ...[creditConfigs, creditAccounts, creditTransactions, creditRecharges, discounts, userDiscounts],
      ...[taxSettings, taxExemptions, usTaxRates, vatNumbers, vatNumberChecks],
      ...[merchants, refunds, paymentSurpluses, mails],
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
  },
  copies,
  controllers: [
    ...[Gateways, GatewaySetup, PaymentMethods, InvoiceDrafts, Invoices, InvoiceList, Payments, PaymentNew],
    ...[GatewayCallbacks, SandboxQuestions, Captures, PaymentTimeline],
    ...[CreditAccounts, CreditConfigs, PromoChanges, Recharges],
    ...[Discounts, DiscountLists, DiscountPreview],
    ...[CreditNotes, Refunds, RefundList],
    ...[Documents, InvoiceMails, MailHistory],
    ...[Places, TaxSetup, VatNumberOperations],
  ],
  providers: [
    GatewayAnswers,
    Sandbox,
    gatewayAdapters,
    InvoiceExpiry,
    InvoiceFinalizer,
    ...[InvoiceEndings, InvoiceOwners, WireTransfers, Disputes],
    ...[Charges, Settlement, PaymentAttempts, PaymentReconciliation, GatewayFacts, RefundSending, RefundSettlement],
    DocumentLinks,
    DocumentReader,
    DocumentRenderer,
    MailOutbox,
    MailSender,
    CollectionMails,
    VatNumbers,
    { provide: Vies, useFactory: (settings: Config) => new Vies(settings), inject: [CONFIG] },
  ],
  work: app => [
    ...[app.get(InvoiceExpiry).work, app.get(MailSender).work, app.get(CollectionMails).work],
    ...[app.get(PaymentAttempts).work, ...app.get(PaymentReconciliation).works, methodAdded],
    ...[app.get(GatewayCallbacks).work, app.get(RefundSending).work],
  ],
  removals: [oldFacts],
};

/** Tables without row-level security, besides the platform's own. */
export const infrastructure = ['expiries', 'user_copies_search', 'mails_search', 'gateway_routes', 'gateway_facts'];
