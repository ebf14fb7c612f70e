import type { Wing } from '@recur/platform';
import { UsageDeletions } from './events/deletions.js';
import { EventViews, UsageEventList } from './events/event-list.js';
import { Partitions } from './events/keys.js';
import { UsageQueue } from './events/queue.js';
import { UsageRecorder } from './events/recorder.js';
import { UsageEvents } from './events/usage-events.js';
import { LimitAdjustments } from './limits/adjustments.js';
import { UsageUpgrades } from './limits/upgrades.js';
import { UsageMending } from './mending.js';
import { UsageNotices, userMetricAggregate } from './notices.js';
import { UsageRecounts } from './recounts.js';
import * as tables from './tables.js';
import { UserUsage } from './user-usage.js';

/** Usage events, counters and limits. */
export const usageWing: Wing = {
  tables: [
    tables.usageEvents,
    tables.eventKeys,
    tables.uniques,
    tables.counters,
    tables.billings,
    tables.adjustments,
    tables.snapshots,
    tables.notices,
  ],
  aggregates: { userMetric: userMetricAggregate },
  controllers: [UsageEvents, UsageEventList, UserUsage, LimitAdjustments],
  providers: [
    UsageRecorder,
    UsageQueue,
    UsageDeletions,
    Partitions,
    EventViews,
    UsageNotices,
    UsageRecounts,
    UsageMending,
    UsageUpgrades,
  ],
  work: app => [app.get(UsageNotices).work, app.get(UsageRecounts).work, app.get(UsageUpgrades).work],
};
