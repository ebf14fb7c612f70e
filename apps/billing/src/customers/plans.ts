import { type Plan, Plan as PlanShape, type PlanSnapshot, planStatus, slimming } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Peeking, Peeks, Reader } from '@recur/platform';
import { type PlanCopy, plans } from './tables.js';

/** A plan as billing knows it. */
export type KnownPlan = PlanCopy;

/** Copies of the plans that lines name, by id; undefined for a plan without a copy. */
export type Plans = ReadonlyMap<number, PlanCopy | undefined>;

/** The plans with these ids; 0 stands for no plan. A command asks catalog first where its copies lag: throws Stale. */
export async function plansById(reader: Peeking | Peeks, planIds: readonly number[]): Promise<Plans> {
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
export async function knownPlans(reader: Peeking, planIds: readonly number[]): Promise<ReadonlyMap<number, Plan>> {
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
export function assertSellable(tx: Peeks, planId: number, copies: Plans, path: string): Plan {
  const copy = copies.get(planId);
  if (!copy) {
    const issues = [{ path, message: 'names no plan' }];
    throw tx.stale('plans', planId, new Rejected('plan_not_found', undefined, issues));
  }
  if (copy.status !== planStatus.active) {
    const state = stateOf(copy.status);
    const issues = [{ path, message: `names a plan that is ${state}` }];
    const refusal = new Rejected('plan_not_active', `Plan ${planId} is ${state}: cannot sell it`, issues);
    // a hard archive cannot be undone, so there is no need to ask catalog
    throw copy.status === planStatus.hardArchived ? refusal : tx.stale('plans', planId, refusal);
  }
  return copy.data;
}

const stateOf = (status: number) => Object.entries(planStatus).find(([, code]) => code === status)?.[0];
