import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  addTrialTime,
  aggregationType,
  cancelSubscription,
  changeDueDay,
  createSubscription,
  gatewayCallback,
  metricType,
  newPaymentMethod,
  newUsageEvent,
  planType,
  refundInvoice,
  type Subscription,
  usageCurrentValue,
} from '@recur/contracts';
import { Sandbox } from '../../../src/gateways/adapters/sandbox.js';
import { PendingUpdates } from '../../../src/subscriptions/change/pending-updates.js';
import { DAY, roundPrices, type World, world } from '../../world/subscriptions.js';
import { limit } from '../../world/usage.js';

/** Plans of four weeks, so that every period is as long, whenever it begins: their next invoice is made a day ahead. */
const basic = 90;
const better = 91;
const metric = 5;
const HOUR = 3600;
const repeats = 4;

let w: World;
let gatewayId = 0;
beforeAll(async () => {
  w = await world(roundPrices);
  w.knowMetric(metric, { type: metricType.limitMetered, aggregationType: aggregationType.sum });
  const fourWeeks = { intervalUnit: 'week', intervalCount: 4, type: planType.main, metricLimits: [limit(metric, 100)] };
  w.knowPlan(basic, { ...fourWeeks, amount: 1_000_000 });
  w.knowPlan(better, { ...fourWeeks, amount: 2_000_000 });
  ({ gatewayId } = await w.sandbox());
});
afterAll(() => w.t.close());

/** A subscription at the instant of a race, with its first invoice, and the open one that a payment is for. */
interface Racer {
  sub: Subscription;
  firstInvoiceId: string;
  invoiceId: string;
}

const moves = {
  create: ({ sub: { userId } }) => w.t.call(createSubscription, { planId: basic, userId, quantity: 2 }),
  update: ({ sub }) => w.tryChange(sub, { newPlanId: better, quantity: 3, effectImmediate: 1 }),
  cancel: ({ sub: { subscriptionId } }) => w.t.call(cancelSubscription, { subscriptionId, prorate: true }),
  takeBack: ({ sub: { subscriptionId } }) =>
    w.t.app
      .get(PendingUpdates)
      .cancel({ subscriptionId }, w.t.callerOf())
      .catch(() => undefined),
  extend: ({ sub: { subscriptionId } }) => w.t.call(addTrialTime, { subscriptionId, appendTrialEndHour: 24 }),
  dueDay: ({ sub: { subscriptionId, currentPeriodStart } }) => {
    const weekday = new Date(currentPeriodStart * 1000).getUTCDay();
    return w.t.call(changeDueDay, { subscriptionId, dueDay: ((weekday + 2) % 7) + 1 });
  },
  refund: ({ firstInvoiceId: invoiceId }) =>
    w.t.call(refundInvoice, { invoiceId, refundAmount: 300_000, reason: 'Goodwill' }),
  usage: ({ sub: { userId } }) =>
    w.t.call(newUsageEvent, { userId, metricCode: `m${metric}`, externalEventId: `${userId}`, aggregationValue: 7 }),
  pay: ({ invoiceId }) => w.moves.receive(invoiceId),
  /** The user answers the card's question, and the gateway tells of it. */
  callback: async ({ invoiceId }) => {
    const [row] = await w.t.rows(
      `select payment_id, gateway_payment_id as reference from payments where invoice_id = $1 order by id desc limit 1`,
      [invoiceId],
    );
    const account = { merchantId: 15, gatewayId, key: '', secret: '', webhookSecret: '' };
    const sandbox = w.t.app.get(Sandbox);
    await sandbox.answer(account, String(row?.reference), true);
    const callbacks = await sandbox.dueCallbacks(account);
    const told = callbacks.find(({ body }) => Buffer.from(body).toString().includes(String(row?.payment_id)));
    if (!told) return;
    const report = { gatewayId, headers: told.headers, base64: Buffer.from(told.body).toString('base64') };
    const caller = w.t.callerOf({ merchantId: 0, actor: { kind: 'system', id: '', display: 'system' } });
    return w.t.server.dispatch(gatewayCallback.name, JSON.stringify(report), caller);
  },
  cycle: () => w.drain(),
} satisfies Record<string, (racer: Racer) => Promise<unknown>>;
type Move = keyof typeof moves;

/** Brings subscriptions to the instant of a race: work of theirs is due, and was not done yet. */
type Scene = (count: number) => Promise<Racer[]>;
const begun = async (count: number): Promise<Omit<Racer, 'invoiceId'>[]> => {
  const racers: Omit<Racer, 'invoiceId'>[] = [];
  for (let at = 0; at < count; at++) {
    const sub = await w.active({ planId: basic });
    racers.push({ sub, firstInvoiceId: sub.latestInvoiceId });
  }
  return racers;
};
const open = async (racer: Omit<Racer, 'invoiceId'>): Promise<Racer> => ({
  ...racer,
  invoiceId: String((await w.row(racer.sub.subscriptionId)).latest_invoice_id),
});
const scenes: Record<string, Scene> = {
  /** The next invoice is to be made, and a change waits for its payment. */
  'a day before the end of the period': async count => {
    const racers = await begun(count);
    w.clock.advance(27 * DAY);
    return Promise.all(
      racers.map(async racer => ({
        ...racer,
        invoiceId: (await w.change(racer.sub, { newPlanId: better, quantity: 2 })).invoiceId,
      })),
    );
  },
  /** The period is over, and the invoice of the next one is open. */
  'at the end of the period': async count => {
    const racers = await begun(count);
    w.clock.advance(27 * DAY);
    await w.drain();
    w.clock.advance(DAY);
    return Promise.all(racers.map(open));
  },
  /** The period is over, and the card asks its user about the next one. */
  'while a card asks': async count => {
    const racers = await begun(count);
    for (const { sub } of racers) {
      const { subscriptionId, userId } = sub;
      await w.t.done(newPaymentMethod, { gatewayId, userId, data: { scenario: 'needs_action' } });
      await w.t.rows('update subscriptions set gateway_id = $1 where subscription_id = $2', [
        gatewayId,
        subscriptionId,
      ]);
    }
    w.clock.advance(27 * DAY);
    await w.drain();
    w.clock.advance(DAY - HOUR);
    await w.drain();
    w.clock.advance(HOUR);
    return Promise.all(racers.map(open));
  },
};

/** The whole state of a subscription, in terms that do not depend on when it began. */
async function digest({ sub: { subscriptionId, userId, currentPeriodStart } }: Racer): Promise<string> {
  const { status, plan_id, quantity, current_period_start, current_period_end, trial_end } =
    await w.row(subscriptionId);
  const since = (at: unknown) => (Number(at) === 0 ? 0 : Number(at) - currentPeriodStart);
  const invoices = await w.t.rows(
    `select kind, regexp_replace(invoice_name, '[0-9]+', '') as name, status, total_amount, period_kind,
       (select sum(credited_net) from invoice_lines l where l.invoice_id = i.invoice_id) as credited
     from invoices i where subscription_id = $1 order by kind, name, status, total_amount, credited`,
    [subscriptionId],
  );
  const updates = await w.t.rows(
    'select status, update_quantity from subscription_pending_updates where subscription_id = $1 order by 2, 1',
    [subscriptionId],
  );
  const periods = (await w.periods(subscriptionId))
    .filter(({ state }) => state !== 'void')
    .map(({ kind, start_at, end_at, state }) => [kind, since(start_at), since(end_at), state])
    .sort((a, b) => Number(a[1]) - Number(b[1]));
  const times = [current_period_start, current_period_end, trial_end].map(since);
  const money = await w.balance(userId);
  const others = await w.t.rows(
    'select status from subscriptions where user_id = $1 and subscription_id <> $2 order by 1',
    [userId, subscriptionId],
  );
  const refunds = await w.t.rows('select r.status, r.amount from refunds r where r.user_id = $1', [userId]);
  const used = await w.t.call(usageCurrentValue, { userId, metricCode: `m${metric}` });
  const usage = used.ok ? [used.data.currentValue, used.data.totalLimit] : used.slug;
  return JSON.stringify({
    status,
    plan_id,
    quantity,
    times,
    invoices,
    updates,
    periods,
    money,
    others,
    refunds,
    usage,
  });
}

/** Ends what a phase has left, so that nothing of it falls due in the next one. */
async function swept(racers: readonly Racer[]): Promise<void> {
  for (const { sub } of racers) {
    const all = await w.t.rows('select subscription_id from subscriptions where user_id = $1', [sub.userId]);
    for (const { subscription_id } of all)
      await w.t.call(cancelSubscription, { subscriptionId: String(subscription_id) });
  }
  await w.drain();
}

async function after(batch: Scene, first: Move, second: Move): Promise<string> {
  const racers = await batch(1);
  for (const racer of racers) for (const move of [first, second]) await moves[move](racer);
  await w.drain();
  const [state = ''] = await Promise.all(racers.map(digest));
  await swept(racers);
  return state;
}

async function raced(batch: Scene, a: Move, b: Move): Promise<string[]> {
  const racers = await batch(repeats);
  await Promise.all(racers.flatMap(racer => [moves[a](racer), moves[b](racer)]));
  await w.drain();
  const states = await Promise.all(racers.map(digest));
  await swept(racers);
  return states;
}

const names = Object.keys(moves) as Move[];
const pairsOf = (scene: string) => {
  const own = names.filter(name => name !== (scene === 'while a card asks' ? 'pay' : 'callback'));
  return own.flatMap((a, at) => own.slice(at + 1).map(b => [a, b] as const));
};

describe.each(Object.entries(scenes))('%s', (scene, batch) => {
  it.each(pairsOf(scene))('%s and %s at once have the effect of one after the other', async (a, b) => {
    const orders = [await after(batch, a, b), await after(batch, b, a)];
    for (const state of await raced(batch, a, b)) expect(orders).toContain(state);
  });
});

it('an end voids the period that will not begin', async () => {
  const [racer] = await (scenes['at the end of the period'] as Scene)(1);
  if (!racer) throw new Error('no subscription begun');
  await moves.cancel(racer);
  expect((await w.periods(racer.sub.subscriptionId)).map(({ state }) => state)).toEqual(['paid', 'void']);
});

it('the two orders of a cancellation and a payment differ: what is compared tells them apart', async () => {
  const batch = scenes['at the end of the period'] as Scene;
  expect(await after(batch, 'cancel', 'pay')).not.toBe(await after(batch, 'pay', 'cancel'));
});
