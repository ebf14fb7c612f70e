import type { DiscountProblem } from '@recur/contracts';
import { clampToZero, min, ratio, SCALE, sum } from '@recur/kernel';

/** Size of a discount: a percentage (10000 = 100 %), or an amount in minor units of the invoice's currency. */
export type DiscountTerms = { kind: 'percentage'; percentage: number } | { kind: 'fixed'; amount: bigint };

/** Origin of a line, as far as discounts distinguish it. */
export type LineKind = 'plan' | 'addon' | 'onetimeAddon' | 'metered' | 'lateUsage' | 'carried' | 'credit' | 'manual';

const covered: readonly LineKind[] = ['plan', 'addon', 'metered'];

/** A code covers the main plan, recurring add-ons and the plan's metered lines. */
export const isDiscountable = (kind: LineKind): boolean => covered.includes(kind);

/** Discount on a base of covered positive lines: the percentage rounded half away from zero, or at most the base. */
export function discountOn(base: bigint, terms: DiscountTerms): bigint {
  if (terms.kind === 'fixed') return min(terms.amount, base);
  return ratio(base, BigInt(terms.percentage), SCALE, 'half-away-from-zero');
}

/** A change of the items in the middle of a period, for a fixed discount. */
export interface ItemChange {
  /** Net of all items after the change for a full period, before discount: unchanged ones included. */
  newItemsBase: bigint;
  /** Discount shares of the lines that do not change. */
  keptShares: bigint;
  /** Part of the period that is left, as seconds of seconds. */
  leftSeconds: bigint;
  periodSeconds: bigint;
}

/**
 * The discount on the charge lines of a change. A percentage applies as it is; a fixed amount applies as
 * (min(amount, base of the new items) − shares that unchanged lines keep) × the part of the period that is left.
 */
export function discountOfPart(terms: DiscountTerms, change: ItemChange): DiscountTerms {
  if (terms.kind === 'percentage') return terms;
  const { newItemsBase, keptShares, leftSeconds, periodSeconds } = change;
  const full = clampToZero(min(terms.amount, newItemsBase) - keptShares);
  return { kind: 'fixed', amount: ratio(full, leftSeconds, periodSeconds, 'half-away-from-zero') };
}

/** The same over several periods: the sum of what applies to each. */
export function discountOfParts(terms: DiscountTerms, changes: readonly ItemChange[]): DiscountTerms {
  if (terms.kind === 'percentage') return terms;
  const parts = changes.map(change => discountOfPart(terms, change));
  return { kind: 'fixed', amount: sum(parts.map(part => (part.kind === 'fixed' ? part.amount : 0n))) };
}

/** A discount code. Limits of 0 do not limit; times are unix seconds, 0 for none. */
export interface DiscountCode {
  code: string;
  active: boolean;
  terms: DiscountTerms;
  /** Currency of a fixed amount; '' for a percentage. */
  currency: string;
  startTime: number;
  endTime: number;
  userScope: 'all' | 'newUsers' | 'renewalsOnly';
  planApply: 'all' | 'listed' | 'allButListed' | 'groups' | 'allButGroups';
  planIds: readonly number[];
  planGroups: readonly string[];
  upgradeOnly: boolean;
  upgradeLongerOnly: boolean;
  userLimit: number;
  quantity: number;
}

/** Facts at the submit of the operation that names a code. Uses are counted under the caller's row lock. */
export interface CodeUse {
  now: number;
  currency: string;
  mainPlanId: number;
  planGroups: readonly string[];
  /** Paid subscription invoices of the user so far. */
  paidInvoices: number;
  /** `upgrade` is an update that costs more, `longerUpgrade` one to a longer interval. */
  operation: 'create' | 'renew' | 'upgrade' | 'longerUpgrade' | 'otherUpdate';
  usesByUser: number;
  uses: number;
}

/** Why a code cannot be used: as a word, and as a sentence for `discountMessage`. */
export interface Refused {
  problem: DiscountProblem;
  message: string;
}

/** The reason why a code cannot be used; undefined if it can. */
export function discountProblem(code: DiscountCode, use: CodeUse): Refused | undefined {
  const refused = (problem: DiscountProblem, why: string) => ({
    problem,
    message: `Discount code ${code.code} ${why}`,
  });
  if (!code.active) return refused('inactive', 'is not active');
  if (use.now < code.startTime) return refused('early', 'is not valid yet');
  if (code.endTime !== 0 && use.now >= code.endTime) return refused('expired', 'has expired');
  if (code.terms.kind === 'fixed' && code.currency !== use.currency) {
    return refused('currency', `is in ${code.currency}, not in ${use.currency}`);
  }
  if (!fitsPlan(code, use.mainPlanId, use.planGroups)) {
    return refused('plan', `does not apply to plan ${use.mainPlanId}`);
  }
  if (code.userScope === 'newUsers' && use.paidInvoices > 0)
    return refused('new_customers', 'is for new customers only');
  if (code.userScope === 'renewalsOnly' && use.paidInvoices === 0) {
    return refused('existing_customers', 'is for existing customers only');
  }
  const upgrade = use.operation === 'upgrade' || use.operation === 'longerUpgrade';
  if (code.upgradeOnly && !upgrade) return refused('upgrades', 'is for upgrades only');
  if (code.upgradeLongerOnly && use.operation !== 'longerUpgrade') {
    return refused('longer_upgrades', 'is for upgrades to a longer interval only');
  }
  if (code.userLimit !== 0 && use.usesByUser >= code.userLimit)
    return refused('used', `was used ${use.usesByUser === 1 ? 'once' : `${use.usesByUser} times`}`);
  if (code.quantity !== 0 && use.uses >= code.quantity) return refused('used_up', 'is used up');
  return undefined;
}

/** True if a code applies to a main plan. Also decides whether a bound code survives a plan change. */
export function fitsPlan(
  { planApply, planIds, planGroups }: Pick<DiscountCode, 'planApply' | 'planIds' | 'planGroups'>,
  planId: number,
  groups: readonly string[],
): boolean {
  const inGroups = groups.some(group => planGroups.includes(group));
  switch (planApply) {
    case 'all':
      return true;
    case 'listed':
      return planIds.includes(planId);
    case 'allButListed':
      return !planIds.includes(planId);
    case 'groups':
      return inGroups;
    case 'allButGroups':
      return !inGroups;
  }
}

/**
 * True if a recurring code discounts the next cycle invoice. `finished` counts the discounted cycle invoices that were
 * finished and are neither failed nor cancelled, the first invoice included; a cycleLimit of 0 does not limit.
 */
export const discountsCycle = (cycleLimit: number, finished: number): boolean =>
  cycleLimit === 0 || finished < cycleLimit;
