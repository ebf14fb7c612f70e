import { createClient } from '@recur/client';
import { activePlan, newUser } from '../../journeys/shop.js';
import { connect, copies, settled } from '../fill.js';
import { load } from '../load.js';
import type { Bench } from '../measure.js';
import { takeRate } from '../rounds.js';
import { wireTransfer } from '../usage-shop.js';
import { invoiceYardstick } from '../yardstick.js';

const connections = 32;
/** As many as submits: a user has one subscription to a product. */
const users = 50_000;
const firstUser = 1_000_000;
const ofUser = `'id', ${firstUser} + n, 'data', jsonb_set(template.data, '{id}', to_jsonb(${firstUser} + n))`;

/** subscription/create_submit of users of their own, at 32 connections; the limit is the statement. */
export async function submitRate(bench: Bench): Promise<void> {
  const { stack, pgbench } = bench;
  const { baseUrl, services } = stack.facts();
  const { apiKey, merchantId } = await stack.merchant('Submits');
  const api = createClient({ baseUrl, credential: apiKey });
  const [planId, gatewayId] = [await activePlan(api), await wireTransfer(api)];
  await submitted(baseUrl, apiKey, { planId, gatewayId, userId: await newUser(api) });
  bench.tell(`  · filling up to ${users} users …`);
  let sent = 0;
  const submits = (seconds: number) =>
    load(baseUrl, connections, seconds, () => {
      const userId = firstUser + ++sent;
      return sent > users ? undefined : submit(apiKey, { planId, gatewayId, userId });
    });
  const client = await connect(services.postgres.url, 'billing');
  try {
    await client.query(copies('user_copies', ofUser, `merchant_id = ${Number(merchantId)}`, 1, users));
    // statistics of a table with a single row say that each row has a merchant of its own
    await submits(1);
    await settled(client);
  } finally {
    await client.end();
  }
  const yardstick = await invoiceYardstick(pgbench, services.postgres.url);
  await takeRate(bench, 'subscription_new', {
    load: submits,
    limit: async seconds => (await yardstick(seconds)).perSecond,
  });
}

/** The first one of a merchant makes its user known to billing. */
const submitted = (baseUrl: string, apiKey: string, terms: Terms) => {
  const requests = [submit(apiKey, terms)];
  return load(baseUrl, 1, 60, () => requests.pop());
};

interface Terms {
  planId: number;
  gatewayId: number;
  userId: number;
}

const submit = (apiKey: string, terms: Terms) => ({
  method: 'POST',
  path: '/merchant/subscription/create_submit',
  headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
  body: JSON.stringify({ ...terms, quantity: 1 }),
});
