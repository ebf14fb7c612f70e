import type { Wing } from '@recur/platform';
import { InvoiceOutcomes } from '../invoices/outcomes.js';
import { PlanUpgrades } from '../usage/limits/upgrades.js';
import { MeteredSubscriptions } from '../usage/metered-subscriptions.js';
import { OnetimeAddons } from './addons/addons.js';
import { onetimeAddonAggregate, onetimeAddons } from './addons/tables.js';
import { Arrears } from './arrears.js';
import { LimitUpgrades, PendingUpdateReads, PendingUpdates } from './change/pending-updates.js';
import { PlanChanges } from './change/plan-changes.js';
import { ChangePreview } from './change/preview.js';
import { ScheduledChanges } from './change/scheduled-changes.js';
import { ChangeSubmit } from './change/submit.js';
import { pendingUpdateAggregate } from './change/views.js';
import { CancelSubscription } from './course/cancel.js';
import { DueDays, RunningSubscriptions } from './course/course.js';
import { TrialTime } from './course/trial-time.js';
import { CreateSubscription, DuplicateSubscriptions } from './create/create.js';
import { CreatePreview } from './create/preview.js';
import { RenewSubscription } from './create/renew.js';
import { SubscriptionStart } from './create/start.js';
import { EndNotices } from './ends.js';
import { SubscriptionImports } from './imports/imports.js';
import { StoredMeteredSubscriptions } from './metered-subscriptions.js';
import { SubscriptionOutcomes } from './outcomes.js';
import { pendingUpdates } from './pending-update.js';
import { PriceNotices } from './prices/notices.js';
import { PriceChangeCounts, PriceWalks } from './prices/walk.js';
import { NextInvoicePreview } from './reads/next-invoice.js';
import { SubscriptionReads } from './reads/subscriptions.js';
import { SubscriptionNotes, Timelines } from './reads/timeline.js';
import { FinalInvoices } from './renewal/final-invoice.js';
import { RenewalInvoices } from './renewal/invoices.js';
import { RenewalOutcomes } from './renewal/renewal-outcomes.js';
import { Renewals } from './renewal/steps.js';
import { SubscriptionTermination } from './renewal/termination.js';
import { InvoiceLimits } from './schedule.js';
import { SubscriptionConfigs } from './settings.js';
import { subscriptionNotes, subscriptionPeriods, subscriptionSettings, subscriptions } from './tables.js';
import { subscriptionAggregate } from './views.js';

/** Subscriptions: begun, renewed, changed, ended. */
export const subscriptionsWing: Wing = {
  tables: [subscriptions, subscriptionPeriods, subscriptionNotes, subscriptionSettings, pendingUpdates, onetimeAddons],
  aggregates: {
    subscription: subscriptionAggregate,
    pendingUpdate: pendingUpdateAggregate,
    onetimeAddon: onetimeAddonAggregate,
  },
  controllers: [
    TrialTime,
    RunningSubscriptions,
    DueDays,
    RenewSubscription,
    SubscriptionReads,
    Timelines,
    SubscriptionNotes,
    NextInvoicePreview,
    CancelSubscription,
    CreateSubscription,
    CreatePreview,
    SubscriptionConfigs,
    OnetimeAddons,
    ChangePreview,
    ChangeSubmit,
    PendingUpdateReads,
    PriceChangeCounts,
  ],
  providers: [
    SubscriptionImports,
    SubscriptionOutcomes,
    DuplicateSubscriptions,
    SubscriptionTermination,
    InvoiceLimits,
    Renewals,
    RenewalInvoices,
    RenewalOutcomes,
    SubscriptionStart,
    PriceNotices,
    EndNotices,
    PriceWalks,
    PlanChanges,
    ScheduledChanges,
    FinalInvoices,
    Arrears,
    PendingUpdates,
    { provide: InvoiceOutcomes, useExisting: SubscriptionOutcomes },
    { provide: PlanUpgrades, useClass: LimitUpgrades },
    { provide: MeteredSubscriptions, useClass: StoredMeteredSubscriptions },
  ],
  work: app => [
    ...app.get(Renewals).works,
    app.get(InvoiceLimits).work,
    app.get(SubscriptionOutcomes).work,
    app.get(PriceWalks).work,
    app.get(PriceNotices).work,
    app.get(EndNotices).work,
  ],
};
