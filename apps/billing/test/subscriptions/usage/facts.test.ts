import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { emptyOf, MetricPlanCharge, Plan } from '@recur/contracts';
import { billing } from '../../../src/service.js';
import { MeteredSubscriptions } from '../../../src/usage/metered-subscriptions.js';
import { type Shop, shop } from '../../world/shop.js';

const day = 86_400;
let s: Shop;
beforeAll(async () => {
  s = await shop(billing);
});
afterAll(() => s.t.close());

const charge = (standardAmount: number) => ({ ...emptyOf(MetricPlanCharge), metricId: 3, standardAmount });
const plan = (id: number, over: Partial<Plan> = {}): Plan => ({ ...emptyOf(Plan), id, currency: 'EUR', ...over });

/** Inserts a row with the given columns; the others are empty. */
async function insert(table: string, row: Record<string, unknown>): Promise<void> {
  const columns = await s.t.rows(
    `select column_name as name, data_type as type, column_default as usual from information_schema.columns
     where table_name = $1 and is_nullable = 'NO'`,
    [table],
  );
  const empty: Record<string, unknown> = { text: '', bigint: 0, integer: 0, boolean: false, jsonb: '{}' };
  const own = Object.fromEntries(
    columns.filter(({ usual }) => usual === null).map(({ name, type }) => [name, empty[String(type)]]),
  );
  const whole = { ...own, merchant_id: 15, ...row };
  const marks = Object.keys(whole).map((_, at) => `$${at + 1}`);
  await s.t.rows(
    `insert into ${table} (${Object.keys(whole).join(', ')}) values (${marks.join(', ')})`,
    Object.values(whole),
  );
}

/** A subscription in its second period, whose plan was changed in the middle of it. */
async function subscribed(subscriptionId: string, over: Record<string, unknown> = {}) {
  const now = s.clock.now();
  const [first, second, end] = [now - 20 * day, now - 10 * day, now + 20 * day];
  const snapshot = (id: number, addons: object[] = []) =>
    JSON.stringify({ plan: plan(id, { metricMeteredCharge: [charge(id)] }), addons });
  const addon = { addonPlan: plan(9, { metricLimits: [{ metricId: 4, metricLimit: 50 }] }), quantity: 3 };
  await insert('subscriptions', {
    subscription_id: subscriptionId,
    id: now,
    user_id: 70,
    product_id: now,
    currency: 'EUR',
    status: 'active',
    quantity: 2,

    current_period_start: second,
    current_period_end: end,
    first_paid_time: first,
    time_zone: 'UTC',
    previous_status: 'active',
    plan_snapshot: snapshot(2, [addon]),
    items: '[]',
    ...over,
  });
  const period = (seq: number, start_at: number, end_at: number, state: string) =>
    insert('subscription_periods', {
      subscription_id: subscriptionId,
      user_id: 70,
      seq,
      start_at,
      end_at,
      state,
      kind: 'cycle',
    });
  await period(1, first, second, 'paid');
  await period(2, second, now - day, 'paid');
  await period(3, now - day, end, 'paid');
  await period(4, end, end + 30 * day, 'open');
  await insert('subscription_pending_updates', {
    pending_update_id: `pu_${subscriptionId}`,
    subscription_id: subscriptionId,
    user_id: 70,
    status: 'finished',
    effect_time: now - day,
    proration_date: now - day,
    quantity: 1,
    plan_snapshot: snapshot(1),
    currency: 'EUR',
    items: '[]',
    update_snapshot: '{}',
    update_items: '[]',
    terms: '{}',
    kind: 'upgrade',
  });
  return { now, first, second, end };
}

const facts = () => s.t.app.get(MeteredSubscriptions);
const ofUser = () => s.t.db.read(s.t.callerOf(), reader => facts().ofUsers(reader, [70]));

it('a period is whole however often it was changed, and its segments have the terms of their time', async () => {
  const { now, first, second, end } = await subscribed('sub_facts1');
  const [subscription, ...more] = await ofUser();
  expect(more).toEqual([]);
  expect(subscription).toMatchObject({
    subscriptionId: 'sub_facts1',
    userId: 70,
    currency: 'EUR',
    start: first,
    end: 0,
    takesUntil: 0,
    lateUsage: 'next',
    periods: [
      { start: first, end: second, state: 'invoiced', segments: [{ terms: [{ planId: 1, quantity: 1 }] }] },
      {
        start: second,
        end,
        state: 'open',
        segments: [
          { start: second, end: now - day, terms: [{ planId: 1, charges: [{ standardAmount: 1 }] }] },
          {
            start: now - day,
            end,
            terms: [
              { planId: 2, quantity: 2, charges: [{ standardAmount: 2 }] },
              { planId: 9, quantity: 3, limits: [{ metricId: 4, metricLimit: 50 }] },
            ],
          },
        ],
      },
    ],
  });
  const shown = await s.t.db.read(s.t.callerOf(), reader => facts().shown(reader, 'sub_facts1'));
  expect(shown).toMatchObject({ plan: { id: 2 }, addons: [{ quantity: 3 }], isPaid: true });
});

it('one that ended did so when it was cancelled; another currency has its own unit prices', async () => {
  await s.t.rows(`delete from subscriptions`);
  const now = s.clock.now();
  const foreign = plan(2, {
    metricMeteredCharge: [charge(999)],
    multiCurrencies: [
      { amount: 0, exchangeRate: 149.5, fixedAmount: 0, autoExchange: false, disable: false, currency: 'JPY' },
    ],
  });
  const snapshot = JSON.stringify({ plan: foreign, addons: [] });
  const ended = { status: 'cancelled', cancel_time: now - 60, currency: 'JPY', plan_snapshot: snapshot };
  await subscribed('sub_facts2', ended);
  const [subscription] = await ofUser();
  expect(subscription).toMatchObject({ end: now - 60 });
  expect(subscription?.periods.at(-1)?.segments.at(-1)?.terms[0]?.charges[0]?.standardAmount).toBe(1494);
  const none = await s.t.db.read(s.t.callerOf(), reader => facts().ofSubscription(reader, 'sub_none'));
  expect(none).toBeUndefined();
});
