import { events } from '@recur/contracts';
import { CONFIG, type ServiceDefinition } from '@recur/platform';
import { type Config, config } from './config.js';
import { CreditAccounts } from './credits/accounts.js';
import { creditAccount, creditConfig } from './credits/aggregates.js';
import { CreditConfigs } from './credits/configs.js';
import { PromoChanges } from './credits/promo-changes.js';
import { creditAccounts, creditConfigs, creditRecharges, creditTransactions } from './credits/tables.js';
import { copiesWith } from './customers/copies.js';
import { checkouts, merchants, metrics, plans, products, users } from './customers/tables.js';
import { Discounts } from './discounts/discounts.js';
import { GeneratedCodes } from './discounts/generated-codes.js';
import { DiscountLists } from './discounts/lists.js';
import { discounts, generatedCodes, userDiscounts } from './discounts/tables.js';
import { DiscountTemplates } from './discounts/templates.js';
import { Documents } from './documents/documents.js';
import { InvoiceMails } from './documents/invoice-mails.js';
import { Logos } from './documents/logos.js';
import { MailSender } from './documents/mail-sender.js';
import { NoticeMails } from './documents/notice-mails.js';
import { DocumentReader } from './documents/reader.js';
import { DocumentRenderer } from './documents/renderer.js';
import { sellerLogos } from './documents/tables.js';
import { gatewayAdapters } from './gateways/adapters/adapters.js';
import { Sandbox } from './gateways/adapters/sandbox.js';
import { sandboxCallbacks, sandboxCharges } from './gateways/adapters/sandbox-tables.js';
import { gatewayAggregate } from './gateways/aggregates.js';
import { GatewayAnswers } from './gateways/answers.js';
import { GatewaySetup } from './gateways/gateway-setup.js';
import { Gateways } from './gateways/gateways.js';
import { PaymentMethods, preferNamed } from './gateways/payment-methods.js';
import { oldFacts } from './gateways/routes.js';
import { SandboxQuestions } from './gateways/sandbox-questions.js';
import { gateways, gatewayUsers, paymentMethods } from './gateways/tables.js';
import { invoiceAggregate, paymentAggregate } from './invoicing/aggregates.js';
import { InvoiceMaker } from './invoicing/composed/make.js';
import { CreditNotes } from './invoicing/credit-notes/credit-notes.js';
import { DiscountPreview } from './invoicing/discount-preview.js';
import { DocumentLinks } from './invoicing/document-links.js';
import { InvoiceDrafts } from './invoicing/drafts/invoice-drafts.js';
import { InvoiceEndings } from './invoicing/endings.js';
import { InvoiceExpiry } from './invoicing/expiry.js';
import { InvoiceFinalizer } from './invoicing/finalize.js';
import { Notices } from './invoicing/finish/notices.js';
import { numberings } from './invoicing/finish/numbers.js';
import { invoiceSettings } from './invoicing/finish/settings.js';
import { Invoices } from './invoicing/invoices.js';
import { InvoiceList } from './invoicing/lists/invoice-list.js';
import { SplitPayments } from './invoicing/lists/split-payments.js';
import { PaymentTimeline } from './invoicing/lists/timeline.js';
import { InvoiceUsage } from './invoicing/lists/usage-history.js';
import { InvoiceOwners } from './invoicing/owners.js';
import { InvoicePaying } from './invoicing/paying/pay.js';
import { PaymentAttempts } from './invoicing/payments/attempts.js';
import { GatewayCallbacks } from './invoicing/payments/callbacks.js';
import { Captures } from './invoicing/payments/captures.js';
import { Charges } from './invoicing/payments/charges.js';
import { GatewayFacts } from './invoicing/payments/facts.js';
import { LastNotices } from './invoicing/payments/last-notice.js';
import { MethodTries } from './invoicing/payments/method-added.js';
import { PaymentNew } from './invoicing/payments/payment-new.js';
import { Payments } from './invoicing/payments/payments.js';
import { PaymentReconciliation } from './invoicing/payments/reconcile.js';
import { Settlement } from './invoicing/payments/settlement.js';
import { WireTransfers } from './invoicing/payments/wire-transfers.js';
import { Recharges } from './invoicing/recharges.js';
import { refundAggregate } from './invoicing/refunds/aggregates.js';
import { Disputes } from './invoicing/refunds/disputes.js';
import { RefundList } from './invoicing/refunds/refund-list.js';
import { Refunds } from './invoicing/refunds/refunds.js';
import { RefundReports, RefundSending } from './invoicing/refunds/sending.js';
import { RefundSettlement } from './invoicing/refunds/settlement.js';
import { paymentSurpluses, refunds } from './invoicing/refunds/tables.js';
import { collections, invoiceLines, invoices, payments } from './invoicing/tables.js';
import { MailHistory } from './mail/history.js';
import { MailOutbox } from './mail/outbox.js';
import { mails } from './mail/tables.js';
import { migrations } from './migrations/index.js';
import { Buying } from './portal/buying.js';
import { Handlers } from './portal/handlers.js';
import { OwnInvoices } from './portal/invoices.js';
import { OwnMoney } from './portal/money.js';
import { Paying } from './portal/paying.js';
import { ShownInvoices } from './portal/shown-invoice.js';
import { OwnSubscriptions } from './portal/subscriptions.js';
import { KeySearch } from './search/key-search.js';
import { OnetimeAddons } from './subscriptions/addons/addons.js';
import { onetimeAddonAggregate } from './subscriptions/addons/aggregate.js';
import { onetimeAddons } from './subscriptions/addons/tables.js';
import { subscriptionAggregate } from './subscriptions/aggregate.js';
import { Arrears } from './subscriptions/arrears.js';
import { pendingUpdateAggregate } from './subscriptions/changes/aggregate.js';
import { DeferredChanges } from './subscriptions/changes/deferred.js';
import { ChangeEffects } from './subscriptions/changes/effects.js';
import { LimitUpgrades } from './subscriptions/changes/limit-upgrades.js';
import { PendingUpdateReads, PendingUpdates } from './subscriptions/changes/pending-updates.js';
import { ChangePreview } from './subscriptions/changes/preview.js';
import { ChangeSubmit } from './subscriptions/changes/submit.js';
import { pendingUpdates } from './subscriptions/changes/tables.js';
import { SubscriptionConfigs } from './subscriptions/config.js';
import { Subscribing } from './subscriptions/create/create.js';
import { FirstInvoice } from './subscriptions/create/first-invoice.js';
import { FirstPeriods } from './subscriptions/create/first-period.js';
import { Others } from './subscriptions/create/others.js';
import { SubscribingPreview } from './subscriptions/create/preview.js';
import { Renewing } from './subscriptions/create/renew.js';
import { Cycle } from './subscriptions/cycle/cycle.js';
import { CycleEnds } from './subscriptions/cycle/cycle-ends.js';
import { CycleInvoices } from './subscriptions/cycle/cycle-invoices.js';
import { DueDays } from './subscriptions/cycle/due-day.js';
import { PeriodEnd } from './subscriptions/cycle/period-end.js';
import { RunningSubscriptions } from './subscriptions/cycle/running.js';
import { TrialTime } from './subscriptions/cycle/trial-time.js';
import { Cancelling } from './subscriptions/endings/cancel.js';
import { SubscriptionEndings } from './subscriptions/endings/ending.js';
import { LastDocuments } from './subscriptions/endings/last-document.js';
import { SubscriptionImports } from './subscriptions/imports/imports.js';
import { InvoiceLimits } from './subscriptions/invoice-limits.js';
import { SubscriptionInvoices } from './subscriptions/owner.js';
import { pricesArrive } from './subscriptions/prices/arrivals.js';
import { PriceChangeCounts } from './subscriptions/prices/counts.js';
import { PriceNotices } from './subscriptions/prices/notices.js';
import { PriceWalks } from './subscriptions/prices/walk.js';
import { NextInvoicePreview } from './subscriptions/reads/next-invoice.js';
import { SubscriptionNotes } from './subscriptions/reads/notes.js';
import { SubscriptionReads } from './subscriptions/reads/subscriptions.js';
import { Timelines } from './subscriptions/reads/timeline.js';
import { subscriptionNotes, subscriptionPeriods, subscriptionSettings, subscriptions } from './subscriptions/tables.js';
import { StoredSubscriptionFacts } from './subscriptions/usage-facts.js';
import { TaskDownloads } from './tasks/downloads.js';
import { ExportRequests } from './tasks/exports/requests.js';
import { ExportTemplates } from './tasks/exports/templates.js';
import { ExportWriting } from './tasks/exports/writing.js';
import { FileThread } from './tasks/file-thread.js';
import { removing } from './tasks/files.js';
import { ImportRequests } from './tasks/imports/requests.js';
import { ImportRunning } from './tasks/imports/running.js';
import { exportTemplates, taskParts, taskRows, taskUploads } from './tasks/tables.js';
import { Tasks } from './tasks/tasks.js';
import { Places } from './tax/places.js';
import { taxExemptions, taxSettings, usTaxRates, vatNumberChecks, vatNumbers } from './tax/tables.js';
import { TaxSetup } from './tax/tax-setup.js';
import { VatNumberOperations } from './tax/vat-number-operations.js';
import { VatNumbers, vatNumberAggregate } from './tax/vat-numbers.js';
import { Vies } from './tax/vies.js';
import { ClockAdvance } from './test-clock/advance.js';
import { clockAggregate } from './test-clock/aggregate.js';
import { testClocks } from './test-clock/tables.js';
import { TestClocks } from './test-clock/test-clock.js';
import { usage } from './usage/command.js';
import { UsageDeletions } from './usage/events/deletions.js';
import { UsageEventList } from './usage/events/event-list.js';
import { EventViews } from './usage/events/event-views.js';
import { Partitions } from './usage/events/partitions.js';
import { UsageQueue } from './usage/events/queue.js';
import { UsageRecorder } from './usage/events/recorder.js';
import { UsageEvents } from './usage/events/usage-events.js';
import { LimitAdjustments } from './usage/limits/adjustments.js';
import { UsageUpgrades } from './usage/limits/upgrades.js';
import { UsageMending } from './usage/mending.js';
import { UsageNotices, userMetricAggregate } from './usage/notices.js';
import { UsageRecounts } from './usage/recounts.js';
import { SubscriptionFacts } from './usage/subscription-facts.js';
import * as usageTables from './usage/tables.js';
import { UserUsage } from './usage/user-usage.js';

export const billing: ServiceDefinition<Config> = {
  name: 'billing',
  config,
  schema: {
    tables: [
      invoices,
      invoiceLines,
      payments,
      gateways,
      numberings,
      users,
      plans,
      collections,
      gatewayUsers,
      paymentMethods,
      sandboxCharges,
      sandboxCallbacks,
      creditConfigs,
      creditAccounts,
      creditTransactions,
      creditRecharges,
      discounts,
      userDiscounts,
      generatedCodes,
      taxSettings,
      taxExemptions,
      usTaxRates,
      vatNumbers,
      vatNumberChecks,
      merchants,
      products,
      checkouts,
      refunds,
      paymentSurpluses,
      mails,
      invoiceSettings,
      testClocks,
      sellerLogos,
      subscriptions,
      subscriptionPeriods,
      subscriptionNotes,
      subscriptionSettings,
      pendingUpdates,
      onetimeAddons,

      metrics,
      usageTables.usageEvents,
      usageTables.eventKeys,
      usageTables.uniques,
      usageTables.counters,
      usageTables.billings,
      usageTables.adjustments,
      usageTables.snapshots,
      usageTables.notices,
      taskRows,
      taskParts,
      taskUploads,
      exportTemplates,
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
    clock: clockAggregate,
    subscription: subscriptionAggregate,
    pendingUpdate: pendingUpdateAggregate,
    onetimeAddon: onetimeAddonAggregate,
    userMetric: userMetricAggregate,
  },
  copies: copiesWith({ users: preferNamed, plans: pricesArrive }),
  controllers: [
    Gateways,
    GatewaySetup,
    PaymentMethods,
    InvoiceDrafts,
    Invoices,
    InvoiceList,
    Payments,
    PaymentNew,
    SplitPayments,
    KeySearch,
    DiscountTemplates,
    GeneratedCodes,
    Tasks,
    ExportRequests,
    ExportTemplates,
    TaskDownloads,
    ImportRequests,
    GatewayCallbacks,
    SandboxQuestions,
    Captures,
    PaymentTimeline,
    CreditAccounts,
    CreditConfigs,
    PromoChanges,
    Recharges,
    Discounts,
    DiscountLists,
    DiscountPreview,
    CreditNotes,
    Refunds,
    RefundList,
    Documents,
    InvoiceMails,
    MailHistory,
    Places,
    TaxSetup,
    VatNumberOperations,
    TestClocks,
    TrialTime,
    RunningSubscriptions,
    DueDays,
    Renewing,
    SubscriptionReads,
    Timelines,
    SubscriptionNotes,
    NextInvoicePreview,
    Cancelling,
    Subscribing,
    SubscribingPreview,
    SubscriptionConfigs,
    OnetimeAddons,
    ChangePreview,
    ChangeSubmit,
    PendingUpdateReads,
    PriceChangeCounts,
    UsageEvents,
    UsageEventList,
    UserUsage,
    LimitAdjustments,
    InvoiceUsage,
    Buying,
    OwnSubscriptions,
    OwnInvoices,
    OwnMoney,
    Paying,
  ],
  providers: [
    GatewayAnswers,
    Sandbox,
    gatewayAdapters,
    InvoiceExpiry,
    InvoiceFinalizer,
    InvoiceEndings,
    InvoiceOwners,
    Notices,
    WireTransfers,
    Disputes,
    Charges,
    Settlement,
    MethodTries,
    PaymentAttempts,
    PaymentReconciliation,
    GatewayFacts,
    RefundReports,
    RefundSending,
    RefundSettlement,
    FileThread,
    ExportWriting,
    ImportRunning,
    SubscriptionImports,
    DocumentLinks,
    DocumentReader,
    Logos,
    DocumentRenderer,
    MailOutbox,
    NoticeMails,
    MailSender,
    LastNotices,
    VatNumbers,
    ClockAdvance,
    InvoiceMaker,
    SubscriptionInvoices,
    Others,
    FirstInvoice,
    SubscriptionEndings,
    InvoiceLimits,
    Cycle,
    CycleInvoices,
    CycleEnds,
    PeriodEnd,
    FirstPeriods,
    PriceNotices,
    PriceWalks,
    ChangeEffects,
    DeferredChanges,
    LimitUpgrades,
    LastDocuments,
    Arrears,
    UsageRecorder,
    UsageQueue,
    UsageDeletions,
    Partitions,
    EventViews,
    UsageNotices,
    UsageRecounts,
    UsageMending,
    UsageUpgrades,
    PendingUpdates,
    Handlers,
    ShownInvoices,
    InvoicePaying,
    { provide: SubscriptionFacts, useClass: StoredSubscriptionFacts },
    { provide: Vies, useFactory: (settings: Config) => new Vies(settings), inject: [CONFIG] },
  ],
  work: app => [
    app.get(ClockAdvance).work,
    ...app.get(Cycle).works,
    app.get(InvoiceLimits).work,
    app.get(SubscriptionInvoices).work,
    app.get(InvoiceExpiry).work,
    app.get(MailSender).work,
    app.get(VatNumbers).work,
    app.get(LastNotices).work,
    app.get(PriceWalks).work,
    app.get(PriceNotices).work,
    ...app.get(ExportWriting).works,
    removing,
    app.get(ImportRunning).work,
    app.get(PaymentAttempts).work,
    ...app.get(PaymentReconciliation).works,
    app.get(MethodTries).work,
    app.get(GatewayCallbacks).work,
    app.get(RefundSending).work,
    app.get(UsageNotices).work,
    app.get(UsageRecounts).work,
    app.get(UsageUpgrades).work,
  ],
  removals: [oldFacts],
  commands: { usage },
};

/** Tables without row-level security, besides the platform's own. */
export const infrastructure = [
  'expiries',
  'user_copies_search',
  'mails_search',
  'gateway_routes',
  'gateway_facts',
  'invoice_links',
];
