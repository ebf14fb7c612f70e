import { type PlanSnapshot, pendingUpdateEffect } from '@recur/contracts';
import { document, encoded, flag, int, integer, money, table, text } from '@recur/platform';
import type { ServicePeriod } from '../pricing/proration.js';
import { type Update, withDeferredChange } from './domain/apply-change.js';
import type { ChangeDecision } from './domain/changes.js';
import type { StoredItem } from './domain/items.js';
import type { PendingItem } from './domain/pending-items.js';
import type { BoundDiscount, Subscription } from './domain/subscription.js';

/** Terms that a change takes over when it takes effect, besides what it sells. */
export interface UpdateTerms {
  /** The period that starts with it. */
  newPeriod?: ServicePeriod;
  discount: BoundDiscount | null;
  gatewayId: number;
  /** The method that is charged from then on; absent for the one before. */
  paymentMethodId?: string;
  manualPayment: boolean;
  taxPercentage: number;
  /** VAT number and country that are the buyer's from then on; absent for those before. */
  vatNumber?: string;
  countryCode?: string;
  /** Unbilled lines of the subscription that its invoice sets off. */
  carried?: readonly PendingItem[];
  /** The content of the submit: an equal one is answered with this change. */
  asked?: string;
}

/** The discount of a submit by now: a code that waited then may have reduced an invoice since. */
export const chosenByNow = (chosen: BoundDiscount | null, now: BoundDiscount | null): BoundDiscount | null =>
  chosen && chosen.waitingUseId > 0 && chosen.waitingUseId !== now?.waitingUseId ? null : chosen;

export const updateTermsOf = ({ terms }: Pick<PendingUpdate, 'terms'>): UpdateTerms => terms as unknown as UpdateTerms;

/** A change of the period after the current one, with the terms that it takes over. */
export type DeferredUpdate = Update & Pick<PendingUpdate, 'terms'>;

/** The subscription with its deferred change, at the end of its current period. */
export function afterDeferred(sub: Subscription, update: DeferredUpdate): Subscription {
  const { discount, manualPayment } = updateTermsOf(update);
  return {
    ...withDeferredChange(sub, update),
    discount,
    ...taxedAfter(sub, update),
    ...meansAfter(sub, update),
    manualPayment: manualPayment || sub.manualPayment,
  };
}

/** The percentage, VAT number and country with which a subscription is taxed after a change. */
export function taxedAfter(sub: Subscription, update: Pick<PendingUpdate, 'terms'>) {
  const { taxPercentage, vatNumber = sub.vatNumber, countryCode = sub.countryCode } = updateTermsOf(update);
  return { taxPercentage, vatNumber, countryCode };
}

/** The gateway and method by which a subscription is charged after a change: a method belongs to its gateway. */
export function meansAfter(sub: Subscription, update: Pick<PendingUpdate, 'terms'>) {
  const { gatewayId: chosen, paymentMethodId = '' } = updateTermsOf(update);
  const gatewayId = chosen || sub.gatewayId;
  const before = gatewayId === sub.gatewayId ? sub.paymentMethodId : '';
  return { gatewayId, paymentMethodId: paymentMethodId || before };
}

/** A change that was submitted. Times are unix seconds, money minor units. */
export interface PendingUpdate extends Update {
  merchantId: number;
  /** `subup_…` */
  pendingUpdateId: string;
  version: number;
  subscriptionId: string;
  userId: number;
  status: 'init' | 'pending' | 'finished' | 'cancelled';
  kind: 'upgrade' | 'downgrade';
  effect: ChangeDecision['effect'];
  effectTime: number;
  prorationDate: number;
  planId: number;
  quantity: number;
  amount: bigint;
  currency: string;
  planSnapshot: PlanSnapshot;
  items: StoredItem[];
  prorationAmount: bigint;
  paid: boolean;
  invoiceId: string;
  link: string;
  gatewayId: number;
  name: string;
  note: string;
  /** The member who submitted it; 0 for none. */
  memberId: number;
  memberEmail: string;
  /** Other terms that come into force with it. */
  terms: Record<string, unknown>;
  metadata: Record<string, unknown>;
  createTime: number;
  modifyTime: number;
}

export const pendingUpdates = table<PendingUpdate>('subscription_pending_updates', {
  key: ['merchantId', 'pendingUpdateId'],
  columns: {
    merchantId: integer(),
    pendingUpdateId: text(),
    version: int(),
    subscriptionId: text(),
    userId: integer(),
    status: text<PendingUpdate['status']>(),
    kind: text<PendingUpdate['kind']>(),
    effect: encoded(int(), 'effect_immediate', {
      decode: code => (code === pendingUpdateEffect.now ? 'now' : 'periodEnd'),
      encode: effect => pendingUpdateEffect[effect],
    }),
    effectTime: integer(),
    prorationDate: integer(),
    planId: integer(),
    quantity: int(),
    amount: money(),
    currency: text(),
    planSnapshot: document<PlanSnapshot>(),
    items: document<StoredItem[]>(),
    updatePlanId: integer(),
    updateQuantity: int(),
    updateAmount: money(),
    updateCurrency: text(),
    updateSnapshot: document<PlanSnapshot>(),
    updateItems: document<StoredItem[]>(),
    prorationAmount: money(),
    paid: flag(),
    invoiceId: text(),
    link: text(),
    gatewayId: integer(),
    name: text(),
    note: text(),
    memberId: integer(),
    memberEmail: text(),
    terms: document<Record<string, unknown>>(),
    metadata: document<Record<string, unknown>>(),
    createTime: integer(),
    modifyTime: integer(),
  },
  checks: {
    subscription_pending_updates_status: `status in ('init', 'pending', 'finished', 'cancelled')`,
  },
  indices: {
    subscription_pending_updates_one: {
      on: ['merchantId', 'subscriptionId'],
      unique: true,
      where: `status in ('init', 'pending')`,
    },
    subscription_pending_updates_made: {
      on: ['merchantId', 'effectTime', 'subscriptionId'],
      where: `status = 'finished' and effect_immediate = 1`,
    },
    subscription_pending_updates_user: {
      on: ['merchantId', 'userId', 'effectTime', 'subscriptionId'],
      where: `status = 'finished' and effect_immediate = 1`,
    },
    subscription_pending_updates_newest: { on: ['merchantId', 'subscriptionId', 'createTime', 'pendingUpdateId'] },
  },
});
