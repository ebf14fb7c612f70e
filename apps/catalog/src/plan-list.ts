import { Injectable } from '@nestjs/common';
import {
  emptyOf,
  type In,
  intervalUnits,
  listPlans,
  PlanDetail,
  type PlanMetricCharge,
  planDetail,
  planStatus,
  planType,
  publishStatus,
} from '@recur/contracts';
import { type Caller, type Condition, contains, Db, given, Handle, type Reader, sorted } from '@recur/platform';
import { DEFAULT_PRODUCT } from './domain/product.js';
import { checkName, wherePlan } from './plans.js';
import { withoutRow } from './products.js';
import { type PlanRow, plans, products } from './tables.js';
import { namesOf, planView, productView } from './views.js';

/** Plans as they are looked at: with their products and add-ons. */
@Injectable()
export class PlanList {
  constructor(private readonly db: Db) {}

  @Handle(planDetail)
  detail(name: In<typeof planDetail>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const plan = checkName(await reader.get(plans, wherePlan(name), 'plan_not_found'), name);
      const [detailed] = await details(reader, [plan]);
      return { plan: detailed as PlanDetail };
    });
  }

  @Handle(listPlans)
  list(input: In<typeof listPlans>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { page, count } = input;
      const order = sorted({ createTime: 'create_time', planName: 'plan_name', amount: 'amount' }, input);
      const { rows, total } = await reader.page({ from: plans, where: conditions(input), order, page, count });
      return { plans: await details(reader, rows), total };
    });
  }
}

function conditions(input: In<typeof listPlans>): Condition[] {
  const { searchKey = '' } = input;
  const part = given(searchKey) && contains(searchKey);
  const id = /^\d{1,15}$/.test(searchKey) ? Number(searchKey) : 0;
  return [
    ['id = any(?)', given(input.planIds)],
    ['product_id = any(?)', given(input.productIds)],
    ['type = any(?)', namesOf(planType, given(input.type))],
    ['status = any(?)', namesOf(planStatus, given(input.status))],
    ['publish_status = any(?)', namesOf(publishStatus, given(input.publishStatus ? [input.publishStatus] : []))],
    ['currency = upper(?)', given(input.currency)],
    ['interval_unit = any(?)', given(input.intervalUnits)],
    ['interval_count = any(?)', given(input.intervalCounts)],
    [`interval_count * ${daysOfUnit} >= ?`, given(leastDays(input.billingIntervalMin))],
    [
      `(id = ${id} or plan_name ilike ? or internal_name ilike ? or external_plan_id ilike ? or description ilike ?)`,
      part,
    ],
  ];
}

/** How long the units are when intervals are compared. */
const days = { day: 1, week: 7, month: 30, year: 365 } as const satisfies Record<keyof typeof intervalUnits, number>;
const daysOfUnit = `case interval_unit ${Object.entries(days)
  .map(([unit, length]) => `when '${unit}' then ${length}`)
  .join(' ')} else 0 end`;

/** `month` or `3month`, in days. */
function leastDays(interval = ''): number {
  const [, count = '', unit = ''] = /^(\d*)(\w*)$/.exec(interval) ?? [];
  return (days[unit as keyof typeof days] ?? 0) * (count === '' ? 1 : Number(count));
}

const emptyDetail = emptyOf(PlanDetail);

/** Two questions for all of them: the products, and the add-ons. */
async function details(reader: Reader, of: readonly PlanRow[]): Promise<PlanDetail[]> {
  const [ofProducts, addons] = await Promise.all([
    reader.among(
      products,
      'id',
      of.map(plan => plan.productId),
    ),
    reader.among(
      plans,
      'id',
      of.flatMap(plan => [...plan.addonIds, ...plan.onetimeAddonIds]),
    ),
  ]);
  const product = new Map(ofProducts.map(row => [row.id, row]));
  const addon = new Map(addons.map(row => [row.id, planView(row)]));
  const views = (ids: readonly number[]) => ids.flatMap(id => addon.get(id) ?? []);
  return of.map(plan => {
    const row = product.get(plan.productId);
    const owner =
      row ?? (plan.productId === DEFAULT_PRODUCT ? withoutRow(plan.merchantId, DEFAULT_PRODUCT) : undefined);
    return {
      ...emptyDetail,
      plan: planView(plan),
      product: owner ? productView(owner) : null,
      addonIds: plan.addonIds,
      addons: views(plan.addonIds),
      onetimeAddonIds: plan.onetimeAddonIds,
      onetimeAddons: views(plan.onetimeAddonIds),
      metricMeteredCharge: plan.metricMeteredCharge.map(charge),
      metricRecurringCharge: plan.metricRecurringCharge.map(charge),
      sellOnUSOnly: plan.usVatConfig?.sellOnUSOnly ?? false,
    };
  });
}

const charge = (of: PlanRow['metricMeteredCharge'][number]): PlanMetricCharge => ({ ...of, merchantMetric: null });
