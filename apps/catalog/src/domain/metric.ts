import { type Issue, Rejected } from '@recur/kernel';
import { idList } from './id-list.js';
import { same } from './same.js';

export type MetricType = 'limitMetered' | 'chargeMetered' | 'chargeRecurring' | 'limitRecurring';
export type AggregationType = 'count' | 'countUnique' | 'latest' | 'max' | 'sum';

/** What use is measured by. Times in unix seconds, 0 where it has not happened. */
export interface Metric {
  id: number;
  merchantId: number;
  /** Counted by the write path, one per event; nothing here changes it. */
  version: number;
  /** What events name it by. */
  code: string;
  metricName: string;
  metricDescription: string;
  type: MetricType;
  aggregationType: AggregationType;
  /** Which property of an event is aggregated; may be '' where events are counted. */
  aggregationProperty: string;
  unit: string;
  carryoverProrationEnabled: boolean;
  prorationRefundEnabled: boolean;
  metadata: Record<string, unknown>;
  createTime: number;
  modifyTime: number;
  /** A metric that is deleted is archived, too. */
  deletedTime: number;
}

/** What of a metric may be changed: what it measures stays, since use was measured by it. */
export type MetricEdit = Partial<
  Pick<
    Metric,
    | 'metricName'
    | 'metricDescription'
    | 'type'
    | 'unit'
    | 'carryoverProrationEnabled'
    | 'prorationRefundEnabled'
    | 'metadata'
  >
>;

/**
 * The metric with what was sent; undefined where that is what it has already. Throws Rejected `metric_in_use` where its
 * type would change under one of `activePlans`, the ids of the active plans that use it.
 */
export function edit<M extends Metric>(
  metric: M,
  sent: MetricEdit,
  activePlans: readonly number[],
  now: number,
): M | undefined {
  const edited = { ...metric, ...sent };
  if (same(edited, metric)) return undefined;
  if (edited.type !== metric.type) checkUnused(metric, activePlans, 'change its type');
  return { ...edited, modifyTime: now };
}

/** The metric, deleted. Throws Rejected `metric_in_use` where an active plan uses it. */
export function remove<M extends Metric>(metric: M, activePlans: readonly number[], now: number): M {
  checkUnused(metric, activePlans, 'delete it');
  return { ...metric, modifyTime: now, deletedTime: now };
}

function checkUnused({ id }: Metric, activePlans: readonly number[], what: string): void {
  if (activePlans.length === 0) return;
  const plans = idList(activePlans);
  throw new Rejected('metric_in_use', `Metric ${id} is used by the active plans ${plans}: cannot ${what}`);
}

/** The lists of a plan that name metrics, with the types of metric that each takes. */
export const fitting = {
  metricLimits: ['limitMetered', 'limitRecurring'],
  metricMeteredCharge: ['chargeMetered'],
  metricRecurringCharge: ['chargeRecurring'],
} as const satisfies Record<string, readonly MetricType[]>;
export type MetricLists = Partial<Record<keyof typeof fitting, readonly { metricId: number }[]>>;

interface Misnamed {
  /** Entries that name no metric. */
  unknown: Issue[];
  /** Entries of metrics of another type, or that the list has already. */
  unfit: Issue[];
}

/** What is wrong with the metrics that a plan names, where `types` has those that there are. */
export function misnamed(lists: MetricLists, types: ReadonlyMap<number, MetricType>): Misnamed {
  const found: Misnamed = { unknown: [], unfit: [] };
  for (const field of Object.keys(fitting) as (keyof typeof fitting)[]) {
    const seen = new Set<number>();
    for (const [at, { metricId }] of (lists[field] ?? []).entries()) {
      const path = `/${field}/${at}/metricId`;
      const type = types.get(metricId);
      const message = type && (whyUnfit(type, fitting[field]) ?? (seen.has(metricId) ? named : undefined));
      if (type === undefined) found.unknown.push({ path, message: 'names no metric' });
      else if (message !== undefined) found.unfit.push({ path, message });
      seen.add(metricId);
    }
  }
  return found;
}

const named = 'names a metric that the list has already';
const whyUnfit = (type: MetricType, takes: readonly MetricType[]) =>
  takes.includes(type) ? undefined : `must be ${takes.join(' or ')}, and is ${type}`;
