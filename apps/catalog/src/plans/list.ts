import { Controller } from '@nestjs/common';
import {
  emptyOf,
  type In,
  type IntervalUnit,
  intervalUnits,
  listPlans,
  type Plan,
  PlanDetail,
  planDetail,
  planStatus,
  planType,
  publishStatus,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, type Condition, Db, given, Handle, type Reader, sorted } from '@recur/platform';
import { namesOf } from '../codes.js';
import { conditions, type Filter, withId } from '../lists.js';
import { productsAmong } from '../products/products.js';
import { metricsOf } from './plan-metrics.js';
import { checkName, wherePlan } from './plans.js';
import { amountsOf } from './price-changes.js';
import { type PlanRow, plans } from './tables.js';
import { planView } from './views.js';

const planOrders = { createTime: 'create_time', planName: 'sort_name', amount: 'amount', modifyTime: 'modify_time' };

/** Size limit of all add-ons in one answer, as JSON: the bus carries no more. */
const answerLimits = { addonBytes: 4_194_304 } as const;

/** Reads of plans, with their products, add-ons and metrics. */
@Controller()
export class PlanList {
  constructor(private readonly db: Db) {}

  @Handle(planDetail)
  detail(name: In<typeof planDetail>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const plan = checkName(await reader.get(plans, wherePlan(name), 'plan_not_found'), name);
      const [detailed] = await detailsOf(reader, [plan]);
      return { plan: detailed as PlanDetail };
    });
  }

  @Handle(listPlans)
  async list(input: In<typeof listPlans>, caller: Caller) {
    const part = input.searchKey?.trim() ?? '';
    const found = await this.db.search(caller, 'plans', [{ column: 'texts', field: 'searchKey', part }]);
    const { sortField = '', billingIntervalMin: least } = input;
    const others: Condition[] = [
      ['id = any(?)', given(input.planIds)],
      ['id = any(?)', found && withId(found, part)],
      [noShorter, least ? leastCounts(least) : undefined],
    ];
    const newest = sortField === '' || sortField === 'createTime';
    const where: Condition[] = [['deleted_time = ?', 0], ...conditions(newest, filters(input), others)];
    return this.db.read(caller, async reader => {
      const { page, count } = input;
      const order = sorted(planOrders, input);
      const sparse = found !== undefined;
      const { rows, total } = await reader.page({
        from: plans,
        where,
        order,
        page,
        count,
        sparse,
        covered: !sparse,
      });
      return { plans: await detailsOf(reader, rows), total };
    });
  }
}

const filters = (input: In<typeof listPlans>): Filter[] => [
  ['product_id', given(input.productIds)],
  ['type', namesOf(planType, given(input.type))],
  ['status', namesOf(planStatus, given(input.status))],
  ['publish_status', namesOf(publishStatus, input.publishStatus ? [input.publishStatus] : undefined)],
  ['currency', input.currency ? [input.currency.toUpperCase()] : undefined],
  ['interval_unit', given(input.intervalUnits)],
  ['interval_count', given(input.intervalCounts)],
];

/** Days of each unit, for comparing intervals. */
const days = { day: 1, week: 7, month: 30, year: 365 } as const satisfies Record<IntervalUnit, number>;
const units = Object.keys(days) as IntervalUnit[];

/** A range per unit, so that the index applies; the upper bound is the largest count of the unit. */
const noShorter = `(${units
  .map(
    (unit, at) =>
      `interval_unit = '${unit}' and interval_count between (?::bigint[])[${at + 1}] and ${intervalUnits[unit]}`,
  )
  .join(' or ')})`;

/** Smallest count of each unit that is at least as long as an interval such as `month` or `3month`. */
function leastCounts(interval: string): number[] {
  const [, count = '', unit = ''] = /^(\d*)(\w+)$/.exec(interval) ?? [];
  const least = days[unit as IntervalUnit] * Number(count || 1);
  return units.map(one => Math.ceil(least / days[one]));
}

const emptyDetail = emptyOf(PlanDetail);

/** Details of plans in at most five queries: products, add-ons, metric uses, metrics and price changes. */
export async function detailsOf(reader: Reader, of: readonly PlanRow[]): Promise<PlanDetail[]> {
  const [products, addons, ofMetrics, amounts] = await Promise.all([
    productsAmong(
      reader,
      of.map(plan => plan.productId),
    ),
    reader.among(
      plans,
      'id',
      of.flatMap(plan => [...plan.addonIds, ...plan.onetimeAddonIds]),
    ),
    metricsOf(reader, of),
    amountsOf(reader, of),
  ]);
  // hides deleted add-ons, which a hard-archived plan may still refer to
  const addon = new Map(addons.filter(({ deletedTime }) => deletedTime === 0).map(row => [row.id, planView(row)]));
  checkSize(of, addon);
  const views = (ids: readonly number[]) => ids.flatMap(id => addon.get(id) ?? []);
  return of.map(plan => ({
    ...emptyDetail,
    plan: planView(plan),
    product: products.get(plan.productId) ?? null,
    addonIds: plan.addonIds,
    addons: views(plan.addonIds),
    onetimeAddonIds: plan.onetimeAddonIds,
    onetimeAddons: views(plan.onetimeAddonIds),
    metricPlanLimits: ofMetrics.limits(plan),
    metricMeteredCharge: plan.metricMeteredCharge.map(ofMetrics.charge),
    metricRecurringCharge: plan.metricRecurringCharge.map(ofMetrics.charge),
    sellOnUSOnly: plan.usVatConfig?.sellOnUSOnly ?? false,
    amountHistory: amounts(plan),
  }));
}

/** Throws Rejected `answer_too_large`: each plan shows its add-ons in full, so a few rows can make a huge answer. */
function checkSize(of: readonly PlanRow[], addon: ReadonlyMap<number, Plan>): void {
  const bytes = new Map([...addon].map(([id, view]) => [id, JSON.stringify(view).length]));
  const all = of.flatMap(plan => [...plan.addonIds, ...plan.onetimeAddonIds]);
  if (all.reduce((sum, id) => sum + (bytes.get(id) ?? 0), 0) > answerLimits.addonBytes) {
    throw new Rejected('answer_too_large');
  }
}
