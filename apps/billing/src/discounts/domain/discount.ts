import { type Issue, invalid, machine, Rejected, type StateOf } from '@recur/kernel';
import type { CodeUse, DiscountCode, DiscountTerms } from '../../pricing/discount.js';

/**
 * Lifecycle of a discount code. `expired` is an active code after its endTime and is never stored: a later endTime makes
 * it active again. Deleting archives.
 *
 * Invariants: once activated, a discount's size, currency, billing type and cycles never change; its uses that were not
 * rolled back are at most its quantity at the time of each; a user's are at most userLimit.
 */
export const discountLifecycle = machine({
  editable: { edit: 'editable', activate: 'active', delete: 'archived' },
  active: { edit: 'active', deactivate: 'deactivated', expire: 'expired', delete: 'archived' },
  deactivated: { edit: 'deactivated', activate: 'active', delete: 'archived' },
  expired: { edit: 'expired', prolong: 'active', delete: 'archived' },
  archived: {},
});
export type DiscountStatus = StateOf<typeof discountLifecycle>;

/** Plans that a discount names by their properties; a plan has one of the values of each list that is not empty. */
export interface PlanGroup {
  currency: string[];
  groupPlanIntervalSelector: { intervalUnit: string; intervalCount: number }[];
  /** Codes of plan types. */
  type: number[];
}

/** A discount code. Limits of 0 do not limit; times are unix seconds, 0 for none. */
export interface Discount {
  merchantId: number;
  discountId: number;
  code: string;
  /** A template is no code itself; its `code` is the prefix of those generated from it, and its quantity their number. */
  kind: 'code' | 'template';
  /** Codes that were generated from a template. */
  generated: number;
  /** As stored: an expired discount is `active`. See `statusAt`. */
  status: Exclude<DiscountStatus, 'expired'>;
  /** Bound to a subscription, for which it was made; '' for a code that anybody may use. */
  subscriptionId: string;
  name: string;
  billingType: 'onetime' | 'recurring';
  discountType: 'percentage' | 'fixedAmount';
  /** Minor units; 0 for a percentage. */
  amount: bigint;
  /** 10000 is 100 %; 0 for a fixed amount. */
  percentage: number;
  /** Currency of a fixed amount; '' for a percentage. */
  currency: string;
  cycleLimit: number;
  startTime: number;
  endTime: number;
  quantity: number;
  userLimit: number;
  userScope: DiscountCode['userScope'];
  upgradeOnly: boolean;
  upgradeLongerOnly: boolean;
  /** Kept for the merchant, without effect. */
  advance: boolean;
  planApply: DiscountCode['planApply'];
  planIds: number[];
  planGroup: PlanGroup | null;
  metadata: Record<string, unknown>;
  /** Uses that were not rolled back. */
  uses: number;
  createTime: number;
  modifyTime: number;
  deletedTime: number;
  version: number;
}

/** The settings of a discount that its merchant chooses. */
export type DiscountSettings = Omit<
  Discount,
  | ('merchantId' | 'discountId' | 'code' | 'kind' | 'generated' | 'status' | 'subscriptionId' | 'uses')
  | ('createTime' | 'modifyTime' | 'deletedTime' | 'version')
>;

export const defaultSettings: DiscountSettings = {
  name: '',
  billingType: 'onetime',
  discountType: 'percentage',
  amount: 0n,
  percentage: 0,
  currency: '',
  cycleLimit: 0,
  startTime: 0,
  endTime: 0,
  quantity: 0,
  userLimit: 0,
  userScope: 'all',
  upgradeOnly: false,
  upgradeLongerOnly: false,
  advance: false,
  planApply: 'all',
  planIds: [],
  planGroup: null,
  metadata: {},
};

/** The status at a time: an active discount expires at its endTime. */
export const statusAt = ({ status, endTime }: Pick<Discount, 'status' | 'endTime'>, now: number): DiscountStatus =>
  status === 'active' && endTime !== 0 && now >= endTime ? 'expired' : status;

/** Throws Rejected `invalid_parameters` with every setting that does not fit the others. */
function assertSound(settings: DiscountSettings): void {
  const fixed = settings.discountType === 'fixedAmount';
  const listed = settings.planApply === 'listed' || settings.planApply === 'allButListed';
  const grouped = settings.planApply === 'groups' || settings.planApply === 'allButGroups';
  const { startTime, endTime, planGroup } = settings;
  const lists = planGroup ? Object.values(planGroup) : [];
  const rules: [path: string, message: string, broken: boolean][] = [
    ['/discountAmount', 'is required for a fixed amount', fixed && settings.amount === 0n],
    ['/discountAmount', 'cannot be combined with a percentage', !fixed && settings.amount !== 0n],
    ['/currency', 'is required for a fixed amount', fixed && settings.currency === ''],
    ['/discountPercentage', 'is required for a percentage', !fixed && settings.percentage === 0],
    ['/discountPercentage', 'cannot be combined with a fixed amount', fixed && settings.percentage !== 0],
    [
      '/cycleLimit',
      'has no place on a one-time discount',
      settings.billingType === 'onetime' && settings.cycleLimit > 1,
    ],
    ['/endTime', `is not after startTime, which is ${startTime}`, endTime !== 0 && endTime <= startTime],
    ['/planIds', 'is required by planApplyType', listed && settings.planIds.length === 0],
    ['/planApplyGroup', 'is required by planApplyType', grouped && lists.every(list => list.length === 0)],
  ];
  const issues: Issue[] = rules.filter(([, , broken]) => broken).map(([path, message]) => ({ path, message }));
  if (issues.length > 0) throw new Rejected('invalid_parameters', undefined, issues);
}

type Identity = Pick<Discount, 'merchantId' | 'discountId' | 'code' | 'kind' | 'subscriptionId'>;

/** A new discount; one that is bound to a subscription is active from the start. */
export function newDiscount(identity: Identity, settings: DiscountSettings, now: number): Discount {
  assertSound(settings);
  const status = identity.subscriptionId === '' ? 'editable' : 'active';
  const counts = { uses: 0, generated: 0, version: 0 };
  return { ...settings, ...identity, ...counts, status, createTime: now, modifyTime: now, deletedTime: 0 };
}

const frozen = ['billingType', 'discountType', 'amount', 'percentage', 'currency', 'cycleLimit'] as const;

/** Changes settings. Throws Rejected `discount_frozen` for those that an activation froze. */
export function editDiscount(discount: Discount, changes: Partial<DiscountSettings>): Discount {
  const edited = { ...discount, ...changes };
  const differing = frozen.filter(name => edited[name] !== discount[name]);
  if (discount.status !== 'editable' && differing.length > 0) {
    const names = differing.join(', ');
    throw new Rejected('discount_frozen', `Discount ${discount.discountId} has been activated: cannot change ${names}`);
  }
  assertSound(edited);
  return edited;
}

/** Throws Rejected `discount_wrong_state`, for an expired discount too. An active one stays as it is. */
export function activateDiscount(discount: Discount, now: number): Discount {
  if (statusAt(discount, now) === 'active') return discount;
  return { ...discount, status: nextDiscountStatus(discount, 'activate', now) };
}

/** Throws Rejected `discount_wrong_state`. A deactivated discount stays as it is. */
export function deactivateDiscount(discount: Discount, now: number): Discount {
  if (discount.status === 'deactivated') return discount;
  return { ...discount, status: nextDiscountStatus(discount, 'deactivate', now) };
}

export const removeDiscount = (discount: Discount, now: number): Discount => ({
  ...discount,
  status: nextDiscountStatus(discount, 'delete', now),
  deletedTime: now,
});

/** Raises the quantity. Throws Rejected `discount_unlimited` where there is none. */
export function incrementQuantity(discount: Discount, amount: number): Discount {
  const { discountId, quantity } = discount;
  if (quantity === 0) throw new Rejected('discount_unlimited', `Discount ${discountId} has no limit on its uses`);
  if (quantity + amount > LARGEST) throw invalid('/amount', `would raise the quantity above ${LARGEST}`);
  return { ...discount, quantity: quantity + amount };
}
const LARGEST = 1_000_000_000;

function nextDiscountStatus(
  discount: Discount,
  move: 'activate' | 'deactivate' | 'delete',
  now: number,
): Discount['status'] {
  const subject = `Discount ${discount.discountId}`;
  const next = discountLifecycle.step(statusAt(discount, now), move, 'discount_wrong_state', subject);
  if (next === 'expired') throw new Error(`${subject} is never stored as expired`);
  return next;
}

/** The size of a discount, as pricing takes it. */
export const discountTerms = ({ discountType, amount, percentage }: DiscountSettings): DiscountTerms =>
  discountType === 'fixedAmount' ? { kind: 'fixed', amount } : { kind: 'percentage', percentage };

/** Facts of a main plan that decide which discounts fit it. */
export interface DiscountedPlan {
  id: number;
  type: number;
  currency: string;
  intervalUnit: string;
  intervalCount: number;
}

/** The name by which the rules of pricing know the one group that a discount can have. */
const OWN_GROUP = 'own';

/** The groups of a plan, from the view of a discount. */
export const groupsOf = ({ planGroup }: Pick<Discount, 'planGroup'>, plan: DiscountedPlan): string[] =>
  planGroup && isInGroup(planGroup, plan) ? [OWN_GROUP] : [];

function isInGroup({ currency, groupPlanIntervalSelector, type }: PlanGroup, plan: DiscountedPlan): boolean {
  const matches = <T>(list: readonly T[], holds: (one: T) => boolean) => list.length === 0 || list.some(holds);
  return (
    matches(currency, one => one === plan.currency) &&
    matches(type, one => one === plan.type) &&
    matches(
      groupPlanIntervalSelector,
      one => one.intervalUnit === plan.intervalUnit && one.intervalCount === plan.intervalCount,
    )
  );
}

/** A discount as the rules of pricing see it. */
export const discountRule = (discount: Discount): DiscountCode => ({
  code: discount.code,
  active: discount.status === 'active',
  terms: discountTerms(discount),
  currency: discount.currency,
  startTime: discount.startTime,
  endTime: discount.endTime,
  userScope: discount.userScope,
  planApply: discount.planApply,
  planIds: discount.planIds,
  planGroups: [OWN_GROUP],
  upgradeOnly: discount.upgradeOnly,
  upgradeLongerOnly: discount.upgradeLongerOnly,
  userLimit: discount.userLimit,
  quantity: discount.quantity,
});

export type Operation = CodeUse['operation'];
