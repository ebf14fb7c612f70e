import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addTrialTime, cancelSubscription, planType, type Subscription } from '@recur/contracts';
import { DAY, roundPrices, type World, world } from '../../world/subscriptions.js';

/** Plans of 30 days, so that every period is as long, whenever it begins: their next invoice is made an hour ahead. */
const basic = 90;
const better = 91;
const HOUR = 3600;
const repeats = 4;

let w: World;
beforeAll(async () => {
  w = await world(roundPrices);
  const thirtyDays = { intervalUnit: 'day', intervalCount: 30, type: planType.main };
  w.knowPlan(basic, { ...thirtyDays, amount: 1_000_000 });
  w.knowPlan(better, { ...thirtyDays, amount: 2_000_000 });
});
afterAll(() => w.t.close());

/** A subscription at the instant of a race, with the open invoice that a payment is for. */
interface Racer {
  sub: Subscription;
  invoiceId: string;
}
type Move = 'update' | 'cancel' | 'extend' | 'pay' | 'cycle';

const moves: Record<Move, (racer: Racer) => Promise<unknown>> = {
  update: ({ sub }) => w.tryChange(sub, { newPlanId: better, quantity: 3, effectImmediate: 1 }),
  cancel: ({ sub: { subscriptionId } }) => w.t.call(cancelSubscription, { subscriptionId, prorate: true }),
  extend: ({ sub: { subscriptionId } }) => w.t.call(addTrialTime, { subscriptionId, appendTrialEndHour: 24 }),
  pay: ({ invoiceId }) => w.moves.receive(invoiceId),
  cycle: () => w.drain(),
};

/** Brings subscriptions to the instant of a race: work of theirs is due, and was not done yet. */
type Scene = (count: number) => Promise<Racer[]>;
const begun = async (count: number): Promise<Subscription[]> => {
  const subs: Subscription[] = [];
  for (let at = 0; at < count; at++) subs.push(await w.active({ planId: basic }));
  return subs;
};
const scenes: Record<string, Scene> = {
  /** The next invoice is to be made, and a change waits for its payment. */
  'an hour before the end of the period': async count => {
    const subs = await begun(count);
    w.clock.advance(30 * DAY - HOUR);
    return Promise.all(
      subs.map(async sub => ({ sub, invoiceId: (await w.change(sub, { newPlanId: better, quantity: 2 })).invoiceId })),
    );
  },
  /** The period is over, and the invoice of the next one is open. */
  'at the end of the period': async count => {
    const subs = await begun(count);
    w.clock.advance(30 * DAY - HOUR);
    await w.drain();
    w.clock.advance(HOUR);
    return Promise.all(
      subs.map(async sub => ({ sub, invoiceId: String((await w.row(sub.subscriptionId)).latest_invoice_id) })),
    );
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
  return JSON.stringify({ status, plan_id, quantity, times, invoices, updates, periods, money });
}

/** Ends what a phase has left, so that nothing of it falls due in the next one. */
async function swept(racers: readonly Racer[]): Promise<void> {
  for (const racer of racers) await moves.cancel(racer);
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
const pairs = names.flatMap((a, at) => names.slice(at + 1).map(b => [a, b] as const));

describe.each(Object.entries(scenes))('%s', (_, batch) => {
  it.each(pairs)('%s and %s at once have the effect of one after the other', async (a, b) => {
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
