import {
  defaultProduct,
  type MerchantCheckout,
  type MerchantMetric,
  metricType,
  type Plan,
  Plan as PlanShape,
  type PlanSnapshot,
  type Product,
  planStatus,
  slimming,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { CommandReader, PeekReader, Reader } from '@recur/platform';
import { checkouts, metrics, type PlanCopy, plans, products } from './tables.js';

/** A plan as billing knows it. */
export type KnownPlan = PlanCopy;

/** Copies of the plans that lines name, by id; undefined for a plan without a copy. */
export type PlanCopies = ReadonlyMap<number, PlanCopy | undefined>;

/** The plans with these ids; 0 stands for no plan. A command asks catalog first where its copies lag: throws Stale. */
export async function plansById(reader: PeekReader | CommandReader, planIds: readonly number[]): Promise<PlanCopies> {
  const ids = [...new Set(planIds.filter(id => id !== 0))];
  if ('fresh' in reader) for (const id of ids) reader.fresh('plans', id);
  const copies = await Promise.all(ids.map(id => reader.peek(plans, { id })));
  return new Map(ids.map((id, at) => [id, copies[at]]));
}

/** A plan as the API shows it: fields that plans were given after it was kept are empty. */
export const shownPlan = (plan: Plan | null): Plan | null => plan && slimming(PlanShape).complete(plan);

/** Add-ons of a snapshot, shown likewise. */
export const shownAddons = (addons: PlanSnapshot['addons']): PlanSnapshot['addons'] =>
  addons.map(({ addonPlan, quantity }) => ({ addonPlan: shownPlan(addonPlan), quantity }));

/** The plans with these ids as billing knows them, by id; catalog is not asked. */
export async function knownPlans(reader: PeekReader, planIds: readonly number[]): Promise<ReadonlyMap<number, Plan>> {
  const copies = await reader.peekAmong(plans, 'id', [...new Set(planIds)]);
  return new Map(copies.map(({ id, data }) => [id, data]));
}

/** Plans by the merchant's own ids; the newest where several have one. */
export async function plansByExternalIds(reader: Reader, ids: readonly string[]): Promise<ReadonlyMap<string, Plan>> {
  const text = `select id from plan_copies where merchant_id = $1 and data ->> 'externalPlanId' = any($2) order by id`;
  const found = await reader.query(text, [reader.merchantId, [...new Set(ids)]]);
  const named = await knownPlans(
    reader,
    found.map(({ id }) => Number(id)),
  );
  return new Map([...named.values()].sort((a, b) => a.id - b.id).map(plan => [plan.externalPlanId, plan]));
}

/**
 * The plan, if it may be sold; `path` is the input field that names it. A missing or inactive copy is checked with
 * catalog first: throws Stale, carrying Rejected `plan_not_found` or `plan_not_active`.
 */
export function assertSellable(tx: CommandReader, planId: number, copies: PlanCopies, path: string): Plan {
  const copy = copies.get(planId);
  if (!copy) {
    const issues = [{ path, message: 'names no plan' }];
    throw tx.stale('plans', planId, new Rejected('plan_not_found', undefined, issues));
  }
  if (copy.status !== planStatus.active) {
    const state = planStateOf(copy.status);
    const issues = [{ path, message: `names a plan that is ${state}` }];
    const refusal = new Rejected('plan_not_active', `Plan ${planId} is ${state}: cannot sell it`, issues);
    // a hard archive cannot be undone, so there is no need to ask catalog
    throw copy.status === planStatus.hardArchived ? refusal : tx.stale('plans', planId, refusal);
  }
  return copy.data;
}

const planStateOf = (status: number) => Object.entries(planStatus).find(([, code]) => code === status)?.[0];

/** Products by id. The default product has a copy only once its merchant has edited it. */
export type Products = ReadonlyMap<number, Product>;

/** The products of plans. A command asks catalog first where its copies are known to lag: throws Stale. */
export async function productsOf(reader: PeekReader | CommandReader, plans: readonly Plan[]): Promise<Products> {
  if ('fresh' in reader) for (const { productId } of plans) if (productId !== 0) reader.fresh('products', productId);
  const copies = await reader.peekAmong(
    products,
    'id',
    plans.map(({ productId }) => productId),
  );
  return new Map(copies.map(({ id, data }) => [id, data]));
}

/**
 * Checks that the product of each plan is known, where what is sold depends on its settings. A missing copy is asked of
 * catalog first: throws Stale, carrying Rejected `plan_not_found`.
 */
export function assertProducts(tx: CommandReader, plans: readonly Plan[], known: Products): void {
  const missing = plans.find(({ productId }) => productId !== 0 && !known.has(productId));
  if (missing === undefined) return;
  const refusal = new Rejected('plan_not_found', `The product of plan ${missing.id} is unknown`);
  throw tx.stale('products', missing.productId, refusal);
}

/** The product of a plan; the default one exists without a copy. Null for one that is unknown. */
export async function productOf(reader: PeekReader, plan: Plan): Promise<Product | null> {
  const known = (await productsOf(reader, [plan])).get(plan.productId);
  return known ?? (plan.productId === 0 ? defaultProduct(plan.merchantId) : null);
}

/** Metrics that can be used, by code. */
export async function metricsByCode(
  reader: PeekReader,
  codes: readonly string[],
): Promise<ReadonlyMap<string, MerchantMetric>> {
  const rows = await reader.peekAmong(metrics, 'code', [...new Set(codes)]);
  return new Map(rows.filter(({ archived }) => !archived).map(({ code, data }) => [code, data]));
}

/** Metrics by id, deleted ones included. */
export async function metricsById(
  reader: PeekReader,
  ids: readonly number[],
): Promise<ReadonlyMap<number, MerchantMetric>> {
  const rows = await reader.peekAmong(metrics, 'id', [...new Set(ids)]);
  return new Map(rows.map(({ id, data }) => [id, data]));
}

/**
 * The metric with this code. A missing copy, or one that is known to lag, is asked of catalog: throws Stale, carrying
 * Rejected `metric_not_found`.
 */
export async function assertMetric(reader: CommandReader, code: string): Promise<MerchantMetric> {
  reader.fresh('metrics', { code });
  const metric = (await metricsByCode(reader, [code])).get(code);
  if (!metric) throw reader.stale('metrics', { code }, new Rejected('metric_not_found'));
  return metric;
}

/** The look of the merchant's pages that are about no plan: its default checkout template; null without one. */
export async function usualLook(reader: Reader): Promise<MerchantCheckout | null> {
  return (await reader.find(checkouts, { isDefault: true }))?.data ?? null;
}

/** SQL for the ids of the metrics that are charged; `$1` is the merchant. */
export const chargedMetricIds = `(select m.id from metric_copies m where m.merchant_id = $1
  and (m.data->>'type')::int in (${metricType.chargeMetered}, ${metricType.chargeRecurring}))`;
