import {
  createSubscription,
  discountBillingType,
  type In,
  invoiceDetail,
  listCreditNotes,
  type newDiscount,
  type Plan,
  pendingUpdateDetail,
  planType,
  previewChange,
  type Subscription,
  submitChange,
  subscriptionDetail,
} from '@recur/contracts';
import { activeCode, shop } from './shop.js';

type CreateRequest = Partial<In<typeof createSubscription>>;
export type ChangeRequest = Partial<In<typeof submitChange>>;

export const DAY = 86_400;
export const plans = { small: 10, large: 20, yearly: 30, addon: 11, other: 40, dollars: 50, trial: 60 } as const;

/** A shop whose users have subscriptions, paid by wire transfer unless told. Prices are minor units a month. */
export async function world(prices = { small: 3000, large: 6000, addon: 500 }) {
  const s = await shop();
  const { t } = s;
  const sold = { type: planType.main, intervalUnit: 'month', intervalCount: 1, bindingAddonIds: String(plans.addon) };
  const knowPlan = (id: number, over: Partial<Plan>) => s.knowPlan(id, { ...sold, ...over });
  knowPlan(plans.small, { amount: prices.small });
  knowPlan(plans.large, { amount: prices.large });
  const addon = { type: planType.recurringAddon, planName: 'Seats', bindingAddonIds: '' };
  knowPlan(plans.addon, { amount: prices.addon, ...addon });
  knowPlan(plans.yearly, { amount: 9 * prices.small, intervalUnit: 'year' });
  knowPlan(plans.other, { amount: prices.small, productId: 7 });
  knowPlan(plans.dollars, { amount: 3 * prices.small, currency: 'USD' });
  knowPlan(plans.trial, { amount: prices.small, trialDurationTime: 7 * DAY });
  const create = (over: CreateRequest = {}) =>
    t.done(createSubscription, { planId: plans.small, userId: over.userId ?? s.newUser(), ...over });
  const shown = (subscriptionId: string) => t.done(subscriptionDetail, { subscriptionId });
  return {
    ...s,
    /** Submits a subscription, of a new user unless told. */
    create,
    /** A subscription as it is shown, with its plan, its user and its change to come. */
    shown,
    statusOf: async (subscriptionId: string) => (await shown(subscriptionId)).subscription.status,
    /** An active subscription, of a new user unless told, whose first invoice is paid. */
    async active(over: CreateRequest = {}): Promise<Subscription> {
      const { invoiceId, subscription } = await create(over);
      if (invoiceId) await s.receive(invoiceId);
      return (await shown(subscription.subscriptionId)).subscription;
    },
    /** An active code of 10 % in each period, or of other settings. */
    code: (code: string, settings: Partial<In<typeof newDiscount>> = {}) =>
      activeCode(t, code, { billingType: discountBillingType.recurring, ...settings }),
    async row(subscriptionId: string) {
      const [row] = await t.rows('select * from subscriptions where subscription_id = $1', [subscriptionId]);
      return row ?? {};
    },
    periods: (subscriptionId: string) =>
      t.rows('select kind, start_at, end_at, state from subscription_periods where subscription_id = $1 order by seq', [
        subscriptionId,
      ]),
    change: ({ subscriptionId }: Subscription, over: ChangeRequest) =>
      t.done(submitChange, { subscriptionId, newPlanId: plans.large, quantity: 1, ...over }),
    /** The answer to a change that may be refused. */
    tryChange: ({ subscriptionId }: Pick<Subscription, 'subscriptionId'>, over: ChangeRequest = {}) =>
      t.call(submitChange, { subscriptionId, newPlanId: plans.large, quantity: 1, ...over }),
    preview: ({ subscriptionId }: Subscription, over: Partial<In<typeof previewChange>>) =>
      t.done(previewChange, { subscriptionId, newPlanId: plans.large, ...over }),
    update: async (subscriptionPendingUpdateId: string) =>
      (await t.done(pendingUpdateDetail, { subscriptionPendingUpdateId })).subscriptionPendingUpdate,
    /** Moves the clock to a part of the present period of a subscription, and does what falls due. */
    async at({ currentPeriodStart: start, currentPeriodEnd: end }: Subscription, part: number) {
      s.clock.advance(start + Math.round((end - start) * part) - s.clock.now());
      await s.drain();
    },
    linesOf: async (invoiceId: string) =>
      (await t.done(invoiceDetail, { invoiceId })).invoice.lines.map(line => line.amountExcludingTax),
    creditNotes: async () => (await t.done(listCreditNotes, {})).creditNotes,
  };
}
export type World = Awaited<ReturnType<typeof world>>;

/** Prices of which parts are whole. */
export const roundPrices = { small: 10_000, large: 20_000, addon: 3_000 };
