import { emptyOf, Plan, type PlanPriceChange, planStatus, planType, subscriptionDetail } from '@recur/contracts';
import { subscribers } from './clock.js';

type Known = Partial<Plan>;

/** A merchant on the test clock whose plans change their prices: events of catalog, as it sends them. */
export async function pricing(env: Record<string, string> = {}) {
  const subs = await subscribers(undefined, env);
  const { t, merchant } = subs;
  const known = new Map<number, Known>();
  const versions = new Map<number, number>();
  const plan = (over: Known = {}): number => {
    const id = subs.plan({ planName: 'Pro', ...over });
    known.set(id, {
      amount: 1000,
      intervalUnit: 'month',
      intervalCount: 1,
      type: planType.main,
      planName: 'Pro',
      ...over,
    });
    return id;
  };
  /** The plan at a new price, as catalog has it and tells of it. */
  const change = async (planId: number, newAmount: number): Promise<PlanPriceChange> => {
    const before = known.get(planId) ?? {};
    const no = (before.priceChange?.no ?? 0) + 1;
    const createTime = 0;
    const priceChange = { no, oldAmount: before.amount ?? 0, newAmount, reason: 'Costs', createTime };
    const data = { ...before, amount: newAmount, priceChange };
    known.set(planId, data);
    subs.knowPlan(planId, data, merchant.merchantId);
    await tell(planId, data);
    return priceChange;
  };
  const tell = async (planId: number, data: Known) => {
    const version = (versions.get(planId) ?? 1) + 1;
    versions.set(planId, version);
    const whole = { ...emptyOf(Plan), currency: 'EUR', status: planStatus.active, ...data };
    const actor = { kind: 'key', id: 'key', display: 'key_...test' } as const;
    const of = { merchantId: merchant.merchantId, aggregate: 'plan', aggregateId: String(planId), actor };
    await t.deliver('catalog', [
      {
        ...of,
        id: `ev_${merchant.merchantId}_${planId}_${version}`,
        type: 'plan.price_changed',
        version,
        at: 0,
        requestId: 'r',
        traceparent: '',
        data: { ...whole, id: planId, merchantId: merchant.merchantId },
      },
    ]);
  };
  const shownOf = async (subscriptionId: string) =>
    (await t.done(subscriptionDetail, { subscriptionId }, merchant)).subscription;
  return {
    ...subs,
    plan,
    change,
    shownOf,
    /** The plan as catalog has it, with a change of it that no event has told of. */
    knowQuietly: (planId: number, over: Known) => {
      const data = { ...known.get(planId), ...over };
      known.set(planId, data);
      subs.knowPlan(planId, data, merchant.merchantId);
    },
    /** Lines of the invoices of a subscription, in order: start of the period, net, description. */
    lines: async (subscriptionId: string) =>
      (
        await t.rows(
          `select i.period_start, l.amount_excluding_tax, l.description, l.inputs from invoices i
           join invoice_lines l using (merchant_id, invoice_id)
           where i.subscription_id = $1 and i.status <> 'cancelled' order by i.id, l.line_no`,
          [subscriptionId],
        )
      ).map(row => [
        new Date(Number(row.period_start) * 1000).toISOString().slice(0, 10),
        Number(row.amount_excluding_tax),
        String(row.description),
      ]),
  };
}
export type Pricing = Awaited<ReturnType<typeof pricing>>;
