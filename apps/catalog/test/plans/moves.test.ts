import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  archivePlan,
  bindAddons,
  copyPlan,
  deleteMetric,
  deletePlan,
  editPlan,
  listPlans,
  newCheckout,
  newMetric,
  newPlan,
  type Operation,
  planDetail,
  unpublishPlan,
} from '@recur/contracts';
import { monthly, type PlanState, planStates, type Shelf, shelf } from './shelf.js';

let s: Shelf;
beforeAll(async () => {
  s = await shelf();
});
afterAll(() => s.t.close());
beforeEach(() => s.t.emitted());

const shown = async (planId: number) => (await s.t.done(planDetail, { planId })).plan.plan;

const metricOf = async (code: string) => (await s.t.done(newMetric, { code, metricName: code })).merchantMetric.id;

describe('plan/archive', () => {
  it('sells and shows a plan no more, once, until it is activated again', async () => {
    const plan = await s.inState('published');
    await s.t.emitted();
    expect(await s.t.done(archivePlan, { planId: plan.id })).toEqual({});
    const [archived, logged, ...more] = await s.t.emitted();
    expect(archived).toMatchObject({ type: 'plan.archived', version: 4 });
    expect(archived?.data).toEqual({ ...plan, status: 4, publishStatus: 1 });
    const ids = { planId: plan.id };
    expect(logged).toMatchObject({ data: { target: `Plan(${plan.id})`, content: 'Archive', ids } });
    expect(more).toEqual([]);
    await s.t.done(archivePlan, { planId: plan.id });
    expect(await s.types()).toEqual([]);
    await s.moves.activate(plan.id);
    expect(await s.types()).toEqual(['plan.activated 5', 'operation.logged 1']);
    expect(await shown(plan.id)).toMatchObject({ status: 2, publishStatus: 1 });
  });

  it('is for good where that is asked', async () => {
    const { id: planId } = await s.inState('softArchived', { externalPlanId: 'gone' });
    await s.t.emitted();
    await s.t.done(archivePlan, { externalPlanId: 'gone', hardArchive: true });
    expect((await s.t.emitted()).map(({ data }) => data)).toMatchObject([{ status: 5 }, { content: 'HardArchive' }]);
    await s.t.done(archivePlan, { planId, hardArchive: true });
    expect(await s.types()).toEqual([]);
  });

  it('archives once however many ask at the same time', async () => {
    const { id: planId } = await s.inState('active');
    await s.t.emitted();
    await Promise.all(Array.from({ length: 64 }, () => s.t.done(archivePlan, { planId })));
    expect(await s.types()).toEqual(['plan.archived 3', 'operation.logged 1']);
  });
});

describe('plan/delete', () => {
  it('takes a plan away that was never activated; its externalPlanId is free again', async () => {
    const plan = await s.planOf({ externalPlanId: 'draft', planName: 'Quite unlike others' });
    await s.t.emitted();
    expect(await s.t.done(deletePlan, { externalPlanId: 'draft' })).toEqual({});
    const [deleted, logged] = await s.t.emitted();
    expect(deleted).toMatchObject({ type: 'plan.deleted', version: 2 });
    expect(deleted?.data).toEqual({ ...plan, status: 5 });
    expect(logged).toMatchObject({ data: { target: `Plan(${plan.id})`, content: 'Delete' } });
    for (const input of [{ planIds: [plan.id] }, { searchKey: 'quite unlike' }, { searchKey: String(plan.id) }]) {
      expect(await s.t.done(listPlans, input)).toEqual({ plans: [], total: 0 });
    }
    const again = await s.planOf({ externalPlanId: 'draft' });
    expect((await s.t.done(planDetail, { externalPlanId: 'draft' })).plan.plan.id).toBe(again.id);
  });

  it('is done once however many ask; the others do not know the plan', async () => {
    const { id: planId } = await s.planOf();
    await s.t.emitted();
    const results = await Promise.all(Array.from({ length: 64 }, () => s.t.call(deletePlan, { planId })));
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    for (const result of results) if (!result.ok) expect(result.slug).toBe('plan_not_found');
    expect(await s.types()).toEqual(['plan.deleted 2', 'operation.logged 1']);
  });

  it('leaves an add-on to the plans that it is bound to, however many ask', async () => {
    const rounds = await Promise.all(
      Array.from({ length: 24 }, async () => {
        const [addon, main] = await Promise.all([s.planOf({ type: 2 }), s.planOf()]);
        const [deleted, bound] = await Promise.all([
          s.t.call(deletePlan, { planId: addon.id }),
          s.t.call(bindAddons, { planId: main.id, addonIds: [addon.id] }),
        ]);
        return [deleted.ok ? 'deleted' : deleted.slug, bound.ok ? 'bound' : bound.slug].join();
      }),
    );
    for (const round of rounds) expect(['deleted,plan_not_found', 'plan_not_deletable,bound']).toContain(round);
    const addon = await s.planOf({ type: 3 });
    const main = await s.planOf({ onetimeAddonIds: [addon.id] });
    expect(await s.moves.delete(addon.id)).toMatchObject({
      slug: 'plan_not_deletable',
      message: `Plan ${addon.id} is an add-on of plan ${main.id}: cannot delete it`,
    });
    await s.t.done(bindAddons, { planId: main.id, action: 2, onetimeAddonIds: [addon.id] });
    expect(await s.moves.delete(addon.id)).toMatchObject({ ok: true });
  });
});

describe('plan/copy', () => {
  it('makes a plan like the other to edit, whatever the state of the other', async () => {
    const [seat, setup, upgrade] = [await s.planOf({ type: 2 }), await s.planOf({ type: 3 }), await s.planOf()];
    const { merchantCheckout } = await s.t.done(newCheckout, {});
    const more = {
      productName: 'Ours',
      metadata: { tier: 'b' },
      addonIds: [seat.id],
      onetimeAddonIds: [setup.id],
      trialDurationTime: 60,
      autoUpgradePlanId: upgrade.id,
      checkoutTemplateId: merchantCheckout.id,
      usVATConfig: { active: true },
      autoChargeConfig: { autoChargeLeadTime: 60 },
    };
    for (const state of planStates.filter(state => state !== 'deleted')) {
      const original = await s.inState(state, { ...more, externalPlanId: state });
      await s.t.emitted();
      const { plan } = await s.t.done(copyPlan, { externalPlanId: state });
      expect(plan).toEqual({
        ...original,
        id: plan.id,
        externalPlanId: '',
        checkoutUrl: original.checkoutUrl.replace(`=${original.id}&`, `=${plan.id}&`),
      });
      const [created, logged, ...others] = await s.t.emitted();
      expect(created).toMatchObject({ type: 'plan.created', version: 1, data: plan });
      expect(logged).toMatchObject({ data: { target: `Plan(${plan.id})`, content: `Copy: ${original.id}` } });
      expect(others).toEqual([]);
    }
    expect(await s.t.rows(`select count(distinct product_name) from plans where metadata <> '{}'`)).toEqual([
      { count: '1' },
    ]);
  });

  it('leaves out what could not be named any more', async () => {
    const [gone, euro, kept] = [await s.planOf({ type: 2 }), await s.planOf({ type: 2 }), await s.planOf({ type: 2 })];
    const upgrade = await s.planOf();
    const { merchantCheckout } = await s.t.done(newCheckout, {});
    const [calls, seats] = [await metricOf('calls'), await metricOf('seats')];
    const main = await s.planOf({
      addonIds: [gone.id, euro.id, kept.id],
      autoUpgradePlanId: upgrade.id,
      checkoutTemplateId: merchantCheckout.id,
      metricLimits: [
        { metricId: calls, metricLimit: 100 },
        { metricId: seats, metricLimit: 5 },
      ],
    });
    await s.moves.activate(main.id);
    for (const id of [main.id, gone.id]) await s.moves.archiveHard(id);
    await s.t.rows(`update plans set currency = 'EUR' where id = $1`, [euro.id]);
    await s.t.rows(`update checkouts set status = 'archived' where id = $1`, [merchantCheckout.id]);
    await s.moves.delete(upgrade.id);
    await s.t.done(deleteMetric, { metricId: calls });
    const { plan } = await s.t.done(copyPlan, { planId: main.id });
    expect(plan).toMatchObject({ bindingAddonIds: String(kept.id), autoUpgradePlanId: 0, checkoutTemplateId: 0 });
    expect(plan.metricLimits).toEqual([{ metricId: seats, metricLimit: 5 }]);
  });

  it('is refused where the product was deleted', async () => {
    const { id: productId } = await s.productOf();
    const { id: planId } = await s.inState('hardArchived', { productId });
    await s.t.rows('update products set deleted_time = 1 where id = $1', [productId]);
    await s.t.emitted();
    expect(await s.t.call(copyPlan, { planId })).toMatchObject({ slug: 'product_not_found' });
    expect(await s.types()).toEqual([]);
  });
});

describe('plan/addons_binding', () => {
  it('replaces what is sent, adds to it or takes it off; once each', async () => {
    const [a, b, c] = [await s.planOf({ type: 2 }), await s.planOf({ type: 2 }), await s.planOf({ type: 3 })];
    const { id: planId } = await s.planOf({ externalPlanId: 'bound' });
    await s.t.emitted();
    const steps: [object, string, string][] = [
      [{ addonIds: [a.id, a.id], onetimeAddonIds: [c.id] }, `${a.id}`, `${c.id}`],
      [{ action: 1, addonIds: [b.id, a.id] }, `${a.id},${b.id}`, `${c.id}`],
      [{ action: 2, addonIds: [a.id, 9_000_000], onetimeAddonIds: [] }, `${b.id}`, `${c.id}`],
      [{ action: 0, onetimeAddonIds: [] }, `${b.id}`, ''],
    ];
    for (const [at, [sent, bindingAddonIds, bindingOnetimeAddonIds]] of steps.entries()) {
      const { plan } = await s.t.done(bindAddons, { externalPlanId: 'bound', ...sent });
      expect(plan).toMatchObject({ id: planId, bindingAddonIds, bindingOnetimeAddonIds });
      expect(await shown(planId)).toEqual(plan);
      expect(await s.t.done(bindAddons, { planId, ...sent })).toEqual({ plan });
      expect(await s.types()).toEqual([`plan.updated ${at + 2}`, 'operation.logged 1']);
    }
  });

  it('activates what is bound to an active plan, or does nothing', async () => {
    const { id: planId } = await s.inState('active');
    const [seat, lame] = [await s.planOf({ type: 2 }), await s.planOf({ type: 2, intervalUnit: '', intervalCount: 0 })];
    await s.t.emitted();
    expect(await s.t.call(bindAddons, { planId, addonIds: [seat.id, lame.id] })).toMatchObject({
      slug: 'plan_not_activatable',
      message: expect.stringContaining(`Plan ${lame.id} is editing`),
    });
    expect(await s.types()).toEqual([]);
    await s.t.done(bindAddons, { planId, action: 1, addonIds: [seat.id] });
    expect(await s.types()).toEqual(['plan.updated 3', 'plan.activated 2', 'operation.logged 1']);
  });

  it('checks what is bound as plan/edit does, not what was bound or is taken off', async () => {
    const [seat, euro, setup] = [
      await s.planOf({ type: 2 }),
      await s.planOf({ type: 2, currency: 'EUR' }),
      await s.planOf({ type: 3 }),
    ];
    const { id: planId } = await s.planOf({ addonIds: [seat.id] });
    const wrong = await s.t.call(bindAddons, { planId, action: 1, addonIds: [euro.id, setup.id] });
    expect(!wrong.ok && wrong.issues.map(({ path }) => path)).toEqual(['/addonIds/0', '/addonIds/1']);
    expect(await s.t.call(bindAddons, { planId, onetimeAddonIds: [9_000_000] })).toMatchObject({
      slug: 'plan_not_found',
      issues: [{ path: '/onetimeAddonIds/0' }],
    });
    expect(await s.t.call(bindAddons, { planId: seat.id, addonIds: [seat.id] })).toMatchObject({
      issues: [{ path: '/addonIds' }],
    });
    await s.t.rows(`update plans set status = 'hardArchived' where id = $1`, [seat.id]);
    await s.t.done(bindAddons, { planId, action: 1, onetimeAddonIds: [setup.id] });
    await s.t.done(bindAddons, { planId, action: 2, addonIds: [seat.id] });
    for (const input of [{}, { planId, action: 3 }, { planId, addonIds: ['1'] }, { planId, addonIds: 7 }]) {
      expect(await s.t.call(bindAddons, input)).toMatchObject({ slug: 'invalid_parameters' });
    }
  });

  it('binds no more than a plan may name, in however many steps', async () => {
    const { id: planId } = await s.planOf();
    const { id: addon } = await s.planOf({ type: 3 });
    const full = Array.from({ length: 1_000 }, (_, at) => 9_000_000 + at);
    await s.t.rows('update plans set onetime_addon_ids = $2 where id = $1', [planId, full]);
    await s.t.emitted();
    expect(await s.t.call(bindAddons, { planId, action: 1, onetimeAddonIds: [addon] })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [
        {
          path: '/onetimeAddonIds',
          message: `would bind 1001 add-ons to plan ${planId}, which can have 1000 at most`,
        },
      ],
    });
    expect(await s.types()).toEqual([]);
    await s.t.done(bindAddons, { planId, action: 2, onetimeAddonIds: full.slice(0, 1) });
    await s.t.done(bindAddons, { planId, action: 1, onetimeAddonIds: [addon] });
  });

  it('binds what 64 add at once, each in its turn', async () => {
    const addons = await Promise.all(Array.from({ length: 64 }, () => s.planOf({ type: 2 })));
    const { id: planId } = await s.planOf();
    await s.t.emitted();
    await Promise.all(addons.map(({ id }) => s.t.done(bindAddons, { planId, action: 1, addonIds: [id] })));
    const ids = (await shown(planId)).bindingAddonIds.split(',').map(Number);
    expect(ids.sort((a, b) => a - b)).toEqual(addons.map(({ id }) => id).sort((a, b) => a - b));
    const versions = (await s.t.emitted()).filter(({ type }) => type === 'plan.updated').map(({ version }) => version);
    expect(versions).toEqual(addons.map((_, at) => at + 2));
  });
});

describe('what a state forbids is refused, and changes nothing', () => {
  const legal: Record<PlanState, string[]> = {
    editing: ['edit', 'price', 'bind', 'activate', 'delete', 'copy', 'unpublish'],
    active: ['edit', 'bind', 'activate', 'archive', 'archiveHard', 'publish', 'copy', 'unpublish'],
    published: ['edit', 'bind', 'activate', 'archive', 'archiveHard', 'publish', 'copy', 'unpublish'],
    softArchived: ['edit', 'bind', 'activate', 'archive', 'archiveHard', 'copy', 'unpublish'],
    hardArchived: ['archiveHard', 'copy', 'unpublish'],
    deleted: [],
  };
  const slugs: Record<string, string> = {
    edit: 'plan_frozen',
    price: 'plan_frozen',
    bind: 'plan_frozen',
    activate: 'plan_not_activatable',
    archive: 'plan_not_archivable',
    archiveHard: 'plan_not_archivable',
    delete: 'plan_not_deletable',
    publish: 'plan_not_active',
  };

  it.each(planStates)('of a plan that is %s', async state => {
    const setup = await s.planOf({ type: 3 });
    const ways: Record<string, (planId: number) => Promise<{ ok: boolean }>> = {
      ...s.moves,
      edit: planId => s.t.call(editPlan, { planId, planName: 'Pro' }),
      price: planId => s.t.call(editPlan, { planId, amount: 1 }),
      bind: planId => s.t.call(bindAddons, { planId, onetimeAddonIds: [setup.id] }),
      copy: planId => s.t.call(copyPlan, { planId }),
      unpublish: planId => s.t.call(unpublishPlan, { planId }),
    };
    for (const [move, go] of Object.entries(ways)) {
      const { id } = await s.inState(state);
      const before = await s.t.rows('select p::text from plans p where id = $1', [id]);
      await s.t.emitted();
      const result = await go(id);
      if (legal[state].includes(move)) {
        expect([move, result.ok]).toEqual([move, true]);
        continue;
      }
      expect([move, result]).toMatchObject([move, { slug: state === 'deleted' ? 'plan_not_found' : slugs[move] }]);
      if (state !== 'deleted') {
        const is = state === 'published' ? 'active' : state;
        expect([move, result]).toMatchObject([move, { message: expect.stringContaining(`Plan ${id} is ${is}`) }]);
      }
      expect(await s.t.rows('select p::text from plans p where id = $1', [id])).toEqual(before);
      expect(await s.types()).toEqual([]);
    }
  });

  it('a deleted plan is to nobody what it was: an unknown one, byte for byte', async () => {
    const deleted = await s.inState('deleted', { externalPlanId: 'nowhere' });
    const main = await s.planOf();
    const bytes = async (operation: Operation, input: object) =>
      (await s.t.server.dispatch(operation.name, JSON.stringify(input), s.t.callerOf())).bytes.toString();
    const pairs = (id: number, externalPlanId: string): [Operation, object][] => [
      ...[planDetail, copyPlan, archivePlan, deletePlan].flatMap((operation): [Operation, object][] => [
        [operation, { planId: id }],
        [operation, { externalPlanId }],
      ]),
      [editPlan, { planId: id, planName: 'x' }],
      [bindAddons, { planId: main.id, addonIds: [id] }],
      [newPlan, { ...monthly, autoUpgradePlanId: id }],
    ];
    const unknown = pairs(9_000_000, 'never');
    for (const [at, [operation, input]] of pairs(deleted.id, 'nowhere').entries()) {
      const answer = await bytes(operation, input);
      expect(answer).toMatch(/"slug":"plan_not_found"/);
      expect(answer).toBe(await bytes(operation, unknown[at]?.[1] ?? {}));
    }
  });
});
