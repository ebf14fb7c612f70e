import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { orThrow } from '@recur/client';
import type { Service } from '@recur/contracts';
import { sandboxGateway } from '../../card.js';
import { activePlan, newUser, type Shop } from '../../shop.js';
import { pause, type Stand, sharedStand, times } from '../stand.js';

/*
 * A change that was answered is seen: its maker, who then buys by another service, buys what he changed. Each pair is a
 * field of its owner and a command elsewhere that decides with a copy of it.
 */

let stand: Stand;
let shop: Shop;
let gatewayId: number;
let rates = 0;

beforeAll(async () => {
  stand = await sharedStand();
  shop = await stand.shop('Seen');
  orThrow(await shop.api.post('/merchant/update', { countryCode: 'DE' }));
  gatewayId = await sandboxGateway(shop.api);
});

const buy = (userId: number, planId = shop.planId) =>
  shop.api.post('/merchant/subscription/create_submit', { userId, planId, quantity: 1 });
const boughtBy = async (userId: number, planId?: number) => {
  const { invoiceId } = orThrow(await buy(userId, planId));
  return orThrow(await shop.api.get('/merchant/invoice/detail', { invoiceId })).invoice;
};
const refusal = async (answer: Promise<{ ok: boolean; error?: { type: string } }>) =>
  (await answer).error?.type ?? 'ok';

/** Each changes something and uses it at once: what came of it, and what is due. */
const pairs: Record<string, () => Promise<[got: unknown, due: unknown]>> = {
  'a user’s country: the tax, and the party': async () => {
    const userId = await newUser(shop.api);
    orThrow(await shop.api.post('/merchant/user/update', { userId, countryCode: 'DE' }));
    const { taxPercentage, countryCode } = await boughtBy(userId);
    return [
      { taxPercentage, countryCode },
      { taxPercentage: 1900, countryCode: 'DE' },
    ];
  },
  'a user’s VAT number: reverse charge, and the party': async () => {
    const userId = await newUser(shop.api);
    const vATNumber = 'FR40303265045';
    orThrow(await shop.api.post('/merchant/user/update', { userId, countryCode: 'FR', type: 2, vATNumber }));
    const { taxes, vatNumber } = await boughtBy(userId);
    return [
      [taxes.map(({ category }) => category), vatNumber],
      [['AE'], vATNumber],
    ];
  },
  'a user’s company: the party': async () => {
    const [userId, companyName] = [await newUser(shop.api), randomUUID()];
    orThrow(await shop.api.post('/merchant/user/update', { userId, companyName }));
    return [(await boughtBy(userId)).userSnapshot?.companyName, companyName];
  },
  'a user’s gateway: that of the invoice': async () => {
    const userId = await newUser(shop.api);
    orThrow(await shop.api.post('/merchant/user/change_gateway', { userId, gatewayId }));
    return [(await boughtBy(userId)).gatewayId, gatewayId];
  },
  'a suspension: nothing is sold': async () => {
    const userId = await newUser(shop.api);
    orThrow(await shop.api.post('/merchant/user/suspend_user', { userId }));
    const suspended = await refusal(buy(userId));
    orThrow(await shop.api.post('/merchant/user/resume_user', { userId }));
    return [
      [suspended, await refusal(buy(userId))],
      ['user_inactive', 'ok'],
    ];
  },
  'a suspension: nothing is changed for more': async () => {
    const userId = await newUser(shop.api);
    const { subscription } = orThrow(await buy(userId));
    const { subscriptionId } = subscription;
    orThrow(await shop.api.post('/merchant/user/suspend_user', { userId }));
    const change = { subscriptionId, newPlanId: shop.planId, quantity: 2 };
    return [await refusal(shop.api.post('/merchant/subscription/update_submit', change)), 'user_inactive'];
  },
  'a merchant’s name: the seller': async () => {
    const [userId, companyName] = [await newUser(shop.api), randomUUID()];
    orThrow(await shop.api.post('/merchant/update', { companyName }));
    return [(await boughtBy(userId)).merchant?.companyName, companyName];
  },
  'a plan’s name: the line': async () => {
    const [userId, planId, planName] = [await newUser(shop.api), await activePlan(shop.api), randomUUID()];
    await boughtBy(userId, planId);
    orThrow(await shop.api.post('/merchant/plan/edit', { planId, planName }));
    const { lines } = await boughtBy(await newUser(shop.api), planId);
    return [lines.map(({ name }) => name), [planName]];
  },
  'a plan off the market: it is not sold': async () => {
    const planId = await activePlan(shop.api);
    await boughtBy(await newUser(shop.api), planId);
    orThrow(await shop.api.post('/merchant/plan/archive', { planId }));
    return [await refusal(buy(await newUser(shop.api), planId)), 'plan_not_active'];
  },
  'a plan off the market: no page offers it': async () => {
    const [userId, planId] = [await newUser(shop.api), await activePlan(shop.api)];
    orThrow(await shop.api.get('/merchant/session/customer_portal_url', { userId, planId }));
    orThrow(await shop.api.post('/merchant/plan/archive', { planId }));
    const asked = shop.api.get('/merchant/session/customer_portal_url', { userId, planId });
    return [await refusal(asked), 'plan_not_active'];
  },
  'a metric that is deleted: no event is taken': async () => {
    const [userId, code] = [await newUser(shop.api), randomUUID()];
    const { merchantMetric } = orThrow(await shop.api.post('/merchant/metric/new', { code, metricName: 'Calls' }));
    const event = () =>
      shop.api.post('/merchant/metric/event/new', { userId, metricCode: code, externalEventId: randomUUID() });
    const before = await refusal(event());
    orThrow(await shop.api.post('/merchant/metric/delete', { metricId: merchantMetric.id }));
    return [
      [before, await refusal(event())],
      ['usage_not_subscribed', 'metric_not_found'],
    ];
  },
  'a gateway that is archived: no user gets it': async () => {
    const userId = await newUser(shop.api);
    const give = () => refusal(shop.api.post('/merchant/user/change_gateway', { userId, gatewayId }));
    const before = await give();
    orThrow(await shop.api.post('/merchant/user/change_gateway', { userId, gatewayId: 0 }));
    orThrow(await shop.api.post('/merchant/gateway/archive', { gatewayId }));
    const archived = await give();
    orThrow(await shop.api.post('/merchant/gateway/restore', { gatewayId }));
    return [
      [before, archived, await give()],
      ['ok', 'gateway_archived', 'ok'],
    ];
  },
  'a merchant’s currencies: shown with the merchant': async () => {
    const rate = (1_000 + ++rates) / 1_000;
    const currencyConfigs = [{ currency: 'JPY', autoExchange: false, exchangeRate: rate }];
    const set = { defaultCurrency: 'USD', currencyConfigs };
    orThrow(await shop.api.post('/merchant/setup_multi_currencies', { multiCurrencyConfigs: [set] }));
    const { multiCurrencyConfigs } = orThrow(await shop.api.get('/merchant/get', {}));
    return [multiCurrencyConfigs[0]?.currencyConfigs[0]?.exchangeRate, rate];
  },
};

/** Keeps the consumers of copies waiting, for tenths of a second again and again, while something runs. */
async function slowed(run: () => Promise<void>): Promise<void> {
  let isOver = false;
  const hold = async (service: Service, tables: string) => {
    const client = await stand.pool(service).connect();
    try {
      while (!isOver) {
        await client.query('begin');
        await client.query(`lock table ${tables} in share row exclusive mode`);
        await pause();
        await pause();
        await client.query('commit');
      }
    } finally {
      client.release();
    }
  };
  const held = [
    hold('billing', 'user_copies, merchant_copies, plan_copies, metric_copies'),
    hold('identity', 'plan_copies, gateway_copies, currency_copies'),
  ];
  await run().finally(() => {
    isOver = true;
  });
  await Promise.all(held);
}

async function rounds(count: number): Promise<void> {
  for (const pair of Object.values(pairs)) {
    for (let round = 0; round < count; round++) {
      const [got, due] = await pair();
      expect(got).toEqual(due);
    }
  }
}

describe('what was answered is seen', () => {
  it('by the next command of another service, for each pair', () => rounds(4));

  it('while the consumers of copies are slow', () => slowed(() => rounds(2)));

  it('and a purchase beside a change has the tax of the country that it prints', async () => {
    const users = await Promise.all(times(12, () => newUser(shop.api)));
    const documents = await Promise.all(
      users.map(async userId => {
        const [document] = await Promise.all([
          boughtBy(userId),
          shop.api.post('/merchant/user/update', { userId, countryCode: 'DE' }),
        ]);
        return document;
      }),
    );
    for (const { countryCode, taxPercentage } of documents) expect(taxPercentage).toBe(countryCode === 'DE' ? 1900 : 0);
  });
});
