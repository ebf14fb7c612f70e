import { type Client, type Input, orThrow } from '@recur/client';
import type { Scenario } from './scenario.js';

/** Ids of what a scenario names; `$name` in its bodies stands for them. */
export type Names = Map<string, number | string>;

export interface World {
  api: Client;
  gatewayId: number;
  ids: Names;
}

/** Sets up what a scenario needs: the sandbox gateway, metrics, plans in their order, discounts, and users with their cards. */
export async function openWorld(api: Client, { metrics, plans, users, discounts, config }: Scenario): Promise<World> {
  const { gateway } = orThrow(
    await api.post('/merchant/gateway/setup', { gatewayName: 'sandbox', displayName: 'Card' }),
  );
  const world: World = { api, gatewayId: gateway.gatewayId, ids: new Map() };
  orThrow(await api.post('/merchant/subscription/config/update', config));
  for (const [code, metric] of Object.entries(metrics)) {
    const body = { code, metricName: code, ...metric } as Input<'/merchant/metric/new'>;
    world.ids.set(code, orThrow(await api.post('/merchant/metric/new', body)).merchantMetric.id);
  }
  for (const [name, plan] of Object.entries(plans)) {
    const { plan: made } = orThrow(
      await api.post('/merchant/plan/new', {
        planName: name,
        currency: 'EUR',
        intervalUnit: 'month',
        intervalCount: 1,
        ...resolved(world, plan),
      } as Input<'/merchant/plan/new'>),
    );
    world.ids.set(name, made.id);
  }
  for (const name of Object.keys(plans))
    orThrow(await api.post('/merchant/plan/activate', { planId: Number(world.ids.get(name)) }));
  for (const [code, discount] of Object.entries(discounts)) await newDiscount(world, code, discount);
  for (const [name, { card, profile }] of Object.entries(users)) {
    const { user } = orThrow(
      await api.post('/merchant/user/new', {
        email: `${name}@example.com`,
        firstName: name,
      }),
    );
    world.ids.set(name, user.id);
    if (Object.keys(profile).length > 0)
      orThrow(await api.post('/merchant/user/update', { userId: user.id, ...profile }));
    await giveCard(world, name, card);
  }
  return world;
}

async function newDiscount(world: World, code: string, body: object): Promise<void> {
  const { discount } = orThrow(
    await world.api.post('/merchant/discount/new', {
      code,
      billingType: 1,
      discountType: 1,
      startTime: 0,
      endTime: 0,
      ...body,
    }),
  );
  orThrow(await world.api.post('/merchant/discount/activate', { id: discount.id }));
}

/** Replaces the card of a user by one with another outcome. */
export async function giveCard({ api, gatewayId, ids }: World, user: string, scenario: string): Promise<void> {
  const where = { gatewayId, userId: Number(ids.get(user)) };
  const { methodList } = orThrow(await api.get('/merchant/payment/method_list', where));
  const { method } = orThrow(
    await api.post('/merchant/payment/method/new', {
      ...where,
      data: { scenario },
    }),
  );
  for (const { id } of methodList)
    orThrow(await api.post('/merchant/payment/method/delete', { ...where, paymentMethodId: id }));
  if (method) ids.set(`${user}.card`, method.id);
}

/** A body with `$name` replaced by ids, at any depth. */
export function resolved(world: World, value: object): object {
  return JSON.parse(JSON.stringify(value), (_key, each: unknown) => {
    if (typeof each !== 'string' || !each.startsWith('$')) return each;
    const id = world.ids.get(each.slice(1));
    if (id === undefined) throw new Error(`the scenario names ${each}, which it does not have`);
    return id;
  }) as object;
}
