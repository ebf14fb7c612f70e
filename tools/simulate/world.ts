import type { Api } from '../journeys/api.js';
import type { Scenario } from './scenario.js';

/** Ids of what a scenario names; `$name` in its bodies stands for them. */
export type Names = Map<string, number | string>;

export interface World {
  api: Api;
  gatewayId: number;
  ids: Names;
}

/** Sets up what a scenario needs: the sandbox gateway, plans in their order, discounts, and users with their cards. */
export async function openWorld(api: Api, { plans, users, discounts, config }: Scenario): Promise<World> {
  const { gateway } = await api.post<{ gateway: { gatewayId: number } }>('/merchant/gateway/setup', {
    gatewayName: 'sandbox',
    displayName: 'Card',
  });
  const world: World = { api, gatewayId: gateway.gatewayId, ids: new Map() };
  await api.post('/merchant/subscription/config/update', config);
  for (const [name, plan] of Object.entries(plans)) {
    const { plan: made } = await api.post<{ plan: { id: number } }>('/merchant/plan/new', {
      ...{ planName: name, currency: 'EUR', intervalUnit: 'month', intervalCount: 1 },
      ...resolved(world, plan),
    });
    world.ids.set(name, made.id);
  }
  for (const name of Object.keys(plans)) await api.post('/merchant/plan/activate', { planId: world.ids.get(name) });
  for (const [code, discount] of Object.entries(discounts)) await newDiscount(world, code, discount);
  for (const [name, { card, profile }] of Object.entries(users)) {
    const { user } = await api.post<{ user: { id: number } }>('/merchant/user/new', {
      email: `${name}@example.com`,
      firstName: name,
    });
    world.ids.set(name, user.id);
    if (Object.keys(profile).length > 0) await api.post('/merchant/user/update', { userId: user.id, ...profile });
    await giveCard(world, name, card);
  }
  return world;
}

async function newDiscount(world: World, code: string, body: object): Promise<void> {
  const { discount } = await world.api.post<{ discount: { id: number } }>('/merchant/discount/new', {
    ...{ code, billingType: 1, discountType: 1, startTime: 0, endTime: 0 },
    ...body,
  });
  await world.api.post('/merchant/discount/activate', { id: discount.id });
}

/** Replaces the card of a user by one with another outcome. */
export async function giveCard({ api, gatewayId, ids }: World, user: string, scenario: string): Promise<void> {
  const where = { gatewayId, userId: ids.get(user) };
  const { methodList } = await api.get<{ methodList: { id: string }[] }>(
    `/merchant/payment/method_list?gatewayId=${gatewayId}&userId=${where.userId}`,
  );
  const { method } = await api.post<{ method: { id: string } }>('/merchant/payment/method/new', {
    ...where,
    data: { scenario },
  });
  for (const { id } of methodList) await api.post('/merchant/payment/method/delete', { ...where, paymentMethodId: id });
  ids.set(`${user}.card`, method.id);
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
