import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createClient, type Input, orThrow } from '@recur/client';
import { openUsageShop } from '../../bench/usage-shop.js';
import { type Stand, startStand } from '../../journeys/test/stand.js';

let stand: Stand;
beforeAll(async () => {
  stand = await startStand();
});
afterAll(() => stand.close());

/** `batches` per producer; after every `killAfter` of all of them, billing is killed and started. */
const limits = { producers: 4, batches: 24, events: 20, killAfter: 16, waitMs: 120_000 } as const;

type Events = Input<'/merchant/metric/event/batch'>['events'];

/** Fee of the plan and price of a call: see openUsageShop. */
const [FEE, PRICE] = [4900, 2];

it('events that are sent again until they are answered, with billing killed meanwhile, are billed once each', async () => {
  const { baseUrl, apiKey } = stand.stack.facts();
  const api = createClient({ baseUrl, credential: apiKey, timeoutMs: 5_000, attempts: 1 });
  const { charged, userIds } = await openUsageShop(stand.stack, 5);
  const used = new Map<number, number>(userIds.map(userId => [userId, 0]));
  let sent = 0;
  let kills = 0;

  const deliver = async (events: Events): Promise<void> => {
    for (const deadline = Date.now() + limits.waitMs; ; ) {
      const result = await api.post('/merchant/metric/event/batch', { events });
      if (result.ok && result.data.results.every(({ code }) => code === 0)) return;
      if (Date.now() > deadline) throw new Error(`a batch was not taken: ${JSON.stringify(result)}`);
      await new Promise(resolve => setTimeout(resolve, 50));
    }
  };
  const produce = async (producer: number): Promise<void> => {
    let before: Events = [];
    for (let batch = 0; batch < limits.batches; batch++) {
      const events = Array.from({ length: limits.events }, (_, at) => {
        const userId = userIds[(producer + batch + at) % userIds.length] ?? 0;
        const aggregationValue = 1 + ((producer * 7 + batch * 3 + at) % 9);
        used.set(userId, (used.get(userId) ?? 0) + aggregationValue);
        return { userId, metricCode: charged.code, externalEventId: `${producer}-${batch}-${at}`, aggregationValue };
      });
      await deliver(events);
      // a producer that does not know what was taken repeats it, in another order
      await deliver([...before.slice(0, 5), ...events].reverse());
      before = events;
      sent++;
    }
  };
  const producers = Promise.all(Array.from({ length: limits.producers }, (_, at) => produce(at)));
  let isOver = false;
  void producers.finally(() => {
    isOver = true;
  });
  for (let next: number = limits.killAfter; !isOver; next += limits.killAfter) {
    while (!isOver && sent < next) await new Promise(resolve => setTimeout(resolve, 20));
    if (!(await stand.stack.kill('billing'))) continue;
    kills++;
    await stand.stack.start('billing');
  }
  await producers;
  expect(kills).toBeGreaterThan(2);
  const values = await Promise.all(
    userIds.map(userId =>
      api.post('/merchant/metric/event/current_value', { userId, metricCode: charged.code }).then(orThrow),
    ),
  );
  expect(values.map(({ currentValue }) => currentValue)).toEqual(userIds.map(userId => used.get(userId)));

  // past the end of the period, and the hour in which its late events are awaited
  orThrow(await api.post('/merchant/test_clock/advance', { seconds: 32 * 86_400 }));
  for (const deadline = Date.now() + limits.waitMs; Date.now() < deadline; ) {
    if (orThrow(await api.get('/merchant/test_clock', {})).status === 'ready') break;
    await new Promise(resolve => setTimeout(resolve, 200));
  }
  const billed = await stand.ask(
    'billing',
    `select user_id, sum(total_amount) as total from invoices where user_id in (${userIds.join(', ')})
       and invoice_name = 'SubscriptionCycle' and kind = 'invoice' group by user_id`,
  );
  const totals = new Map(billed.map(({ user_id, total }) => [Number(user_id), Number(total)]));
  expect(userIds.map(userId => totals.get(userId))).toEqual(
    userIds.map(userId => FEE + PRICE * (used.get(userId) ?? 0)),
  );
});
