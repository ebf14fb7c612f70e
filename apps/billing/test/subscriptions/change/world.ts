import {
  createSubscription,
  type In,
  invoiceDetail,
  listCreditNotes,
  markWireTransferSuccess,
  type Plan,
  pendingUpdateDetail,
  planType,
  previewChange,
  type Subscription,
  submitChange,
} from '@recur/contracts';
import { shop } from '../../shop.js';

export const DAY = 86_400;
export type ChangeRequest = Partial<In<typeof submitChange>>;

const month = { intervalUnit: 'month', intervalCount: 1 } as const;

/** Plans of the tests: amounts are in minor units a month. */
export const plans = { small: 10, large: 20, yearly: 30, addon: 11, other: 40, dollars: 50, trial: 60 } as const;

/** A shop whose users have subscriptions that are paid by wire transfer. */
export async function world() {
  const s = await shop();
  const bound = { type: planType.main, bindingAddonIds: String(plans.addon) };
  const knowPlan = (id: number, over: Partial<Plan>) => s.knowPlan(id, { ...month, ...bound, ...over });
  knowPlan(plans.small, { amount: 10_000 });
  knowPlan(plans.large, { amount: 20_000 });
  knowPlan(plans.yearly, { amount: 90_000, intervalUnit: 'year' });
  knowPlan(plans.addon, { amount: 3000, type: planType.recurringAddon, bindingAddonIds: '' });
  knowPlan(plans.other, { amount: 10_000, productId: 7 });
  knowPlan(plans.dollars, { amount: 30_000, currency: 'USD' });
  knowPlan(plans.trial, { amount: 10_000, trialDurationTime: 7 * DAY });
  let user = 1000;
  const receive = (invoiceId: string) => s.t.done(markWireTransferSuccess, { invoiceId, transferNumber: 'T-1' });
  const submitted = async (over: object = {}) => {
    user += 1;
    s.knowUser(user);
    return s.t.done(createSubscription, { planId: plans.small, userId: user, ...over });
  };
  return {
    ...s,
    receive,
    submitted,
    /** A subscription whose first invoice is paid. */
    async paid(over: object = {}): Promise<Subscription> {
      const { subscription, invoiceId } = await submitted(over);
      await receive(invoiceId);
      return subscription;
    },
    async row(subscriptionId: string) {
      const [row] = await s.t.rows('select * from subscriptions where subscription_id = $1', [subscriptionId]);
      return row ?? {};
    },
    periods: (subscriptionId: string) =>
      s.t.rows(
        'select kind, start_at, end_at, state from subscription_periods where subscription_id = $1 order by seq',
        [subscriptionId],
      ),
    change: ({ subscriptionId }: Subscription, over: ChangeRequest) =>
      s.t.done(submitChange, { subscriptionId, newPlanId: plans.large, quantity: 1, ...over }),
    refused: ({ subscriptionId }: { subscriptionId: string }, over: ChangeRequest = {}) =>
      s.t.call(submitChange, { subscriptionId, newPlanId: plans.large, quantity: 1, ...over }),
    preview: ({ subscriptionId }: Subscription, over: Partial<In<typeof previewChange>>) =>
      s.t.done(previewChange, { subscriptionId, newPlanId: plans.large, ...over }),
    update: async (subscriptionPendingUpdateId: string) =>
      (await s.t.done(pendingUpdateDetail, { subscriptionPendingUpdateId })).subscriptionPendingUpdate,
    /** Moves the clock to a part of the present period of a subscription, and does what falls due. */
    async at({ currentPeriodStart: start, currentPeriodEnd: end }: Subscription, part: number) {
      s.clock.advance(start + Math.round((end - start) * part) - s.clock.now());
      await s.t.work.drain();
    },
    linesOf: async (invoiceId: string) =>
      (await s.t.done(invoiceDetail, { invoiceId })).invoice.lines.map(line => line.amountExcludingTax),
    creditNotes: async () => (await s.t.done(listCreditNotes, {})).creditNotes,
    mainCredit: async (userId: number) => {
      const [row] = await s.t.rows(`select balance from credit_accounts where user_id = $1 and type = 'main'`, [
        userId,
      ]);
      return Number(row?.balance ?? 0);
    },
  };
}
export type World = Awaited<ReturnType<typeof world>>;
