import { isDeepStrictEqual } from 'node:util';
import { type Issue, Rejected } from '@recur/kernel';
import { idList } from '../../domain/id-list.js';

export type MetricType = 'limitMetered' | 'chargeMetered' | 'chargeRecurring' | 'limitRecurring';
export type AggregationType = 'count' | 'countUnique' | 'latest' | 'max' | 'sum';

/** A measure of usage. Times in unix seconds, 0 for what has not happened. */
export interface Metric {
  id: number;
  merchantId: number;
  /** Incremented by the write path with each event. */
  version: number;
  /** Name that usage events refer to. */
  code: string;
  metricName: string;
  metricDescription: string;
  type: MetricType;
  aggregationType: AggregationType;
  /** Property of an event that is aggregated; may be '' for `count`. */
  aggregationProperty: string;
  unit: string;
  carryoverProrationEnabled: boolean;
  prorationRefundEnabled: boolean;
  metadata: Record<string, unknown>;
  createTime: number;
  modifyTime: number;
  /** A deleted metric is shown as archived. */
  deletedTime: number;
}

/** Fields that may be edited. Code and aggregation are fixed: recorded usage depends on them. */
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
 * Edits a metric; undefined when nothing changes. Throws Rejected `metric_in_use` when the type would change while
 * active plans (`activePlans`, their ids) use it.
 */
export function edit<M extends Metric>(
  metric: M,
  sent: MetricEdit,
  activePlans: readonly number[],
  now: number,
): M | undefined {
  const edited = { ...metric, ...sent };
  if (isDeepStrictEqual(edited, metric)) return undefined;
  if (edited.type !== metric.type) checkUnused(metric, activePlans, 'change its type');
  return { ...edited, modifyTime: now };
}

/** Deletes a metric. Throws Rejected `metric_in_use` when an active plan uses it. */
export function remove<M extends Metric>(metric: M, activePlans: readonly number[], now: number): M {
  checkUnused(metric, activePlans, 'delete it');
  return { ...metric, modifyTime: now, deletedTime: now };
}

function checkUnused({ id }: Metric, activePlans: readonly number[], what: string): void {
  if (activePlans.length === 0) return;
  const plans = idList(activePlans);
  throw new Rejected('metric_in_use', `Metric ${id} is used by the active plans ${plans}: cannot ${what}`);
}

/** Lists of a plan that refer to metrics, with the metric types that each accepts. */
export const fitting = {
  metricLimits: ['limitMetered', 'limitRecurring'],
  metricMeteredCharge: ['chargeMetered'],
  metricRecurringCharge: ['chargeRecurring'],
} as const satisfies Record<string, readonly MetricType[]>;
export type MetricLists = Partial<Record<keyof typeof fitting, readonly { metricId: number }[]>>;

interface Misnamed {
  /** Entries whose metric does not exist. */
  unknown: Issue[];
  /** Entries with a metric of an unsuitable type, or listed twice. */
  unfit: Issue[];
}

/** Faults in the metric references of a plan; `types` has the metrics that exist. */
export function misnamed(lists: MetricLists, types: ReadonlyMap<number, MetricType>): Misnamed {
  const found: Misnamed = { unknown: [], unfit: [] };
  for (const field of Object.keys(fitting) as (keyof typeof fitting)[]) {
    const seen = new Set<number>();
    for (const [at, { metricId }] of (lists[field] ?? []).entries()) {
      const path = `/${field}/${at}/metricId`;
      const type = types.get(metricId);
      const message = type && (whyTypeUnfit(type, fitting[field]) ?? (seen.has(metricId) ? alreadyListed : undefined));
      if (type === undefined) found.unknown.push({ path, message: 'names no metric' });
      else if (message !== undefined) found.unfit.push({ path, message });
      seen.add(metricId);
    }
  }
  return found;
}

const alreadyListed = 'is already in the list';
const whyTypeUnfit = (type: MetricType, takes: readonly MetricType[]) =>
  takes.includes(type) ? undefined : `must be ${takes.join(' or ')}, not ${type}`;
