import type { MerchantMetricPlanChargeDetail, MetricPlanLimit } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Reader, Tx } from '@recur/platform';
import { fitting, type MetricLists, type MetricType, misnamed } from '../metrics/domain/metric.js';
import { holdMetrics, metricsAmong } from '../metrics/metrics.js';
import { metricView } from '../metrics/views.js';
import { type PlanRow, planMetrics } from './tables.js';
import { chargeView, limitView } from './views.js';

/**
 * Checks the metrics that an input refers to, and locks them until the commit. Throws, naming every field at fault,
 * Rejected `metric_not_found` for one that does not exist or is deleted, and `invalid_parameters` for one of a type that
 * the list does not accept, or listed twice.
 */
export async function checkMetrics(tx: Tx, lists: MetricLists): Promise<void> {
  const { unknown, unfit } = misnamed(lists, await holdMetrics(tx, idsIn(lists)));
  if (unknown.length > 0) throw new Rejected('metric_not_found', undefined, unknown);
  if (unfit.length > 0) throw new Rejected('invalid_parameters', undefined, unfit);
}

/**
 * Checks the metrics of plans that are about to become active: they may have been deleted or retyped since. Throws
 * Rejected `plan_not_activatable`, naming the fields.
 */
export async function checkMetricsExist(tx: Tx, plans: readonly PlanRow[]): Promise<void> {
  const inactive = plans.filter(({ status }) => status !== 'active');
  const types = await holdMetrics(tx, inactive.flatMap(idsIn));
  for (const plan of inactive) {
    const { unknown, unfit } = misnamed(plan, types);
    const issues = [...unknown, ...unfit];
    const why = issues.map(({ path, message }) => `${path} ${message}`).join('; ');
    const message = `Plan ${plan.id} is ${plan.status}: cannot activate it before its metrics are set right: ${why}`;
    if (issues.length > 0) throw new Rejected('plan_not_activatable', message, issues);
  }
}

/** Metric references of a plan that are still valid: without metrics that were deleted or retyped. */
export async function validMetrics(reader: Reader, plan: PlanRow) {
  const rows = await metricsAmong(reader, idsIn(plan));
  const types = new Map(rows.filter(({ deletedTime }) => deletedTime === 0).map(({ id, type }) => [id, type]));
  const left = (list: keyof typeof fitting) => {
    const takes: readonly (MetricType | undefined)[] = fitting[list];
    return ({ metricId }: { metricId: number }) => takes.includes(types.get(metricId));
  };
  return {
    metricLimits: plan.metricLimits.filter(left('metricLimits')),
    metricMeteredCharge: plan.metricMeteredCharge.filter(left('metricMeteredCharge')).map(chargeView),
    metricRecurringCharge: plan.metricRecurringCharge.filter(left('metricRecurringCharge')).map(chargeView),
  };
}

const lists = Object.keys(fitting) as (keyof typeof fitting)[];
const idsIn = (of: MetricLists) => lists.flatMap(list => (of[list] ?? []).map(({ metricId }) => metricId));

/** Metrics in the details of plans. */
export interface PlanMetrics {
  limits(plan: PlanRow): MetricPlanLimit[];
  charge(of: PlanRow['metricMeteredCharge'][number]): MerchantMetricPlanChargeDetail;
}

/** Metrics of plans, in two queries: the limits and the metrics themselves. */
export async function metricsOf(reader: Reader, plans: readonly PlanRow[]): Promise<PlanMetrics> {
  const limited = plans.filter(({ metricLimits }) => metricLimits.length > 0);
  const [uses, rows] = await Promise.all([
    reader.among(
      planMetrics,
      'planId',
      limited.map(({ id }) => id),
    ),
    metricsAmong(reader, plans.flatMap(idsIn)),
  ]);
  const metric = new Map(rows.map(row => [row.id, row]));
  const limit = new Map(uses.filter(({ use }) => use === 'limit').map(row => [`${row.planId} ${row.metricId}`, row]));
  return {
    limits: plan =>
      plan.metricLimits.flatMap(({ metricId }) => {
        const row = limit.get(`${plan.id} ${metricId}`);
        return row ? [limitView(row, metric.get(metricId))] : [];
      }),
    charge: of => {
      const row = metric.get(of.metricId);
      return { ...chargeView(of), merchantMetric: row ? metricView(row) : null };
    },
  };
}
