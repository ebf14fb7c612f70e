import { type Issue, invalid, machine, Rejected, type StateOf } from '@recur/kernel';
import { idList } from './id-list.js';
import { same } from './same.js';

/**
 * A plan is `editing` until it is activated; price, currency and interval are frozen from then on. Soft-archived it is
 * sold no more and may come back; hard-archived it is gone for good. What was never activated may be deleted: nobody
 * has bought it. To whoever keeps a copy it is gone for good, too.
 */
export const planLifecycle = machine({
  editing: { activate: 'active', delete: 'hardArchived' },
  active: { archive: 'softArchived', archiveHard: 'hardArchived' },
  softArchived: { activate: 'active', archiveHard: 'hardArchived' },
  hardArchived: {},
});
export type PlanStatus = StateOf<typeof planLifecycle>;

/** Whether it is shown to customers; independent of its status. */
export const publishLifecycle = machine({
  unpublished: { publish: 'published' },
  published: { unpublish: 'unpublished' },
});
export type PublishStatus = StateOf<typeof publishLifecycle>;

export type PlanType = 'main' | 'recurringAddon' | 'onetimeAddon';

/** The units of an interval, each with its largest count; the smallest is 1. */
const longest = { day: 365, week: 52, month: 12, year: 1 } as const;
export type IntervalUnit = keyof typeof longest;

/**
 * Money in minor units of `currency`; times in unix seconds. The documents (from `metadata` on) are kept as they came:
 * amounts in them are whole numbers.
 */
export interface Plan {
  id: number;
  merchantId: number;
  /** Counted by the write path, one per event; nothing here changes it. */
  version: number;
  status: PlanStatus;
  publishStatus: PublishStatus;
  type: PlanType;
  /** 0: the default product. */
  productId: number;
  planName: string;
  internalName: string;
  description: string;
  /** The merchant's own id for it; '' for none. */
  externalPlanId: string;
  currency: string;
  /** For one interval; for all of a one-time add-on. */
  amount: bigint;
  /** A price to show struck through; 0 for none. */
  compareAtAmount: bigint;
  /** '' and 0 where it does not recur. */
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
  /** The recurring add-ons that are sold with it. */
  addonIds: number[];
  onetimeAddonIds: number[];
  createTime: number;
  modifyTime: number;
  /** 0 while it is there; a deleted plan is shown to nobody. */
  deletedTime: number;
  metadata: Record<string, unknown>;
  metricLimits: { metricId: number; metricLimit: number }[];
  metricMeteredCharge: MetricCharge[];
  metricRecurringCharge: MetricCharge[];
  multiCurrencies: object[];
  multiTrials: object[];
  /** How it is charged, where not as every plan is. */
  autoChargeConfig: object | null;
  usVatConfig: object | null;
}

/** How the use of a metric is priced. */
export interface MetricCharge {
  metricId: number;
  /** 0 standard: one price for each unit; 1 graduated: by tiers. */
  chargeType: number;
  /** Each unit above standardStartValue. */
  standardAmount: number;
  standardStartValue: number;
  graduatedAmounts: Tier[];
}

/** The units from startValue to endValue cost perAmount each, and flatAmount once they are reached. */
export interface Tier {
  startValue: number;
  /** −1: no end. */
  endValue: number;
  perAmount: number;
  flatAmount: number;
}

const GRADUATED = 1;
const OPEN = -1;

/**
 * Throws Rejected `plan_not_activatable` where the plan cannot be billed as it stands, naming every field at fault:
 * a plan that recurs needs an interval (day 1..365, week 1..52, month 1..12, year 1), and the last tier of a graduated
 * price has to be open (endValue −1), so that any use has a price; those before it end one after the other.
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
 * The plan, active; undefined where it is so already. Its bound add-ons are activated by themselves, beside it.
 * Throws Rejected `plan_not_activatable`: it is hard-archived, or what `checkActivatable` says.
 */
export function activate<P extends Plan>(plan: P, now: number): P | undefined {
  if (plan.status === 'active') return undefined;
  const status = planLifecycle.step(plan.status, 'activate', 'plan_not_activatable', `Plan ${plan.id}`);
  checkActivatable(plan);
  return { ...plan, status, modifyTime: now };
}

/** What an active plan is sold for: whoever bought it keeps it. */
const frozen = ['amount', 'currency', 'intervalUnit', 'intervalCount'] as const;

/**
 * The plan as it is asked for; undefined where it is so already. Throws Rejected `plan_frozen` where that would change
 * price, currency or interval of a plan that was activated, or where the plan is archived for good; and
 * `invalid_parameters` where the interval is longer than its unit allows, or an active plan could not be billed any more.
 */
export function edit<P extends Plan>(plan: P, asked: Partial<P>, now: number): P | undefined {
  const edited = { ...plan, ...asked };
  const changes = plan.status === 'editing' ? [] : frozen.filter(field => edited[field] !== plan[field]);
  if (plan.status === 'hardArchived' || changes.length > 0) {
    const what = changes.length > 0 ? `its ${changes.join(', ')}` : 'it';
    throw new Rejected('plan_frozen', `Plan ${plan.id} is ${plan.status}: cannot edit ${what}`);
  }
  if (same(edited, plan)) return undefined;
  const { intervalUnit: unit, intervalCount }: Plan = edited;
  if (unit !== '' && intervalCount > longest[unit]) {
    throw invalid('/intervalCount', `an interval in ${unit}s counts 1 to ${longest[unit]}`);
  }
  const issues = edited.status === 'active' ? billingIssues(edited) : [];
  if (issues.length > 0) throw new Rejected('invalid_parameters', undefined, issues);
  return { ...edited, modifyTime: now };
}

/**
 * The plan, shown to customers; undefined where it is so already. Throws Rejected `plan_not_active`: what is not sold is
 * not shown.
 */
export function publish<P extends Plan>(plan: P, now: number): P | undefined {
  const publishStatus = publishLifecycle.next(plan.publishStatus, 'publish');
  if (publishStatus && plan.status !== 'active') {
    throw new Rejected('plan_not_active', `Plan ${plan.id} is ${plan.status}: cannot publish it`);
  }
  return publishStatus && { ...plan, publishStatus, modifyTime: now };
}

/** The plan, shown no more; undefined where it is so already. */
export function unpublish<P extends Plan>(plan: P, now: number): P | undefined {
  const publishStatus = publishLifecycle.next(plan.publishStatus, 'unpublish');
  return publishStatus && { ...plan, publishStatus, modifyTime: now };
}

/**
 * The plan, archived; undefined where it is so already. What is not sold is not shown. Throws Rejected
 * `plan_not_archivable`: it was never activated, or is to come back from being archived for good.
 */
export function archive<P extends Plan>(plan: P, hard: boolean, now: number): P | undefined {
  if (plan.status === (hard ? 'hardArchived' : 'softArchived')) return undefined;
  const status = planLifecycle.next(plan.status, hard ? 'archiveHard' : 'archive');
  if (!status) {
    const what = hard ? 'archive it for good' : 'archive it';
    throw new Rejected('plan_not_archivable', `Plan ${plan.id} is ${plan.status}: cannot ${what}`);
  }
  return { ...plan, status, publishStatus: 'unpublished', modifyTime: now };
}

/** The plan, deleted. Throws Rejected `plan_not_deletable`: it was activated, or is an add-on of the plans `buyers`. */
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

/** Why a plan cannot be billed. */
const billingIssues = (plan: Plan): Issue[] => [
  ...(plan.type === 'onetimeAddon' ? [] : intervalIssues(plan)),
  ...chargeIssues('/metricMeteredCharge', plan.metricMeteredCharge),
  ...chargeIssues('/metricRecurringCharge', plan.metricRecurringCharge),
];

function intervalIssues({ intervalUnit, intervalCount }: Plan): Issue[] {
  if (!Object.hasOwn(longest, intervalUnit)) {
    return [{ path: '/intervalUnit', message: `the interval is in ${Object.keys(longest).join(', ')}` }];
  }
  const most = intervalUnit === '' ? 0 : longest[intervalUnit];
  if (Number.isInteger(intervalCount) && intervalCount >= 1 && intervalCount <= most) return [];
  return [{ path: '/intervalCount', message: `an interval in ${intervalUnit}s counts 1 to ${most}` }];
}

function chargeIssues(path: string, charges: readonly MetricCharge[]): Issue[] {
  return charges.flatMap(({ chargeType, graduatedAmounts }, i) => {
    const message = chargeType === GRADUATED && tierFault(graduatedAmounts);
    return message ? [{ path: `${path}/${i}/graduatedAmounts`, message }] : [];
  });
}

function tierFault(tiers: readonly Tier[]): string | undefined {
  if (tiers.at(-1)?.endValue !== OPEN) return 'a graduated price ends in an open tier, endValue -1';
  const ends = tiers.slice(0, -1).map(({ endValue }) => endValue);
  const ascending = ends.every((end, at) => end > (ends[at - 1] ?? OPEN));
  return ascending ? undefined : 'each tier of a graduated price ends after the one before it';
}
