import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { activatePlan, editPlan, emptyOf, newCheckout, newMetric, newPlan, newProduct, Plan } from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { catalog } from '../../src/service.js';

let t: TestService;
const monthly = { amount: 999, currency: 'usd', planName: 'Basic', intervalUnit: 'month', intervalCount: 1 };

beforeAll(async () => {
  t = await testService(catalog, { env: { PORTAL_BASE: 'https://pay.example.com/portal' } });
});
afterAll(() => t.close());
beforeEach(() => t.emitted());

const planOf = async (more: object = {}, caller = {}) => (await t.done(newPlan, { ...monthly, ...more }, caller)).plan;
const recurringAddon = (more: object = {}, caller = {}) => planOf({ planName: 'Seat', type: 2, ...more }, caller);
const issues = async (input: object) => {
  const result = await t.call(newPlan, { ...monthly, ...input });
  return result.ok ? 'accepted' : [result.slug, ...result.issues.map(({ path }) => path).sort()];
};

describe('plan/new', () => {
  it('makes a plan to edit, tells others, and logs it', async () => {
    const { product } = await t.done(newProduct, { productName: 'Seats' });
    await t.emitted();
    const trial = { trialAmount: 100, trialDurationTime: 86_400, trialDemand: 'paymentMethod', cancelAtTrialEnd: 1 };
    const plan = await planOf({ productId: product.id, metadata: { tier: 'b' }, productName: 'Ours', ...trial });
    expect(plan).toEqual({
      ...emptyOf(Plan),
      ...trial,
      id: plan.id,
      merchantId: 15,
      productId: product.id,
      createTime: Date.UTC(2026, 0, 15, 12) / 1000,
      amount: 999,
      currency: 'USD',
      planName: 'Basic',
      intervalUnit: 'month',
      intervalCount: 1,
      status: 1,
      publishStatus: 1,
      type: 1,
      gasPayer: 'user',
      metadata: { tier: 'b' },
      checkoutUrl: `https://pay.example.com/portal/checkout?planId=${plan.id}&env=sandbox`,
    });
    const [created, logged, ...more] = await t.emitted();
    expect(created).toMatchObject({
      type: 'plan.created',
      aggregate: 'plan',
      aggregateId: String(plan.id),
      version: 1,
    });
    expect(created?.data).toEqual(plan);
    expect(logged).toMatchObject({ data: { target: `Plan(${plan.id})`, content: 'New', ids: { planId: plan.id } } });
    expect(more).toEqual([]);
  });

  it('keeps what it is given as it is given', async () => {
    const { merchantCheckout } = await t.done(newCheckout, {});
    const given = {
      compareAtAmount: 1999,
      gasPayer: 'merchant',
      disableAutoCharge: 1,
      checkoutTemplateId: merchantCheckout.id,
      autoChargeConfig: {
        autoChargeLeadTime: 3_600,
        autoChargeMaxRetryCount: 3,
        autoChargeRetryInterval: 43_200,
        incompleteExpireTime: 86_400,
      },
      usVATConfig: {
        active: true,
        sellOnUSOnly: true,
        fromAddress: null,
        toAddress: null,
        nexusAddresses: [],
        taxCode: 'SW',
      },
      multiCurrencies: [
        {
          amount: 0,
          exchangeRate: 0.123456789012,
          fixedAmount: 5,
          autoExchange: false,
          disable: true,
          currency: 'EUR',
        },
      ],
      multiTrials: [
        {
          intervalUnit: 'week',
          intervalCount: 2,
          metadata: {},
          name: 'Two',
          trialCompareAtPrice: 5,
          trialDuration: 60,
          trialPrice: 1,
        },
      ],
    };
    const { usVATConfig, ...rest } = given;
    const { sellOnUSOnly, taxCode, active } = usVATConfig;
    const plan = await planOf({ ...rest, usVATConfig: { sellOnUSOnly, taxCode, active } });
    expect(plan).toMatchObject(given);
    expect((await stateOf(plan.id)).data).toEqual(plan);
  });

  it('keeps product texts with the plan and makes no product of them', async () => {
    const before = await t.rows('select count(*) from products');
    const plan = await planOf({ productName: 'Ours', productDescription: 'All of it' });
    expect(plan.productId).toBe(0);
    expect(await t.rows('select product_name, product_description from plans where id = $1', [plan.id])).toEqual([
      { product_name: 'Ours', product_description: 'All of it' },
    ]);
    expect(await t.rows('select count(*) from products')).toEqual(before);
  });

  it('binds add-ons, each once', async () => {
    const [seat, setup] = [await recurringAddon(), await planOf({ type: 3, intervalUnit: '', intervalCount: 0 })];
    const plan = await planOf({ addonIds: [seat.id, seat.id], onetimeAddonIds: [setup.id] });
    expect(plan).toMatchObject({ bindingAddonIds: String(seat.id), bindingOnetimeAddonIds: String(setup.id) });
  });

  it('refuses add-ons of another type or currency, gone for good, or of an add-on, naming each', async () => {
    const [main, seat, euro, gone] = [
      await planOf(),
      await recurringAddon(),
      await recurringAddon({ currency: 'EUR' }),
      await recurringAddon(),
    ];
    await t.rows(`update plans set status = 'hardArchived' where id = $1`, [gone.id]);
    expect(await issues({ addonIds: [seat.id, main.id, euro.id, gone.id], onetimeAddonIds: [seat.id] })).toEqual([
      'invalid_parameters',
      '/addonIds/1',
      '/addonIds/2',
      '/addonIds/3',
      '/onetimeAddonIds/0',
    ]);
    expect(await issues({ type: 2, addonIds: [seat.id] })).toEqual(['invalid_parameters', '/addonIds']);
  });

  it('refuses plans and products that it does not know, naming each', async () => {
    const seat = await recurringAddon();
    expect(await issues({ addonIds: [seat.id, 9_000_000], onetimeAddonIds: [0], autoUpgradePlanId: -7 })).toEqual([
      'plan_not_found',
      '/addonIds/1',
      '/autoUpgradePlanId',
      '/onetimeAddonIds/0',
    ]);
    expect(await issues({ productId: 9_000_000 })).toEqual(['product_not_found']);
    const { product } = await t.done(newProduct, {});
    await t.rows('update products set deleted_time = 1 where id = $1', [product.id]);
    expect(await issues({ productId: product.id })).toEqual(['product_not_found']);
  });

  it("takes a merchant's externalPlanId once, and blank as often as you like", async () => {
    await planOf({ externalPlanId: 'basic' });
    await t.emitted();
    expect(await issues({ externalPlanId: 'basic' })).toEqual(['invalid_parameters', '/externalPlanId']);
    expect(await issues({ externalPlanId: 'é'.repeat(256) })).toEqual(['invalid_parameters', '/externalPlanId']);
    expect(await t.emitted()).toEqual([]);
    await planOf({ externalPlanId: '😀'.repeat(127) });
    await planOf({ externalPlanId: 'basic' }, { merchantId: 16 });
    await planOf({ externalPlanId: '' });
    await planOf({ externalPlanId: '' });
    const raced = Array.from({ length: 16 }, () => t.call(newPlan, { ...monthly, externalPlanId: 'raced' }));
    expect((await Promise.all(raced)).filter(({ ok }) => ok)).toHaveLength(1);
  });

  it('names every field that is wrong', async () => {
    expect(
      await issues({ amount: -1, currency: 'XXQ', planName: ' ', type: 4, gasPayer: 'me', addonIds: ['1'] }),
    ).toEqual(['invalid_parameters', '/addonIds/0', '/amount', '/currency', '/gasPayer', '/planName', '/type']);
    expect(await issues({ intervalCount: 13 })).toEqual(['invalid_parameters', '/intervalCount']);
    const year = { name: 'First', intervalUnit: 'year', intervalCount: 2 };
    expect(await issues({ multiTrials: [{}, year] })).toEqual(['invalid_parameters', '/multiTrials/1/intervalCount']);
    const euros = { currency: 'eur', fixedAmount: 5 };
    expect(await issues({ multiCurrencies: [euros, { ...euros, currency: 'EUR' }] })).toEqual([
      'invalid_parameters',
      '/multiCurrencies',
    ]);
    expect(await issues({ autoChargeConfig: { autoChargeMaxRetryCount: 101, autoChargeLeadTime: -1 } })).toEqual([
      'invalid_parameters',
      '/autoChargeConfig/autoChargeLeadTime',
      '/autoChargeConfig/autoChargeMaxRetryCount',
    ]);
    expect(await t.call(newPlan, {})).toMatchObject({ slug: 'invalid_parameters' });
  });

  it('makes one plan of two requests with one key', async () => {
    const input = { ...monthly, externalPlanId: 'once' };
    const first = await t.done(newPlan, input, { idempotencyKey: 'plan' });
    expect(await t.call(newPlan, input, { idempotencyKey: 'plan' })).toMatchObject({ ok: true, data: first });
    expect(await t.call(newPlan, { ...input, amount: 1 }, { idempotencyKey: 'plan' })).toMatchObject({
      slug: 'idempotency_reused',
    });
  });
});

describe('plan/activate', () => {
  it('activates a plan that was made just now, once', async () => {
    const plan = await planOf();
    await t.emitted();
    expect(await t.done(activatePlan, { planId: plan.id })).toEqual({});
    const [activated, logged, ...more] = await t.emitted();
    expect(activated).toMatchObject({ type: 'plan.activated', version: 2 });
    expect(activated?.data).toEqual({ ...plan, status: 2 });
    const ids = { planId: plan.id };
    expect(logged).toMatchObject({ data: { target: `Plan(${plan.id})`, content: 'Activate', ids } });
    expect(more).toEqual([]);
    expect(await t.done(activatePlan, { planId: plan.id })).toEqual({});
    expect(await t.emitted()).toEqual([]);
    expect(await stateOf(plan.id)).toMatchObject({ version: 2, data: { id: plan.id, status: 2 } });
  });

  it('finds it by externalPlanId too; both must mean the same plan', async () => {
    const plan = await planOf({ externalPlanId: 'gold' });
    const differing = await t.call(activatePlan, { planId: plan.id, externalPlanId: 'silver' });
    expect(differing).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/externalPlanId' }] });
    await planOf({ externalPlanId: 'silver' });
    expect(await t.call(activatePlan, { planId: plan.id, externalPlanId: 'silver' })).toEqual(differing);
    await t.emitted();
    await t.done(activatePlan, { externalPlanId: 'gold' });
    await t.done(activatePlan, { planId: plan.id, externalPlanId: 'gold' });
    expect((await t.emitted()).map(({ type }) => type)).toEqual(['plan.activated', 'operation.logged']);
  });

  it('activates once however many ask at the same time', async () => {
    const { id: planId } = await planOf();
    await t.emitted();
    await Promise.all(Array.from({ length: 64 }, () => t.done(activatePlan, { planId })));
    expect((await t.emitted()).map(({ type }) => type)).toEqual(['plan.activated', 'operation.logged']);
  });

  it('takes its recurring add-ons along, and leaves the one-time ones', async () => {
    const [done, seat, setup] = [await recurringAddon(), await recurringAddon(), await planOf({ type: 3 })];
    await t.done(activatePlan, { planId: done.id });
    const plan = await planOf({ addonIds: [seat.id, done.id], onetimeAddonIds: [setup.id] });
    await t.emitted();
    await t.done(activatePlan, { planId: plan.id });
    const events = await t.emitted();
    expect(events.map(({ type, aggregateId, version }) => [type, aggregateId, version]).slice(0, -1)).toEqual([
      ['plan.activated', String(plan.id), 2],
      ['plan.activated', String(seat.id), 2],
    ]);
    expect(events.at(-1)).toMatchObject({ type: 'operation.logged', data: { target: `Plan(${plan.id})` } });
    expect(await t.rows('select status from plans where id = $1', [setup.id])).toEqual([{ status: 'editing' }]);
  });

  it('does nothing at all where an add-on cannot follow', async () => {
    const lame = await recurringAddon({ intervalUnit: '', intervalCount: 0 });
    const plan = await planOf({ addonIds: [lame.id] });
    await t.emitted();
    expect(await t.call(activatePlan, { planId: plan.id })).toMatchObject({
      slug: 'plan_not_activatable',
      message: expect.stringContaining(`Plan ${lame.id} is editing: cannot activate it`),
    });
    expect(await t.emitted()).toEqual([]);
    expect((await stateOf(plan.id)).data).toMatchObject({ status: 1 });
  });

  it('has plans that share add-ons activated at the same time, each add-on once', async () => {
    const addons = await Promise.all(Array.from({ length: 6 }, () => recurringAddon()));
    const ids = addons.map(({ id }) => id);
    const sharing = await Promise.all(
      Array.from({ length: 12 }, (_, at) => planOf({ addonIds: at % 2 === 0 ? ids : ids.toReversed() })),
    );
    await t.emitted();
    const all = [...sharing.map(({ id }) => id), ...ids];
    await Promise.all(all.map(planId => t.done(activatePlan, { planId })));
    const activated = (await t.emitted()).filter(({ type }) => type === 'plan.activated');
    expect(activated.map(({ aggregateId }) => Number(aggregateId)).sort((a, b) => a - b)).toEqual(
      all.sort((a, b) => a - b),
    );
  });

  it('refuses what cannot be billed, naming the field', async () => {
    const { id: planId } = await planOf({ intervalUnit: '', intervalCount: 0 });
    expect(await t.call(activatePlan, { planId })).toMatchObject({
      slug: 'plan_not_activatable',
      issues: [{ path: '/intervalUnit' }],
    });
    const gone = await planOf();
    await t.rows(`update plans set status = 'hardArchived' where id = $1`, [gone.id]);
    expect(await t.call(activatePlan, { planId: gone.id })).toMatchObject({
      slug: 'plan_not_activatable',
      message: `Plan ${gone.id} is hardArchived: cannot activate it`,
    });
  });

  it('needs an open last tier where a price is graduated', async () => {
    const calls = { code: 'calls', metricName: 'Calls', type: 2 };
    const { merchantMetric } = await t.done(newMetric, calls);
    const { id: planId } = await planOf();
    const graduated = (endValue: number) => {
      const tier = { startValue: 0, endValue };
      const charge = { metricId: merchantMetric.id, chargeType: 1, graduatedAmounts: [tier] };
      return t.done(editPlan, { planId, metricMeteredCharge: [charge] });
    };
    await graduated(100);
    expect(await t.call(activatePlan, { planId })).toMatchObject({
      slug: 'plan_not_activatable',
      message: `Plan ${planId} is editing: cannot activate it before its fields are set right: the last tier of a graduated price must be open (endValue -1)`,
      issues: [{ path: '/metricMeteredCharge/0/graduatedAmounts' }],
    });
    await graduated(-1);
    await t.done(activatePlan, { planId });
  });

  it('needs one of the two names', async () => {
    for (const input of [{}, { planId: 0 }, { externalPlanId: '' }]) {
      expect(await t.call(activatePlan, input)).toMatchObject({ slug: 'invalid_parameters' });
    }
    expect(await t.call(activatePlan, { planId: 'one' })).toMatchObject({ issues: [{ path: '/planId' }] });
  });

  it('answers a repeat under its key, and changes nothing', async () => {
    const { id: planId } = await planOf();
    await t.emitted();
    const first = await t.call(activatePlan, { planId }, { idempotencyKey: 'activate', requestId: 'req_first' });
    const again = await t.call(activatePlan, { planId }, { idempotencyKey: 'activate' });
    expect(again).toEqual({ ...first, replayOf: 'req_first' });
    expect(await t.emitted()).toHaveLength(2);
  });
});

/** What other services are told of a plan when they ask. */
async function stateOf(id: number): Promise<{ version: number; data: unknown }> {
  const question = JSON.stringify({ aggregate: 'plan', id: String(id) });
  const reply = await t.bus.request('cmd.catalog.platform.state', question, t.callerOf());
  return JSON.parse(reply.bytes.toString()).item;
}
