import { isDeepStrictEqual } from 'node:util';
import { type Issue, invalid, machine, Rejected, type StateOf } from '@recur/kernel';
import { idList } from '../../domain/id-list.js';

/**
 * A plan is `editing` until its first activation, which freezes price, currency and interval. A soft-archived plan is
 * not sold but may be activated again; hard-archiving is final. A plan that was never activated has no buyers and may be
 * deleted; copies in other services then see it as hard-archived.
 */
export const planLifecycle = machine({
  editing: { activate: 'active', delete: 'hardArchived' },
  active: { archive: 'softArchived', archiveHard: 'hardArchived' },
  softArchived: { activate: 'active', archiveHard: 'hardArchived' },
  hardArchived: {},
});
export type PlanStatus = StateOf<typeof planLifecycle>;

/** Visibility to customers, independent of the status. */
export const publishLifecycle = machine({
  unpublished: { publish: 'published' },
  published: { unpublish: 'unpublished' },
});
export type PublishStatus = StateOf<typeof publishLifecycle>;

export type PlanType = 'main' | 'recurringAddon' | 'onetimeAddon';

/** Interval units with their largest count; the smallest is 1. */
const longest = { day: 365, week: 52, month: 12, year: 1 } as const;
export type IntervalUnit = keyof typeof longest;

/**
 * Money in minor units of `currency`; times in unix seconds. The documents (from `metadata` on) are stored as they were
 * sent; amounts in them are integers.
 */
export interface Plan {
  id: number;
  merchantId: number;
  /** Incremented by the write path with each event. */
  version: number;
  status: PlanStatus;
  publishStatus: PublishStatus;
  type: PlanType;
  /** 0 for the default product. */
  productId: number;
  planName: string;
  internalName: string;
  description: string;
  /** The merchant's own id for the plan; '' for none. */
  externalPlanId: string;
  currency: string;
  /** Price of one interval, or of a one-time add-on. */
  amount: bigint;
  /** Price shown struck through; 0 for none. */
  compareAtAmount: bigint;
  /** '' with count 0 when the plan does not recur. */
  intervalUnit: IntervalUnit | '';
  intervalCount: number;
  trialAmount: bigint;
  trialDurationSeconds: number;
  trialDemand: '' | 'paymentMethod';
  cancelAtTrialEnd: boolean;
  disableAutoCharge: boolean;
  gasPayer: 'merchant' | 'user';
  homeUrl: string;
  imageUrl: string;
  checkoutTemplateId: number;
  autoUpgradePlanId: number;
  /** Recurring add-ons sold with the plan. */
  addonIds: number[];
  onetimeAddonIds: number[];
  createTime: number;
  modifyTime: number;
  /** 0 unless deleted; a deleted plan is never shown. */
  deletedTime: number;
  metadata: Record<string, unknown>;
  metricLimits: { metricId: number; metricLimit: number }[];
  metricMeteredCharge: MetricCharge[];
  metricRecurringCharge: MetricCharge[];
  multiCurrencies: object[];
  multiTrials: object[];
  /** Overrides of the merchant's charging rules. */
  autoChargeConfig: object | null;
  usVatConfig: object | null;
  /** The last price change since its activation. */
  priceChange: PriceChange | null;
}

/** A price change of an active plan; amounts are integers. */
export interface PriceChange {
  /** From 1. */
  no: number;
  oldAmount: number;
  newAmount: number;
  reason: string;
  createTime: number;
}

/** Price of a metric's usage. */
export interface MetricCharge {
  metricId: number;
  /** 0 standard: one price per unit; 1 graduated: by tiers. */
  chargeType: number;
  /** Price of each unit above `standardStartValue`. */
  standardAmount: number;
  /** Decimal of minor units that goes before the integer; '' for none, absent in older plans. */
  standardAmountDecimal?: string;
  standardStartValue: number;
  graduatedAmounts: Tier[];
}

/** Units from `startValue` to `endValue` cost `perAmount` each, plus `flatAmount` once the tier is reached. */
export interface Tier {
  startValue: number;
  /** −1 for the open tier. */
  endValue: number;
  perAmount: number;
  perAmountDecimal?: string;
  flatAmount: number;
}

const GRADUATED = 1;
const OPEN = -1;

/**
 * Throws Rejected `plan_not_activatable`, naming every field at fault, for a plan that cannot be billed: a recurring plan
 * needs an interval (day 1..365, week 1..52, month 1..12, year 1); the last tier of a graduated price must be open
 * (endValue −1), so that any usage has a price, and the tiers before it must end in ascending order.
 */
export function checkActivatable(plan: Plan): void {
  const issues = billingIssues(plan);
  if (issues.length === 0) return;
  const why = issues.map(issue => issue.message).join('; ');
  throw new Rejected(
    'plan_not_activatable',
    `Plan ${plan.id} is ${plan.status}: cannot activate it before its fields are set right: ${why}`,
    issues,
  );
}

/**
 * Activates a plan; undefined when it is active already. The caller activates its recurring add-ons with it.
 * Throws Rejected `plan_not_activatable` for a hard-archived plan and as `checkActivatable` does.
 */
export function activate<P extends Plan>(plan: P, now: number): P | undefined {
  if (plan.status === 'active') return undefined;
  const status = planLifecycle.step(plan.status, 'activate', 'plan_not_activatable', `Plan ${plan.id}`);
  checkActivatable(plan);
  return { ...plan, status, modifyTime: now };
}

/** Terms of sale, fixed by the first activation: subscribers keep them. The amount has a command of its own. */
const frozen = ['amount', 'currency', 'intervalUnit', 'intervalCount'] as const;

/**
 * Edits a plan; undefined when nothing changes. Throws Rejected `plan_frozen` when price, currency or interval of a plan
 * that was activated would change or the plan is hard-archived, and `invalid_parameters` when the interval is too long
 * for its unit or an active plan could no longer be billed.
 */
export function edit<P extends Plan>(plan: P, asked: Partial<P>, now: number): P | undefined {
  const edited = { ...plan, ...asked };
  const changes = plan.status === 'editing' ? [] : frozen.filter(field => edited[field] !== plan[field]);
  if (plan.status === 'hardArchived' || changes.length > 0) {
    const what = changes.length > 0 ? `its ${changes.join(', ')}` : 'it';
    throw new Rejected('plan_frozen', `Plan ${plan.id} is ${plan.status}: cannot edit ${what}`);
  }
  if (isDeepStrictEqual(edited, plan)) return undefined;
  const { intervalUnit: unit, intervalCount }: Plan = edited;
  if (unit !== '' && intervalCount > longest[unit]) {
    throw invalid('/intervalCount', `must be 1 to ${longest[unit]} for an interval in ${unit}s`);
  }
  const issues = edited.status === 'active' ? billingIssues(edited) : [];
  if (issues.length > 0) throw new Rejected('invalid_parameters', undefined, issues);
  return { ...edited, modifyTime: now };
}

/**
 * Throws Rejected unless the price of a plan may become `newAmount`: `plan_not_active`, or `invalid_parameters` for a
 * one-time add-on, which no subscription runs on, and for an amount that it has already.
 */
export function checkPriceChange(plan: Plan, newAmount: number): void {
  if (plan.status !== 'active') {
    throw new Rejected('plan_not_active', `Plan ${plan.id} is ${plan.status}: cannot change its price`);
  }
  if (plan.type === 'onetimeAddon') throw invalid('/planId', 'names a one-time add-on: no subscription runs on it');
  if (BigInt(newAmount) === plan.amount) throw invalid('/newAmount', `is the amount of plan ${plan.id} already`);
}

/** The plan at a new price. Throws what `checkPriceChange` does, and for another present amount than `confirmOldAmount`. */
export function changePrice<P extends Plan>(
  plan: P,
  { newAmount, confirmOldAmount, reason }: { newAmount: number; confirmOldAmount: number; reason: string },
  now: number,
): P & { priceChange: PriceChange } {
  if (plan.status === 'active' && BigInt(confirmOldAmount) !== plan.amount) {
    throw invalid('/confirmOldAmount', `is ${confirmOldAmount}: the amount of plan ${plan.id} is ${plan.amount}`);
  }
  checkPriceChange(plan, newAmount);
  const no = (plan.priceChange?.no ?? 0) + 1;
  const priceChange = { no, oldAmount: Number(plan.amount), newAmount, reason, createTime: now };
  return { ...plan, amount: BigInt(newAmount), priceChange, modifyTime: now };
}

/**
 * Shows a plan to customers; undefined when it is published already. Throws Rejected `plan_not_active`: only a plan that
 * is sold is shown.
 */
export function publish<P extends Plan>(plan: P, now: number): P | undefined {
  const publishStatus = publishLifecycle.next(plan.publishStatus, 'publish');
  if (publishStatus && plan.status !== 'active') {
    throw new Rejected('plan_not_active', `Plan ${plan.id} is ${plan.status}: cannot publish it`);
  }
  return publishStatus && { ...plan, publishStatus, modifyTime: now };
}

/** Hides a plan from customers; undefined when it is unpublished already. */
export function unpublish<P extends Plan>(plan: P, now: number): P | undefined {
  const publishStatus = publishLifecycle.next(plan.publishStatus, 'unpublish');
  return publishStatus && { ...plan, publishStatus, modifyTime: now };
}

/**
 * Archives and unpublishes a plan; undefined when it is archived already. Throws Rejected `plan_not_archivable` for a plan
 * that was never activated, and for a hard-archived one that would become soft-archived.
 */
export function archive<P extends Plan>(plan: P, hard: boolean, now: number): P | undefined {
  if (plan.status === (hard ? 'hardArchived' : 'softArchived')) return undefined;
  const status = planLifecycle.next(plan.status, hard ? 'archiveHard' : 'archive');
  if (!status) {
    const what = hard ? 'hard-archive it' : 'archive it';
    throw new Rejected('plan_not_archivable', `Plan ${plan.id} is ${plan.status}: cannot ${what}`);
  }
  return { ...plan, status, publishStatus: 'unpublished', modifyTime: now };
}

/** Deletes a plan. Throws Rejected `plan_not_deletable` when it was activated, or is an add-on of the plans `buyers`. */
export function remove<P extends Plan>(plan: P, buyers: readonly number[], now: number): P {
  const status = planLifecycle.step(plan.status, 'delete', 'plan_not_deletable', `Plan ${plan.id}`);
  if (buyers.length > 0) {
    throw new Rejected(
      'plan_not_deletable',
      `Plan ${plan.id} is an add-on of plan ${idList(buyers)}: cannot delete it`,
    );
  }
  return { ...plan, status, modifyTime: now, deletedTime: now };
}

/** Reasons why a plan cannot be billed. */
const billingIssues = (plan: Plan): Issue[] => [
  ...(plan.type === 'onetimeAddon' ? [] : intervalIssues(plan)),
  ...chargeIssues('/metricMeteredCharge', plan.metricMeteredCharge),
  ...chargeIssues('/metricRecurringCharge', plan.metricRecurringCharge),
];

function intervalIssues({ intervalUnit, intervalCount }: Plan): Issue[] {
  if (!Object.hasOwn(longest, intervalUnit)) {
    return [{ path: '/intervalUnit', message: `intervalUnit must be one of ${Object.keys(longest).join(', ')}` }];
  }
  const most = intervalUnit === '' ? 0 : longest[intervalUnit];
  if (Number.isInteger(intervalCount) && intervalCount >= 1 && intervalCount <= most) return [];
  return [
    { path: '/intervalCount', message: `intervalCount must be 1 to ${most} for an interval in ${intervalUnit}s` },
  ];
}

function chargeIssues(path: string, charges: readonly MetricCharge[]): Issue[] {
  return charges.flatMap(({ chargeType, graduatedAmounts }, i) => {
    const message = chargeType === GRADUATED && tierFault(graduatedAmounts);
    return message ? [{ path: `${path}/${i}/graduatedAmounts`, message }] : [];
  });
}

function tierFault(tiers: readonly Tier[]): string | undefined {
  if (tiers.at(-1)?.endValue !== OPEN) return 'the last tier of a graduated price must be open (endValue -1)';
  const ends = tiers.slice(0, -1).map(({ endValue }) => endValue);
  const ascending = ends.every((end, at) => end > (ends[at - 1] ?? OPEN));
  return ascending ? undefined : 'each tier of a graduated price must end after the one before it';
}
