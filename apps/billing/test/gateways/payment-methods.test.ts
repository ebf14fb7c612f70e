import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { deletePaymentMethod, getPaymentMethod, listPaymentMethods, newPaymentMethod } from '@recur/contracts';
import { type Shop, shop } from '../world/shop.js';

let s: Shop;
let gatewayId: number;
beforeAll(async () => {
  s = await shop();
  gatewayId = (await s.sandbox()).gatewayId;
});
afterAll(() => s.t.close());

const add = (userId: number, scenario?: string, over: object = {}) =>
  s.t.call(newPaymentMethod, { gatewayId, userId, data: scenario ? { scenario } : {}, ...over });
const list = async (userId: number) => (await s.t.done(listPaymentMethods, { gatewayId, userId })).methodList;

describe('payment methods', () => {
  it('are saved, shown, listed and deleted; the first is the default', async () => {
    const first = await add(1);
    s.clock.advance(10);
    const second = await add(1, 'declines_softly');
    expect(first).toMatchObject({
      data: { method: { type: 'card', isDefault: true, data: { last4: '4242' } }, url: '' },
    });
    const [newest, oldest] = await list(1);
    expect([newest, oldest]).toMatchObject([
      { isDefault: false, data: { scenario: 'declines_softly' } },
      { isDefault: true },
    ]);
    expect(second).toMatchObject({ data: { method: newest } });
    const which = { gatewayId, userId: 1, paymentMethodId: oldest?.id };
    expect(await s.t.done(getPaymentMethod, which)).toEqual({ method: oldest });
    await s.t.emitted();
    expect(await add(1)).toMatchObject({ data: { method: oldest } });
    expect(await s.t.emitted()).toEqual([]);
    await s.t.done(deletePaymentMethod, which);
    expect(await list(1)).toEqual([{ ...newest, isDefault: true }]);
    for (const operation of [getPaymentMethod, deletePaymentMethod]) {
      expect(await s.t.call(operation, which)).toMatchObject({ slug: 'payment_method_not_found' });
    }
  });

  it('are those of the user of a payment, where it is named', async () => {
    const { paymentId } = await s.made({ finish: true });
    const { methodList } = await s.t.done(listPaymentMethods, { gatewayId, paymentId });
    expect(methodList).toEqual(await list(1));
    expect(await s.t.done(listPaymentMethods, { gatewayId })).toEqual({ methodList: [] });
  });

  it('of another user, and of another merchant, are unknown', async () => {
    const [method] = await list(1);
    const which = { gatewayId, userId: 1, paymentMethodId: method?.id };
    s.knowUser(3);
    for (const operation of [getPaymentMethod, deletePaymentMethod]) {
      const answers = [s.t.call(operation, { ...which, userId: 3 }), s.t.call(operation, which, { merchantId: 16 })];
      for (const answer of await Promise.all(answers))
        expect(answer).toMatchObject({ slug: 'payment_method_not_found' });
    }
    const theirs = await s.t.done(listPaymentMethods, { gatewayId, userId: 1 }, { merchantId: 16 });
    expect(theirs).toEqual({ methodList: [] });
    expect(await list(1)).toContainEqual(method);
  });

  it('are saved once under one key, and at most 50 for a user', async () => {
    s.knowUser(2);
    const input = { gatewayId, userId: 2, data: {} };
    const caller = { idempotencyKey: 'method' };
    const made = await s.t.done(newPaymentMethod, input, caller);
    expect(await s.t.done(newPaymentMethod, input, caller)).toEqual(made);
    await s.t.rows(
      `insert into payment_methods select 15, 'pm_' || n, $1, 2, 'card', false, '{}', 'x' || n, 1
       from generate_series(1, 49) n`,
      [gatewayId],
    );
    expect(await add(2, 'declines_hard')).toMatchObject({ slug: 'too_many_payment_methods' });
  });

  it('need a gateway that saves them, a known user and a method that the gateway takes', async () => {
    expect(await add(1, undefined, { gatewayId: s.gateway.gatewayId })).toMatchObject({
      slug: 'gateway_without_methods',
    });
    expect(await add(1, undefined, { gatewayId: 9_999 })).toMatchObject({ slug: 'gateway_not_found' });
    expect(await add(99)).toMatchObject({ slug: 'user_not_found' });
    expect(await add(1, 'wonders')).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/data' }] });
    await s.t.rows('update gateways set archived = true where gateway_id = $1', [gatewayId]);
    expect(await add(1)).toMatchObject({ slug: 'gateway_archived' });
  });
});
