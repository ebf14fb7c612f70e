import type { Wing } from '@recur/platform';
import { InvoiceOutcomes } from '../invoices/outcomes.js';
import { PlanUpgrades } from '../usage/limits/upgrades.js';
import { SubscriptionFacts } from '../usage/subscription-facts.js';
import { OnetimeAddons } from './addons/addons.js';
import { onetimeAddonAggregate, onetimeAddons } from './addons/tables.js';
import { Arrears } from './arrears.js';
import { DeferredChanges } from './change/deferred.js';
import { ChangeEffects } from './change/effects.js';
import { LimitUpgrades, PendingUpdateReads, PendingUpdates } from './change/pending-updates.js';
import { ChangePreview } from './change/preview.js';
import { ChangeSubmit } from './change/submit.js';
import { pendingUpdateAggregate } from './change/views.js';
import { Cancelling } from './course/cancel.js';
import { DueDays, RunningSubscriptions } from './course/course.js';
import { TrialTime } from './course/trial-time.js';
import { Others, Subscribing } from './create/create.js';
import { SubscribingPreview } from './create/preview.js';
import { Renewing } from './create/renew.js';
import { FirstPeriods } from './create/start.js';
import { SubscriptionImports } from './imports/imports.js';
import { SubscriptionOutcomes } from './outcomes.js';
import { PriceNotices } from './prices/notices.js';
import { PriceChangeCounts, PriceWalks } from './prices/walk.js';
import { NextInvoicePreview } from './reads/next-invoice.js';
import { SubscriptionReads } from './reads/subscriptions.js';
import { SubscriptionNotes, Timelines } from './reads/timeline.js';
import { LastDocuments } from './renewal/final-invoice.js';
import { CycleInvoices } from './renewal/invoices.js';
import { RenewalOutcomes } from './renewal/renewal-outcomes.js';
import { Cycle } from './renewal/steps.js';
import { SubscriptionEndings } from './renewal/termination.js';
import { InvoiceLimits } from './schedule.js';
import { SubscriptionConfigs } from './settings.js';
import {
  pendingUpdates,
  subscriptionNotes,
  subscriptionPeriods,
  subscriptionSettings,
  subscriptions,
} from './tables.js';
import { StoredSubscriptionFacts } from './usage-facts.js';
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
  ],
  providers: [
    SubscriptionImports,
    SubscriptionOutcomes,
    Others,
    SubscriptionEndings,
    InvoiceLimits,
    Cycle,
    CycleInvoices,
    RenewalOutcomes,
    FirstPeriods,
    PriceNotices,
    PriceWalks,
    ChangeEffects,
    DeferredChanges,
    LastDocuments,
    Arrears,
    PendingUpdates,
    { provide: InvoiceOutcomes, useExisting: SubscriptionOutcomes },
    { provide: PlanUpgrades, useClass: LimitUpgrades },
    { provide: SubscriptionFacts, useClass: StoredSubscriptionFacts },
  ],
  work: app => [
    ...app.get(Cycle).works,
    app.get(InvoiceLimits).work,
    app.get(SubscriptionOutcomes).work,
    app.get(PriceWalks).work,
    app.get(PriceNotices).work,
  ],
};
