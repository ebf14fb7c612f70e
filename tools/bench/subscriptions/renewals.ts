import { createClient, orThrow } from '@recur/client';
import { activePlan, newUser } from '../../journeys/shop.js';
import { costing, costsOf, toldCosts } from '../costs.js';
import { connect, copies, settled } from '../fill.js';
import { median } from '../load.js';
import { memoryOf } from '../machine.js';
import type { Bench } from '../measure.js';
import { wireTransfer } from '../usage-shop.js';
import { invoiceYardstick } from '../yardstick.js';

const [few, many] = [10_000, 100_000];
const rounds = 2;
const limits = { startMs: 30_000, lookMs: 250, windowMs: 15_000 } as const;

const own = (merchantId: number) => `merchant_id = ${merchantId}`;
const id = `'sub_' || lpad('x' || n, 26, '0')`;
/** Subscriptions of users of their own, whose next invoice is to be made now. */
const ofSubscription = `'subscription_id', ${id}, 'id', 1000000 + n, 'user_id', 1000000 + n`;
const ofPeriod = `'subscription_id', ${id}, 'user_id', 1000000 + n`;
const ofUser = `'id', 1000000 + n, 'data', jsonb_set(template.data, '{id}', to_jsonb(1000000 + n))`;

/** Brings a merchant's subscriptions back to the time at which their next invoice is made: none of them has one. */
const again = (merchantId: number) => [
  ...['invoice_lines', 'payments', 'invoices'].map(
    table => `delete from ${table} where ${own(merchantId)} and invoice_id in
      (select invoice_id from invoices where ${own(merchantId)} and bill_reason = 'cycle')`,
  ),
  `delete from subscription_periods where ${own(merchantId)} and seq > 1`,
  `delete from due_work where ${own(merchantId)}`,
];

const schedule = (merchantId: number) => `insert into due_work (merchant_id, kind, key, due_at, attempts)
  select merchant_id, 'subscription.next', subscription_id, extract(epoch from now())::bigint, 0 from subscriptions
  where ${own(merchantId)}`;

/** A merchant of `count` subscriptions at the last days of their period. */
async function openMerchant(bench: Bench, count: number): Promise<number> {
  const { stack, tell } = bench;
  const { apiKey, merchantId } = await stack.merchant(`Renewals ${count}`);
  const api = createClient({ baseUrl: stack.facts().baseUrl, credential: apiKey });
  const gatewayId = await wireTransfer(api);
  const planId = await activePlan(api);
  const made = orThrow(
    await api.post('/merchant/subscription/create_submit', {
      planId,
      userId: await newUser(api),
      gatewayId,
      quantity: 1,
    }),
  );
  const transfer = { invoiceId: made.invoiceId, transferNumber: `T-${count}` };
  orThrow(await api.post('/merchant/invoice/mark_wire_transfer_success', transfer));
  tell(`  · filling up to ${count} subscriptions …`);
  const client = await connect(stack.facts().services.postgres.url, 'billing');
  const where = own(Number(merchantId));
  try {
    // the month is over in a day: its next invoice is due
    const day = `extract(epoch from now())::bigint + 86400`;
    await client.query(`delete from due_work where ${where}`);
    await client.query(
      `update subscription_periods p set start_at = p.start_at - p.end_at + ${day}, end_at = ${day} where ${where}`,
    );
    await client.query(
      `update subscriptions s set anchor = ${day}, period_no = 0, current_period_start = s.current_period_start
        - s.current_period_end + ${day}, current_period_end = ${day} where ${where}`,
    );
    await client.query(copies('user_copies', ofUser, where, 1, count - 1));
    await client.query(copies('subscriptions', ofSubscription, where, 1, count - 1));
    await client.query(copies('subscription_periods', ofPeriod, where, 1, count - 1));
    await settled(client);
    for (const service of ['identity', 'notification']) await markSeen(bench, service, Number(merchantId), count);
  } finally {
    await client.end();
  }
  return Number(merchantId);
}

/** Has the consumers of a service know the filled subscriptions, as they would: else they ask for all earlier events. */
async function markSeen({ stack }: Bench, service: string, merchantId: number, count: number): Promise<void> {
  const client = await connect(stack.facts().services.postgres.url, service);
  const where = `${own(merchantId)} and aggregate = 'subscription'`;
  try {
    await client.query(
      `insert into gate select consumer, merchant_id, aggregate, ${id}, version from gate, generate_series(1, ${count - 1}) n
        where ${where}`,
    );
    await settled(client);
  } finally {
    await client.end();
  }
}

/** Invoices that the cycle makes per second of a window, all subscriptions of a merchant being due at one instant. */
async function renewed({ stack }: Bench, merchantId: number, count: number) {
  const client = await connect(stack.facts().services.postgres.url, 'billing');
  const counted = async () => {
    const { rows } = await client.query(
      `select count(*) as n from invoices where ${own(merchantId)} and bill_reason = 'cycle'`,
    );
    return Number(rows[0]?.n);
  };
  try {
    for (const text of again(merchantId)) await client.query(text);
    await settled(client);
    await client.query(schedule(merchantId));
    const deadline = performance.now() + limits.startMs;
    while ((await counted()) === 0 && performance.now() < deadline) {
      await new Promise(resolve => setTimeout(resolve, limits.lookMs));
    }
    const window = async () => {
      const [from, since] = [await counted(), performance.now()];
      let made = 0;
      while (from + made < count && performance.now() - since < limits.windowMs) {
        await new Promise(resolve => setTimeout(resolve, limits.lookMs));
        made = (await counted()) - from;
      }
      return { made, seconds: (performance.now() - since) / 1000 };
    };
    const { result, costs } = await costing(
      () => costsOf(stack),
      window,
      ({ made }) => made,
    );
    const memory = memoryOf([stack.facts().pids.billing ?? 0]);
    await client.query(`delete from due_work where ${own(merchantId)}`);
    return { perSecond: result.made / result.seconds, memory, costs };
  } finally {
    await client.end();
  }
}

/** Renewals at 10 000 and 100 000 due at one instant, in turn, and the yardstick of invoices beside them. */
export async function renewalRates(bench: Bench): Promise<void> {
  const { stack, pgbench, seconds } = bench;
  const yardstick = await invoiceYardstick(pgbench, stack.facts().services.postgres.url);
  const sizes = [few, many].filter(count => bench.wants(count === few ? 'renewals' : 'renewals_100k'));
  const merchants: [number, number][] = [];
  for (const count of sizes) merchants.push([count, await openMerchant(bench, count)]);
  const taken = new Map<number, Awaited<ReturnType<typeof renewed>>[]>();
  const yards: number[] = [];
  for (let round = 0; round < rounds; round++) {
    yards.push((await yardstick(seconds.round)).perSecond);
    for (const [count, merchantId] of merchants) {
      taken.set(count, [...(taken.get(count) ?? []), await renewed(bench, merchantId, count)]);
    }
  }
  const limit = median(yards);
  for (const [count, rounds] of taken) {
    const value = median(rounds.map(({ perSecond }) => perSecond));
    const memory = Math.max(...rounds.map(round => round.memory)).toFixed(0);
    const measure = { value, unit: '1/s', limit, ratio: value / limit };
    bench.add(count === few ? 'renewals' : 'renewals_100k', measure, `billing takes ${memory} MiB`);
    bench.tell(`    µs of a core for one: ${toldCosts(rounds.map(({ costs }) => costs))}`);
  }
}
