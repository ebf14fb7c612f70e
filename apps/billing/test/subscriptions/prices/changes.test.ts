import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  emptyOf,
  MultiCurrencyConfig,
  PlanAutoChargeConfig,
  planType,
  priceChangeCounts,
  submitChange,
} from '@recur/contracts';
import { utc } from '../../world/clock.js';
import { type Pricing, pricing } from '../../world/prices.js';

let p: Pricing;
beforeAll(async () => {
  p = await pricing();
});
afterAll(() => p.t.close());
beforeEach(() => p.anew('2026-02-01'));

const netsOf = async (id: string) => (await p.lines(id)).map(([, net]) => net);
const submit = (subscriptionId: string, newPlanId: number, over: object = {}) =>
  p.t.done(submitChange, { subscriptionId, newPlanId, quantity: 1, ...over }, p.merchant);
const counted = async (input: object): Promise<unknown> => {
  const asked = { planId: 0, isAddon: false, currency: 'EUR', newAmount: 0, ...input };
  const { bytes } = await p.t.server.dispatch(
    priceChangeCounts.name,
    JSON.stringify(asked),
    p.t.callerOf(p.merchant) as never,
  );
  return JSON.parse(Buffer.from(bytes as Uint8Array).toString());
};

describe('the walk over the subscriptions of a plan', () => {
  it('changes nothing where it comes again', async () => {
    const planId = p.plan();
    const { id } = await p.subscribe({ userId: await p.userWithCard(), planId });
    await p.change(planId, 1200);
    await p.drain();
    const before = await p.t.rows('select version, price_changes from subscriptions where subscription_id = $1', [id]);
    expect(before[0]?.price_changes).toHaveLength(1);
    // the second round
    await p.to('2026-02-01T01:00');
    const after = await p.t.rows('select version, price_changes from subscriptions where subscription_id = $1', [id]);
    expect(after).toEqual(before);
    expect(await p.t.rows(`select 1 from due_work where kind = 'plan.price_change'`)).toEqual([]);
  });

  it('comes a second time for an order that was priced before and saved after it', async () => {
    const planId = p.plan();
    const { id } = await p.subscribe({ userId: await p.userWithCard(), planId });
    const sold = `select plan_snapshot, items, amount from subscriptions where subscription_id = $1`;
    const [old] = await p.t.rows(sold, [id]);
    await p.change(planId, 1200);
    await p.drain();
    await p.t.rows(`update subscriptions set price_changes = '[]', plan_snapshot = $2 where subscription_id = $1`, [
      id,
      old?.plan_snapshot,
    ]);
    await p.to('2026-04-02');
    expect(await netsOf(id)).toEqual([1000, 1000, 1200]);
  });

  it('goes through all of them in pieces, ended ones left out', async () => {
    const planId = p.plan();
    const { id } = await p.subscribe({ userId: await p.userWithCard(), planId });
    await p.t.rows(
      `insert into subscriptions select (jsonb_populate_record(s, jsonb_build_object('subscription_id', 'sub_copy' || n,
         'id', 100000 + n, 'user_id', 100000 + n, 'status', case when n > 410 then 'expired' else 'active' end))).*
       from subscriptions s, generate_series(1, 420) n where s.subscription_id = $1`,
      [id],
    );
    await p.change(planId, 1200);
    await p.drain();
    const planned = `select status, count(*)::integer as count from subscriptions
      where plan_id = $1 and price_changes <> '[]' group by status`;
    expect(await p.t.rows(planned, [planId])).toEqual([{ status: 'active', count: 411 }]);
    expect(await counted({ planId, newAmount: 1200 })).toEqual({
      activeAffectedSubscriptions: 411,
      totalAffectedSubscriptions: 411,
    });
    expect(await counted({ planId, newAmount: 1000 })).toMatchObject({ totalAffectedSubscriptions: 0 });
    await p.t.rows(`delete from subscriptions where subscription_id like 'sub_copy%'`);
    await p.t.rows(`delete from due_work where key like 'sub_copy%'`);
  });
});

describe('a change of a subscription', () => {
  it('in the same plan takes the new amount at once, and nothing is announced', async () => {
    const planId = p.plan();
    const { id } = await p.subscribe({ userId: await p.userWithCard(), planId });
    await p.change(planId, 1200);
    await p.to('2026-02-15');
    await submit(id, planId, { quantity: 2 });
    await p.to('2026-02-15T01:00');
    expect(await p.shownOf(id)).toMatchObject({ amount: 2400, quantity: 2, priceChanges: [] });
    // half of 1000 back, half of 2400
    expect(await netsOf(id)).toEqual([1000, -500, 1200]);
    await p.to('2026-04-02');
    expect((await netsOf(id)).slice(3)).toEqual([2400, 2400]);
  });

  it('that waits for the end of the period has the price of its submit; a later price is announced once it is there', async () => {
    const [large, small] = [p.plan({ amount: 2000 }), p.plan({ amount: 1000, planName: 'Basic' })];
    const { id } = await p.subscribe({ userId: await p.userWithCard(), planId: large });
    await submit(id, small, { effectImmediate: 2 });
    await p.change(small, 1100);
    await p.to('2026-03-01T01:00');
    expect(await p.shownOf(id)).toMatchObject({
      amount: 1000,
      priceChanges: [{ planId: small, oldAmount: 1000, newAmount: 1100, effectTime: utc('2026-04-01') }],
    });
    await p.to('2026-05-02');
    expect(await netsOf(id)).toEqual([2000, 1000, 1100, 1100]);
  });
});

describe('a change that waits, once the next period is paid at the new price', () => {
  const prepaid = async () => {
    const autoChargeConfig = { ...emptyOf(PlanAutoChargeConfig), autoChargeLeadTime: 2 * 86_400 };
    const [planId, small] = [p.plan({ autoChargeConfig }), p.plan({ amount: 500 })];
    const { id } = await p.subscribe({ userId: await p.userWithCard(), planId });
    await p.change(planId, 1200);
    await p.to('2026-03-30T12:00');
    expect(await netsOf(id)).toEqual([1000, 1000, 1200]);
    return { id, planId, small };
  };

  it('can be taken back for another one: what is paid is not the change', async () => {
    const { id, small } = await prepaid();
    await submit(id, small, { effectImmediate: 2 });
    await submit(id, small, { effectImmediate: 2, quantity: 2 });
    await p.to('2026-04-01T01:00');
    // the new price is credited, and what it changes to charged
    expect(await netsOf(id)).toEqual([1000, 1000, 1200, -1200, 1000]);
  });

  it('is priced as the period is, where it only adds to it', async () => {
    const { id, planId } = await prepaid();
    await submit(id, planId, { effectImmediate: 2, quantity: 2 });
    await p.to('2026-04-01T01:00');
    expect(await netsOf(id)).toEqual([1000, 1000, 1200, -1200, 2400]);
    expect(await p.shownOf(id)).toMatchObject({ amount: 2400, priceChanges: [] });
  });
});

describe('a second price change', () => {
  it('before the first takes effect replaces it, with a notice of its own', async () => {
    const planId = p.plan();
    const { id } = await p.subscribe({ userId: await p.userWithCard(), planId });
    await p.change(planId, 1200);
    await p.to('2026-03-10');
    await p.events(id);
    await p.change(planId, 1500);
    await p.to('2026-03-10T01:00');
    expect((await p.shownOf(id)).priceChanges).toEqual([
      ...[{ planId, oldAmount: 1000, newAmount: 1500 }].map(each => ({
        ...each,
        noticeTime: utc('2026-04-01'),
        effectTime: utc('2026-05-01'),
      })),
    ]);
    await p.to('2026-05-02');
    expect(await netsOf(id)).toEqual([1000, 1000, 1000, 1500]);
    expect((await p.events(id)).filter(type => type === 'price_change_notice')).toHaveLength(1);
  });

  it('back to the price that it has takes it back, and says so where it was announced', async () => {
    const planId = p.plan();
    const { id } = await p.subscribe({ userId: await p.userWithCard(), planId });
    await p.change(planId, 1200);
    await p.to('2026-03-10');
    await p.events(id);
    await p.change(planId, 1000);
    await p.to('2026-03-10T01:00');
    expect(await p.events(id)).toEqual(['price_change_notice']);
    expect((await p.shownOf(id)).priceChanges).toEqual([]);
    await p.to('2026-05-02');
    expect(await netsOf(id)).toEqual([1000, 1000, 1000, 1000]);
  });

  it('after the first took effect starts from there', async () => {
    const planId = p.plan();
    const { id } = await p.subscribe({ userId: await p.userWithCard(), planId });
    await p.change(planId, 1200);
    await p.to('2026-04-02');
    await p.change(planId, 1300);
    await p.to('2026-06-02');
    expect(await netsOf(id)).toEqual([1000, 1000, 1200, 1200, 1300]);
  });
});

it('counts the subscriptions to a plan or add-on whose price differs, each in its currency', async () => {
  const addonId = p.plan({ amount: 500, type: planType.recurringAddon });
  const planId = p.plan({ bindingAddonIds: String(addonId) });
  const addonParams = [{ addonPlanId: addonId, quantity: 1 }];
  await p.subscribe({ userId: await p.userWithCard(), planId, addonParams });
  await p.subscribe({ userId: await p.userWithCard(), planId });
  expect(await counted({ planId, newAmount: 1200 })).toEqual({
    activeAffectedSubscriptions: 2,
    totalAffectedSubscriptions: 2,
  });
  // a lower price concerns them as well
  expect(await counted({ planId, newAmount: 900 })).toMatchObject({ totalAffectedSubscriptions: 2 });
  expect(await counted({ planId: addonId, isAddon: true, newAmount: 600 })).toEqual({
    activeAffectedSubscriptions: 1,
    totalAffectedSubscriptions: 1,
  });
  expect(await counted({ planId: addonId, isAddon: true, newAmount: 500 })).toMatchObject({
    totalAffectedSubscriptions: 0,
  });
});

it('counts one in another currency by the rules that it was sold by', async () => {
  const rule = { ...emptyOf(MultiCurrencyConfig), currency: 'USD', exchangeRate: 1.1 };
  const rated = p.plan({ multiCurrencies: [rule] });
  const fixed = p.plan({ multiCurrencies: [{ ...rule, fixedAmount: 1300 }] });
  for (const planId of [rated, fixed]) await p.subscribe({ userId: await p.userWithCard(), planId, currency: 'USD' });
  const total = async (planId: number, newAmount: number) => {
    const { totalAffectedSubscriptions } = (await counted({ planId, newAmount })) as Record<string, unknown>;
    return totalAffectedSubscriptions;
  };
  expect([await total(rated, 1200), await total(rated, 1000), await total(fixed, 1200)]).toEqual([1, 0, 0]);
});
