import type { Wing } from '@recur/platform';
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
import { FirstInvoice, FirstPeriods } from './create/start.js';
import { SubscriptionImports } from './imports/imports.js';
import { SubscriptionInvoices } from './owner.js';
import { PriceNotices } from './prices/notices.js';
import { PriceChangeCounts, PriceWalks } from './prices/walk.js';
import { NextInvoicePreview } from './reads/next-invoice.js';
import { SubscriptionReads } from './reads/subscriptions.js';
import { SubscriptionNotes, Timelines } from './reads/timeline.js';
import { CycleEnds, PeriodEnd } from './renewal/cycle-ends.js';
import { LastDocuments } from './renewal/final-invoice.js';
import { CycleInvoices } from './renewal/invoices.js';
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
    PendingUpdates,
    { provide: SubscriptionFacts, useClass: StoredSubscriptionFacts },
  ],
  work: app => [
    ...app.get(Cycle).works,
    app.get(InvoiceLimits).work,
    app.get(SubscriptionInvoices).work,
    app.get(PriceWalks).work,
    app.get(PriceNotices).work,
  ],
};
