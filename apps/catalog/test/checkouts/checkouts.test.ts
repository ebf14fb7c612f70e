import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  archiveCheckout,
  checkoutDetail,
  checkoutLink,
  editCheckout,
  editPlan,
  listCheckouts,
  type MerchantCheckout,
  newCheckout,
  newPlan,
  publishCheckout,
  setDefaultCheckout,
} from '@recur/contracts';
import { monthly, planStates, type Shelf, shelf } from '../plans/shelf.js';

let s: Shelf;
beforeAll(async () => {
  s = await shelf();
});
afterAll(() => s.t.close());
beforeEach(() => s.t.emitted());

const templateOf = async (more: object = {}, caller = {}): Promise<MerchantCheckout> =>
  (await s.t.done(newCheckout, more, caller)).merchantCheckout;
const seen = async (checkoutId: number) => (await s.t.done(checkoutDetail, { checkoutId })).merchantCheckout;
const listed = async (input: object, caller = {}) =>
  (await s.t.done(listCheckouts, input, caller)).merchantCheckouts.map(({ id }) => id);
const of64 = <R>(run: (at: number) => Promise<R>) => Promise.all(Array.from({ length: 64 }, (_, at) => run(at)));

describe('checkout/new_checkout', () => {
  it('makes a template, tells others, and logs it', async () => {
    const given = {
      name: 'Dark',
      description: 'By night',
      data: { theme: 'dark' },
      stagingData: { a: [1, { b: '' }] },
    };
    const template = await templateOf(given);
    const now = s.clock.now();
    const kept = { id: template.id, merchantId: 15, createTime: now, updateTime: now, isDefault: false };
    expect(template).toEqual({ ...given, ...kept });
    const [created, logged, ...more] = await s.t.emitted();
    expect(created).toMatchObject({ type: 'checkout.created', aggregateId: String(template.id), version: 1 });
    expect(created?.data).toEqual(template);
    expect(logged).toMatchObject({ data: { target: `Checkout(${template.id})`, content: 'New' } });
    expect(more).toEqual([]);
    expect(await seen(template.id)).toEqual(template);
    expect(await templateOf()).toMatchObject({ name: '', description: '', data: {}, stagingData: {} });
  });

  it('names every field that is wrong', async () => {
    const fat = { css: 'é'.repeat(8_200) };
    const wrong = await s.t.call(newCheckout, { name: 1, description: 2, data: [], stagingData: fat });
    const paths = wrong.ok ? [] : wrong.issues.map(({ path }) => path);
    expect(paths.sort()).toEqual(['/data', '/description', '/name', '/stagingData']);
    expect(await s.types()).toEqual([]);
    await templateOf({ data: { css: 'é'.repeat(8_180) } });
  });

  it('refuses a logo that the hosted pages would have to ask another host for', async () => {
    const wrong = await s.t.call(newCheckout, {
      data: { logo: 'https://shop.example.com/logo.png' },
      stagingData: { logo: '//shop.example.com/logo.png' },
    });
    const issues = wrong.ok ? [] : wrong.issues.map(({ path }) => path);
    expect(issues.sort()).toEqual(['/data/logo', '/stagingData/logo']);
    expect(wrong).toMatchObject({
      issues: [{ message: expect.stringContaining('logo must be blank or a picture') }, {}],
    });
    for (const logo of ['', 'data:image/png;base64,iVBORw0KGgo=', { of: 'another vocabulary' }])
      expect((await templateOf({ data: { logo } })).data).toEqual({ logo });
  });

  it('keeps at most 50 that are not archived, even of 64 that come at once', async () => {
    const caller = { merchantId: 40 };
    const results = await of64(() => s.t.call(newCheckout, { name: 'x' }, caller));
    expect(results.filter(({ ok }) => ok)).toHaveLength(50);
    for (const result of results) if (!result.ok) expect(result.slug).toBe('too_many_checkouts');
    const ids = await listed({}, caller);
    expect(ids).toHaveLength(50);
    await s.t.done(archiveCheckout, { checkoutId: ids[0] }, caller);
    await templateOf({}, caller);
    expect(await s.t.call(newCheckout, {}, caller)).toMatchObject({ slug: 'too_many_checkouts' });
  });
});

describe('checkout/edit_checkout and publish_checkout', () => {
  it('change what is sent, prepare, and show what was prepared; once each', async () => {
    const template = await templateOf({ name: 'One', data: { theme: 'light' } });
    const { id: checkoutId } = template;
    await s.t.emitted();
    s.clock.advance(60);
    const sent = { checkoutId, name: 'Two', stagingData: { theme: 'dark' } };
    const { merchantCheckout: edited } = await s.t.done(editCheckout, sent);
    const { name, stagingData } = sent;
    expect(edited).toEqual({ ...template, name, stagingData, updateTime: s.clock.now() });
    expect(await s.t.done(editCheckout, sent)).toEqual({ merchantCheckout: edited });
    expect(await s.types()).toEqual(['checkout.updated 2', 'operation.logged 1']);
    const published = { ...edited, data: sent.stagingData, stagingData: {} };
    expect(await s.t.done(publishCheckout, { checkoutId })).toEqual({ merchantCheckout: published });
    expect(await s.t.done(publishCheckout, { checkoutId })).toEqual({ merchantCheckout: published });
    expect(await s.types()).toEqual(['checkout.published 3', 'operation.logged 1']);
    const { merchantCheckout: direct } = await s.t.done(editCheckout, { checkoutId, data: {} });
    expect([direct, await seen(checkoutId)]).toEqual([{ ...published, data: {} }, direct]);
  });

  it('publish once however many ask at the same time', async () => {
    const { id: checkoutId } = await templateOf({ stagingData: { theme: 'dark' } });
    await s.t.emitted();
    await of64(() => s.t.done(publishCheckout, { checkoutId }));
    expect(await s.types()).toEqual(['checkout.published 2', 'operation.logged 1']);
    expect(await seen(checkoutId)).toMatchObject({ data: { theme: 'dark' }, stagingData: {} });
  });
});

describe('checkout/set_default', () => {
  const defaults = async (caller = {}) =>
    (await s.t.done(listCheckouts, {}, caller)).merchantCheckouts.filter(({ isDefault }) => isDefault);

  it('takes it from the one that has it', async () => {
    const caller = { merchantId: 41 };
    const [one, two] = [await templateOf({ name: 'One' }, caller), await templateOf({ name: 'Two' }, caller)];
    await s.t.emitted();
    const choose = (checkoutId: number) => s.t.done(setDefaultCheckout, { checkoutId }, caller);
    expect(await choose(one.id)).toEqual({ merchantCheckout: { ...one, isDefault: true } });
    expect(await s.types()).toEqual(['checkout.updated 2', 'operation.logged 1']);
    await choose(one.id);
    expect(await s.types()).toEqual([]);
    await choose(two.id);
    const [before, after, logged] = await s.t.emitted();
    expect(before).toMatchObject({ version: 3, data: { id: one.id, isDefault: false } });
    expect(after).toMatchObject({ version: 2, data: { id: two.id, isDefault: true } });
    expect(logged).toMatchObject({ data: { target: `Checkout(${two.id})`, content: 'SetDefault' } });
    expect(await defaults(caller)).toEqual([{ ...two, isDefault: true }]);
    const once = { ...caller, idempotencyKey: 'archive' };
    for (let time = 0; time < 2; time++) {
      expect(await s.t.done(archiveCheckout, { checkoutId: two.id }, once)).toEqual({});
    }
    expect((await s.t.emitted())[0]).toMatchObject({ type: 'checkout.archived', data: { isDefault: false } });
    expect(await defaults(caller)).toEqual([]);
  });

  it('leaves one default, whoever asks for which at the same time, beside new and archived ones', async () => {
    const caller = { merchantId: 42 };
    const some = await Promise.all(Array.from({ length: 8 }, () => templateOf({}, caller)));
    const newest = Math.max(...some.map(({ id }) => id));
    await s.t.emitted();
    const results = await of64(async at => {
      const checkoutId = some[at % 8]?.id;
      if (at % 16 === 15) return s.t.call(archiveCheckout, { checkoutId }, caller);
      if (at % 16 === 8) return s.t.call(setDefaultCheckout, { checkoutId: (await templateOf({}, caller)).id }, caller);
      return s.t.call(setDefaultCheckout, { checkoutId }, caller);
    });
    for (const result of results) if (!result.ok) expect(result.slug).toBe('checkout_archived');
    expect((await defaults(caller)).length).toBeLessThanOrEqual(1);
    const states = new Map<string, { version: number; data: unknown }>();
    for (const { aggregate, aggregateId, version, data } of await s.t.emitted()) {
      if (aggregate !== 'checkout') continue;
      expect(version).toBe((states.get(aggregateId)?.version ?? (Number(aggregateId) > newest ? 0 : 1)) + 1);
      states.set(aggregateId, { version, data });
    }
    for (const [id, { data }] of states) {
      expect((await s.t.done(checkoutDetail, { checkoutId: Number(id) }, caller)).merchantCheckout).toEqual(data);
    }
  });

  it('is guarded by an index that refuses a second one', async () => {
    const [one, two] = [await templateOf({}, { merchantId: 43 }), await templateOf({}, { merchantId: 43 })];
    const flag = (id: number) => s.t.rows('update checkouts set is_default = true where id = $1', [id]);
    await flag(one.id);
    await expect(flag(two.id)).rejects.toThrow('checkouts_one_default');
  });
});

describe('checkout/list', () => {
  it('has all that are not archived, newest first, and looks through id, name and description', async () => {
    const caller = { merchantId: 44 };
    const one = await templateOf({ name: 'Größe 100 %', description: 'for_all' }, caller);
    s.clock.advance(10);
    const two = await templateOf({ name: 'Dark', description: 'By NIGHT' }, caller);
    const three = await templateOf({ name: `like ${one.id} and more` }, caller);
    const gone = await templateOf({ name: 'Dark, too' }, caller);
    await s.t.done(archiveCheckout, { checkoutId: gone.id }, caller);
    for (const [input, ids] of [
      [{}, [three.id, two.id, one.id]],
      [{ SearchKey: ' ' }, [three.id, two.id, one.id]],
      [{ SearchKey: String(one.id) }, [three.id, one.id]],
      [{ SearchKey: String(gone.id) }, []],
      [{ SearchKey: 'dark' }, [two.id]],
      [{ SearchKey: 'by n' }, [two.id]],
      [{ SearchKey: 'GRÖSSE' }, []],
      [{ SearchKey: 'GRÖ' }, [one.id]],
      [{ SearchKey: '0 %' }, [one.id]],
      [{ SearchKey: 'r_a' }, [one.id]],
      [{ SearchKey: '%' }, [one.id]],
    ] as const) {
      expect([input, await listed(input, caller)]).toEqual([input, ids]);
    }
    expect(await listed({ SearchKey: 'dark' }, { merchantId: 45 })).toEqual([]);
    expect(await s.t.call(listCheckouts, { SearchKey: 7 })).toMatchObject({ issues: [{ path: '/SearchKey' }] });
  });
});

describe('checkout/get_link', () => {
  it('leads to the checkout of an active plan, in the words of the template', async () => {
    const { id: checkoutId } = await templateOf();
    const { id: planId, checkoutUrl } = await s.inState('active');
    const { link } = await s.t.done(checkoutLink, { checkoutId: String(checkoutId), planId: String(planId) });
    expect(link).toBe(`${checkoutUrl}&checkoutId=${checkoutId}`);
    const url = new URL(link);
    expect([url.origin, url.pathname]).toEqual(['https://pay.example.com', '/portal/checkout']);
    const asked = { planId: String(planId), env: 'sandbox', checkoutId: String(checkoutId) };
    expect(Object.fromEntries(url.searchParams)).toEqual(asked);
  });

  it('needs a plan that is active', async () => {
    const { id: checkoutId } = await templateOf();
    for (const state of planStates.filter(state => state !== 'active' && state !== 'published')) {
      const { id: planId } = await s.inState(state);
      const refusal =
        state === 'deleted'
          ? { slug: 'plan_not_found' }
          : { slug: 'plan_not_active', message: `Plan ${planId} is ${state}: cannot link to it` };
      expect(await s.t.call(checkoutLink, { checkoutId, planId })).toMatchObject(refusal);
    }
  });
});

describe('an archived template', () => {
  it.each([
    ['checkout/detail', checkoutDetail, {}],
    ['checkout/edit_checkout', editCheckout, { name: 'Bare' }],
    ['checkout/publish_checkout', publishCheckout, {}],
    ['checkout/archive', archiveCheckout, {}],
    ['checkout/set_default', setDefaultCheckout, {}],
    ['checkout/get_link', checkoutLink, { planId: 1 }],
  ])('that does not exist is refused by %s', async (_, operation, more) => {
    expect(await s.t.call(operation, { checkoutId: 999_999, ...more })).toMatchObject({ slug: 'checkout_not_found' });
    expect(await s.types()).toEqual([]);
  });

  it('is archived once, comes back no more, and is still seen', async () => {
    const { id: checkoutId } = await templateOf({ stagingData: { a: 1 } });
    const { id: planId } = await s.inState('active');
    await s.t.emitted();
    await s.t.done(archiveCheckout, { checkoutId });
    await of64(() => s.t.done(archiveCheckout, { checkoutId }));
    expect(await s.types()).toEqual(['checkout.archived 2', 'operation.logged 1']);
    const before = await seen(checkoutId);
    for (const [operation, move] of [
      [editCheckout, 'edit'],
      [publishCheckout, 'publish'],
      [setDefaultCheckout, 'choose'],
      [checkoutLink, 'link to'],
    ] as const) {
      expect(await s.t.call(operation, { checkoutId, planId, name: 'x' })).toMatchObject({
        slug: 'checkout_archived',
        message: `Checkout ${checkoutId} is archived: cannot ${move} it`,
      });
    }
    expect([await seen(checkoutId), await s.types()]).toEqual([before, []]);
  });

  it('stays with the plan that names it, and is named by no other; nor is an unknown one', async () => {
    const { id: checkoutTemplateId } = await templateOf();
    const { id: planId } = await s.planOf({ checkoutTemplateId });
    await s.t.done(archiveCheckout, { checkoutId: checkoutTemplateId });
    const edit = (more: object) => s.t.call(editPlan, { planId, ...more });
    expect(await edit({ checkoutTemplateId, planName: 'Pro' })).toMatchObject({ ok: true });
    const make = (more: object) => s.t.call(newPlan, { ...monthly, ...more });
    expect(await make({ checkoutTemplateId })).toMatchObject({ slug: 'checkout_archived' });
    for (const call of [make, edit]) {
      expect(await call({ checkoutTemplateId: 9_000_000 })).toMatchObject({
        slug: 'checkout_not_found',
        issues: [{ path: '/checkoutTemplateId' }],
      });
    }
    expect(await edit({ checkoutTemplateId: 0 })).toMatchObject({ ok: true });
    expect(await edit({ checkoutTemplateId })).toMatchObject({ slug: 'checkout_archived' });
  });
});
