/**
 * The integer codes of the API: name → number on the wire. The names are also the states of lifecycles.
 * The numbers are fixed: existing integrations rely on them.
 */
export type CodeTable = Readonly<Record<string, number>>;

export const productStatus = { active: 1, inactive: 2 } as const;

export const planStatus = { editing: 1, active: 2, softArchived: 4, hardArchived: 5 } as const;
export const publishStatus = { unpublished: 1, published: 2 } as const;
export const planType = { main: 1, recurringAddon: 2, onetimeAddon: 3 } as const;
/** The units of a plan's interval with their largest counts; the smallest is 1. */
export const intervalUnits = { day: 365, week: 52, month: 12, year: 1 } as const;
export type IntervalUnit = keyof typeof intervalUnits;
export const gasPayers = ['merchant', 'user'] as const;
/** Reasons why a discount code cannot be used; '' where it can. */
export const discountProblems = [
  '',
  'unknown',
  'inactive',
  'early',
  'expired',
  'currency',
  'plan',
  'new_customers',
  'existing_customers',
  'upgrades',
  'longer_upgrades',
  'used',
  'used_up',
] as const;
export type DiscountProblem = (typeof discountProblems)[number];
export const trialDemands = ['', 'paymentMethod'] as const;
export const noYes = { no: 0, yes: 1 } as const;

export const subscriptionStatus = {
  init: 0,
  pending: 1,
  active: 2,
  cancelled: 4,
  expired: 5,
  incomplete: 7,
  processing: 8,
  failed: 9,
} as const;
/** The state of a period of a subscription. */
export const subscriptionTimelineStatus = {
  pending: 0,
  processing: 1,
  finished: 2,
  cancelled: 3,
  expired: 4,
  failed: 5,
} as const;
export const onetimeAddonStatus = { created: 1, paid: 2, cancelled: 3, expired: 4 } as const;
export const pendingUpdateStatus = { init: 0, pending: 1, finished: 2, cancelled: 3 } as const;
export const pendingUpdateEffect = { periodEnd: 0, now: 1 } as const;

/** `pending` is a draft, `processing` is open and awaits its payment. */
export const invoiceStatus = {
  init: 0,
  pending: 1,
  processing: 2,
  paid: 3,
  failed: 4,
  cancelled: 5,
  reversed: 6,
} as const;
export const sendStatus = { unsent: 0, sent: 1, unnecessary: 2 } as const;
export const bizType = { onetime: 1, manualInvoice: 2, subscription: 3, creditRecharge: 4 } as const;
export const createFrom = { admin: 'Admin', autoRenew: 'AutoRenew', api: 'Api' } as const;
export const snapshotChargeType = {
  onetime: 0,
  new: 1,
  upgrade: 2,
  downgrade: 3,
  renewal: 4,
  billingCycle: 5,
} as const;

export const paymentStatus = { created: 10, success: 20, failed: 30, cancelled: 40 } as const;
export const authorizeStatus = { waiting: 0, authorised: 1, captureRequested: 2 } as const;
export const timelineType = { payment: 0, refund: 1 } as const;
export const timelineStatus = { pending: 0, success: 1, failed: 2, reversed: 3 } as const;
export const refundStatus = { created: 10, success: 20, failed: 30, cancelled: 40, reversed: 50 } as const;

export const metricType = { limitMetered: 1, chargeMetered: 2, chargeRecurring: 3, limitRecurring: 4 } as const;
export const aggregationType = { count: 1, countUnique: 2, latest: 3, max: 4, sum: 5 } as const;
export const metricChargeType = { standard: 0, graduated: 1 } as const;
/** State of a usage event. */
export const chargeStatus = { open: 0, charged: 1 } as const;
export const quotaTypes = ['carryover', 'manual'] as const;

/** A template is no code itself: codes for a single use each are generated from it. */
export const discountKind = { code: 1, template: 2, generated: 3 } as const;
export const discountStatus = { editable: 1, active: 2, deactivated: 3, expired: 4, archived: 10 } as const;
export const discountBillingType = { onetime: 1, recurring: 2 } as const;
export const discountType = { percentage: 1, fixedAmount: 2 } as const;
export const discountUserScope = { all: 0, newUsers: 1, renewalsOnly: 2 } as const;
export const userDiscountStatus = { used: 1, rolledBack: 2 } as const;
export const discountPlanApplyType = { all: 0, listed: 1, allButListed: 2, groups: 3, allButGroups: 4 } as const;

export const creditAccountType = { main: 1, promo: 2 } as const;
export const creditTransactionType = {
  recharge: 1,
  payout: 2,
  refund: 3,
  withdraw: 4,
  withdrawFailed: 5,
  adminChange: 6,
  rechargeRefunded: 7,
} as const;

export const creditRechargeStatus = { created: 10, success: 20, failed: 30 } as const;

export const gatewayType = {
  card: 1,
  crypto: 2,
  wireTransfer: 3,
  paypal: 4,
  credit: 5,
  alipayPlus: 6,
  external: 8,
} as const;

export const userStatus = { active: 0, suspended: 2 } as const;
export const userType = { individual: 1, business: 2 } as const;
export const userBillingType = { recurring: 1, onetime: 2 } as const;

export const memberStatus = { active: 0, suspended: 2 } as const;
export const totpType = {
  off: 0,
  general: 1,
  microsoft: 2,
  authy: 3,
  onePassword: 4,
  lastPass: 5,
  freeOtp: 6,
  other: 7,
} as const;
export const optAccountType = { member: 0, user: 1, openApi: 2, system: 3 } as const;

/** The codes from here on are recur's own, not inherited from the API family. */
export const endpointStatus = { active: 1, disabled: 2 } as const;
/** The effect of plan/addons_binding on the add-ons sent. */
export const addonsAction = { override: 0, add: 1, remove: 2 } as const;
/** The creator of an endpoint: the merchant, or an automation platform that the merchant authorized. */
export const endpointType = { own: 0, automation: 1 } as const;
export const replayStatus = { running: 1, finished: 2, cancelled: 3, stopped: 4 } as const;
/** pending: queued, or tried and to be tried again; failed: given up. */
export const emailStatus = { pending: 0, sent: 1, failed: 2 } as const;
export const taskType = { download: 0, upload: 1 } as const;
export const taskStatus = { queued: 0, running: 1, done: 2, failed: 3 } as const;
export const connectionStatus = { requested: 1, allowed: 2, connected: 3 } as const;

/** Percentages are integers: this is 100 %. */
export const wholePercent = 10_000;
