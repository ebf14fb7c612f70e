import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  activatePlan,
  deleteMetric,
  editMetric,
  editPlan,
  emptyOf,
  listMetrics,
  MerchantMetric,
  metricDetail,
  newMetric,
  newPlan,
} from '@recur/contracts';
import { MovableClock, type TestService, testService } from '@recur/platform/testing';
import { catalog } from '../../src/service.js';

let t: TestService;
const clock = new MovableClock();
const now = () => clock.now();
const monthly = { amount: 999, currency: 'USD', planName: 'Basic', intervalUnit: 'month', intervalCount: 1 };
const [limited, metered] = [1, 2];

beforeAll(async () => {
  t = await testService(catalog, { clock });
});
afterAll(() => t.close());
beforeEach(() => t.emitted());

let codes = 0;
const metricOf = async (more: object = {}, caller = {}) =>
  (await t.done(newMetric, { code: `code ${++codes}`, metricName: 'Calls', ...more }, caller)).merchantMetric;
const planOf = async (more: object = {}) => (await t.done(newPlan, { ...monthly, ...more })).plan;
async function active(more: object = {}) {
  const plan = await planOf(more);
  await t.done(activatePlan, { planId: plan.id });
  return plan;
}
const events = async () => (await t.emitted()).map(({ type, version }) => `${type} ${version}`);
const refused = async (input: object) => {
  const result = await t.call(newMetric, input);
  return result.ok ? 'accepted' : [result.slug, ...result.issues.map(({ path }) => path).sort()];
};

describe('metric/new', () => {
  it('makes a metric, tells others, and logs it', async () => {
    const given = {
      code: 'calls',
      metricName: 'Calls',
      metricDescription: 'Every call of the API',
      type: metered,
      aggregationType: 5,
      aggregationProperty: 'units',
      unit: 'call',
      carryoverProrationEnabled: true,
      prorationRefundEnabled: true,
      metaData: { tier: 'b' },
    };
    const metric = await metricOf(given);
    const times = { createTime: now(), gmtModify: now() };
    expect(metric).toEqual({ ...emptyOf(MerchantMetric), ...given, ...times, id: metric.id, merchantId: 15 });
    const [created, logged, ...more] = await t.emitted();
    expect(created).toMatchObject({ type: 'metric.created', aggregate: 'metric', version: 1, data: metric });
    expect(created?.aggregateId).toBe(String(metric.id));
    expect(logged).toMatchObject({ data: { target: `Metric(${metric.id})`, content: 'New' } });
    expect(more).toEqual([]);
    expect(await t.done(metricDetail, { metricId: metric.id })).toEqual({ merchantMetric: metric });
  });

  it('counts and limits, unless asked otherwise', async () => {
    expect(await metricOf()).toMatchObject({ type: 1, aggregationType: 1, aggregationProperty: '', archived: false });
  });

  it('needs a property for every aggregation but the count', async () => {
    for (const aggregationType of [2, 3, 4, 5]) {
      const input = { code: 'x', metricName: 'X', aggregationType };
      expect(await refused(input)).toEqual(['invalid_parameters', '/aggregationProperty']);
      expect(await refused({ ...input, aggregationProperty: ' ' })).toEqual([
        'invalid_parameters',
        '/aggregationProperty',
      ]);
      await metricOf({ aggregationType, aggregationProperty: 'p' });
    }
  });

  it('names every field that is wrong', async () => {
    expect(await refused({})).toEqual(['invalid_parameters', '/code', '/metricName']);
    expect(
      await refused({ code: ' ', metricName: '', type: 5, aggregationType: 0, metaData: 'x', unit: 1, archived: 1 }),
    ).toEqual(['invalid_parameters', '/aggregationType', '/code', '/metaData', '/metricName', '/type', '/unit']);
    expect(await refused({ code: 'é'.repeat(256), metricName: 'X' })).toEqual(['invalid_parameters', '/code']);
    await metricOf({ code: '😀'.repeat(127) });
  });

  it("takes a merchant's code once, and again when its metric is deleted", async () => {
    const { id: metricId } = await metricOf({ code: 'seats' });
    await t.emitted();
    expect(await refused({ code: 'seats', metricName: 'X' })).toEqual(['invalid_parameters', '/code']);
    expect(await events()).toEqual([]);
    await metricOf({ code: 'seats' }, { merchantId: 16 });
    await t.done(deleteMetric, { metricId });
    await metricOf({ code: 'seats' });
    expect(await refused({ code: 'seats', metricName: 'X' })).toEqual(['invalid_parameters', '/code']);
  });

  it('makes one metric of 64 that ask for one code at once', async () => {
    const input = { code: 'raced', metricName: 'Raced' };
    const all = await Promise.all(Array.from({ length: 64 }, () => t.call(newMetric, input)));
    expect(all.filter(({ ok }) => ok)).toHaveLength(1);
    const slugs = all.flatMap(result => (result.ok ? [] : [result.slug]));
    expect(new Set(slugs)).toEqual(new Set(['invalid_parameters']));
    expect(await t.rows(`select 1 from metrics where code = 'raced'`)).toHaveLength(1);
    expect(await events()).toEqual(['metric.created 1', 'operation.logged 1']);
  });

  it('makes one metric of two requests with one key', async () => {
    const input = { code: 'once', metricName: 'Once' };
    const first = await t.done(newMetric, input, { idempotencyKey: 'metric' });
    expect(await t.call(newMetric, input, { idempotencyKey: 'metric' })).toMatchObject({ ok: true, data: first });
  });
});

describe('metric/edit', () => {
  it('changes what is sent, and nothing else', async () => {
    const metric = await metricOf({ unit: 'call', metaData: { a: 1 } });
    await t.emitted();
    clock.advance(60);
    const sent = { metricName: 'Requests', type: metered, metaData: { b: 2 }, prorationRefundEnabled: true };
    const { merchantMetric } = await t.done(editMetric, { metricId: metric.id, code: 'other', ...sent });
    expect(merchantMetric).toEqual({ ...metric, ...sent, gmtModify: now() });
    const [updated] = await t.emitted();
    expect(updated).toMatchObject({ type: 'metric.updated', version: 2, data: merchantMetric });
    await t.done(editMetric, { metricId: metric.id, ...sent });
    expect(await events()).toEqual([]);
  });

  it('keeps the type while an active plan uses the metric; the rest may change', async () => {
    const { id: metricId } = await metricOf();
    const plan = await active({ metricLimits: [{ metricId, metricLimit: 5 }] });
    await t.emitted();
    expect(await t.call(editMetric, { metricId, metricName: 'X', type: metered })).toMatchObject({
      slug: 'metric_in_use',
      message: `Metric ${metricId} is used by the active plans ${plan.id}: cannot change its type`,
    });
    expect(await events()).toEqual([]);
    await t.done(editMetric, { metricId, metricName: 'X', type: limited });
    expect(await events()).toEqual(['metric.updated 2', 'operation.logged 1']);
  });

  it('needs a name, and a metric', async () => {
    const { id: metricId } = await metricOf();
    expect(await t.call(editMetric, { metricId })).toMatchObject({ issues: [{ path: '/metricName' }] });
    expect(await t.call(editMetric, { metricId, metricName: ' ', type: 9 })).toMatchObject({
      issues: [{ path: '/type' }, { path: '/metricName' }],
    });
    for (const caller of [{}, { merchantId: 16 }]) {
      const unknown = { metricId: 'merchantId' in caller ? metricId : 9_000_000, metricName: 'X' };
      expect(await t.call(editMetric, unknown, caller)).toMatchObject({ slug: 'metric_not_found' });
    }
  });
});

describe('metric/delete', () => {
  it('archives it, and shows it nowhere', async () => {
    const metric = await metricOf({ metricName: 'Gone soon' });
    await t.emitted();
    clock.advance(5);
    const { merchantMetric } = await t.done(deleteMetric, { metricId: metric.id });
    expect(merchantMetric).toEqual({ ...metric, archived: true, gmtModify: now() });
    expect(await t.rows('select deleted_time from metrics where id = $1', [metric.id])).toEqual([
      { deleted_time: String(now()) },
    ]);
    const [deleted, logged] = await t.emitted();
    expect(deleted).toMatchObject({ type: 'metric.deleted', version: 2, data: merchantMetric });
    expect(logged).toMatchObject({ data: { target: `Metric(${metric.id})`, content: 'Delete' } });
    expect(await t.call(metricDetail, { metricId: metric.id })).toMatchObject({ slug: 'metric_not_found' });
    expect((await t.done(listMetrics, { searchKey: 'Gone soon' })).total).toBe(0);
  });

  it('happens once', async () => {
    const { id: metricId } = await metricOf();
    await t.emitted();
    const all = await Promise.all(Array.from({ length: 64 }, () => t.call(deleteMetric, { metricId })));
    expect(all.filter(({ ok }) => ok)).toHaveLength(1);
    expect(await t.call(deleteMetric, { metricId })).toMatchObject({ slug: 'metric_not_found' });
    expect(await events()).toEqual(['metric.deleted 2', 'operation.logged 1']);
  });

  it('is refused while an active plan uses it in any way, naming the plans', async () => {
    const use = async (type: number, with_: (metricId: number) => object) => {
      const { id } = await metricOf({ type });
      return { metricId: id, plan: await active(with_(id)) };
    };
    const uses = [
      await use(1, metricId => ({ metricLimits: [{ metricId, metricLimit: 1 }] })),
      await use(4, metricId => ({ metricLimits: [{ metricId, metricLimit: 1 }] })),
      await use(2, metricId => ({ metricMeteredCharge: [{ metricId, standardAmount: 1 }] })),
      await use(3, metricId => ({ metricRecurringCharge: [{ metricId, standardAmount: 1 }] })),
    ];
    for (const { metricId, plan } of uses) {
      expect(await t.call(deleteMetric, { metricId })).toMatchObject({
        slug: 'metric_in_use',
        message: `Metric ${metricId} is used by the active plans ${plan.id}: cannot delete it`,
      });
    }
    const [{ metricId, plan }] = uses as [(typeof uses)[number]];
    await t.done(editPlan, { planId: plan.id, metricLimits: [] });
    await t.done(deleteMetric, { metricId });
  });

  it('names ten plans at most', async () => {
    const { id: metricId } = await metricOf();
    const metricLimits = [{ metricId, metricLimit: 1 }];
    const plans = await Promise.all(Array.from({ length: 12 }, () => active({ metricLimits })));
    const ids = plans.map(({ id }) => id).sort((a, b) => a - b);
    expect(await t.call(deleteMetric, { metricId })).toMatchObject({
      message: `Metric ${metricId} is used by the active plans ${ids.slice(0, 10).join(', ')} and more: cannot delete it`,
    });
  });

  it('does not mind plans that are not active; they cannot become so with it', async () => {
    const { id: metricId } = await metricOf();
    const metricLimits = [{ metricId, metricLimit: 1 }];
    const [plan, archived] = [await planOf({ metricLimits }), await active({ metricLimits })];
    await t.rows(`update plans set status = 'softArchived' where id = $1`, [archived.id]);
    await t.done(deleteMetric, { metricId });
    for (const [{ id: planId }, status] of [
      [plan, 'editing'],
      [archived, 'softArchived'],
    ] as const) {
      expect(await t.call(activatePlan, { planId })).toMatchObject({
        slug: 'plan_not_activatable',
        message: `Plan ${planId} is ${status}: cannot activate it before its metrics are set right: /metricLimits/0/metricId names no metric`,
        issues: [{ path: '/metricLimits/0/metricId' }],
      });
    }
    await t.done(editPlan, { planId: plan.id, planName: 'Other' });
    await t.done(editPlan, { planId: plan.id, metricLimits: [] });
    await t.done(activatePlan, { planId: plan.id });
  });
});

describe('metric/list', () => {
  const caller = { merchantId: 40 };

  it('filters, sorts and pages', async () => {
    const make = async (more: object) => {
      clock.advance(10);
      return metricOf(more, caller);
    };
    const calls = await make({ code: 'api_calls', metricName: 'calls' });
    const seats = await make({ code: 'b-seats', metricName: 'Seats', metricDescription: '100 % of people' });
    const bytes = await make({ code: 'Bytes', metricName: 'Bytes' });
    const [all, times] = [[bytes, seats, calls], { start: calls.createTime + 1, end: bytes.createTime }];
    const list = (input: object, of: object = caller) => t.done(listMetrics, input, of);
    expect(await list({})).toEqual({ merchantMetrics: all, total: 3 });
    const ids = async (input: object, of?: object) => (await list(input, of)).merchantMetrics.map(({ id }) => id);
    const cases: [object, MerchantMetric[]][] = [
      [{ sortField: 'metricName', sortType: 'asc' }, [bytes, calls, seats]],
      [{ sortField: 'code' }, [seats, calls, bytes]],
      [{ sortType: 'asc', count: 1, page: 1 }, [seats]],
      [{ createTimeStart: times.start }, [bytes, seats]],
      [{ createTimeStart: String(times.start), createTimeEnd: times.end - 1 }, [seats]],
      [{ searchKey: 'API_' }, [calls]],
      [{ searchKey: '100 %' }, [seats]],
      [{ searchKey: ' bytes ' }, [bytes]],
      [{ searchKey: 's', createTimeEnd: times.start }, [calls]],
      [{ searchKey: String(seats.id) }, [seats]],
      [{ searchKey: 'nothing' }, []],
    ];
    for (const [input, expected] of cases) {
      expect([input, await ids(input)]).toEqual([input, expected.map(({ id }) => id)]);
    }
    expect(await ids({ searchKey: 'calls' }, { merchantId: 41 })).toEqual([]);
    await t.done(editMetric, { metricId: calls.id, metricName: 'Zebras' }, caller);
    expect(await ids({ sortField: 'metricName' })).toEqual([calls.id, seats.id, bytes.id]);
    expect(await ids({ searchKey: 'zebra' })).toEqual([calls.id]);
    expect(await t.call(listMetrics, { sortField: 'type', page: -1 }, caller)).toMatchObject({
      issues: [{ path: '/sortField' }, { path: '/page' }],
    });
  });
});
