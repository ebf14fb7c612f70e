import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import {
  cancelAtPeriodEnd,
  cancelInvoice,
  cancelSubscription,
  createSubscription,
  deleteUsageEvent,
  emptyOf,
  MetricPlanLimit,
  submitChange,
} from '@recur/contracts';
import { isMany, sized } from '@recur/platform/testing/size';
import { utc } from '../../world/clock.js';
import { type Metered, metered } from '../../world/usage.js';
import {
  aggregations,
  costs,
  drawnPrice,
  type Event,
  type Lived,
  type Metric,
  type Price,
  randomFrom,
  type Terms,
} from './naive.js';

/*
 * Random streams of events over lives of subscriptions: with repeats, late and deleted ones, in any order, some negative;
 * over ends of periods, changes of plan and cancellations, with cards that are declined and connections that are killed.
 * What each stretch of time was billed for, or what was dropped of it at an end, is its price by a naive recount.
 */

const rounds = sized(1, 10);
const perRound = 200;
const first = isMany ? jest.getSeed() : 20_260_301;

let s: Metered;
// a stream moves the clock of the machine, behind which no test clock begins
beforeEach(async () => {
  s = await metered();
});
afterEach(() => s.t.close());

const [minute, hour, day] = [60, 3600, 86_400];
const LIMIT = 300;

const courses = [
  ...(['steady', 'change', 'twice', 'end', 'now', 'drop'] as const),
  ...(['declined', 'expires', 'remade', 'given up', 'given up now'] as const),
] as const;

/** A subscriber, and the events sent for them. */
interface Life {
  course: (typeof courses)[number];
  userId: number;
  id: string;
  /** Starts of its periods. */
  starts: readonly number[];
  terms: Terms[];
  /** The plans of its changes. */
  plans: { planId: number; prices: ReadonlyMap<number, Price> }[];
  metrics: readonly Metric[];
  /** Events that count: taken, and not deleted. */
  events: Event[];
  /** Used of the limit, by the start of the period. */
  limited: Map<number, number>;
  isOver: boolean;
}

/** Metrics of the merchant of a round: charged ones of all kinds, and a limited one. */
function metricsOf() {
  const charged = (['chargeMetered', 'chargeRecurring'] as const).flatMap(kind =>
    aggregations.map((aggregation): Metric => ({ ...s.metric(kind, aggregation), kind, aggregation })),
  );
  return { charged, limited: s.metric('limitMetered') };
}
type Metrics = ReturnType<typeof metricsOf>;

/** A life that begins now, with two plans more to change to: the first has other prices, the second sells no usage. */
async function begun(
  starts: readonly number[],
  { charged, limited }: Metrics,
  course: Life['course'],
  random: (below: number) => number,
): Promise<Life> {
  const metrics = charged.filter(() => random(4) === 0);
  if (metrics.length === 0) metrics.push(charged[random(charged.length)] as Metric);
  const own = new Map(metrics.map(({ id }) => [id, drawnPrice(id, random)]));
  const other = new Map(
    metrics.flatMap(({ id }) => {
      const [kept, drawn] = [own.get(id) as Price, random(4)];
      return drawn === 0 ? [] : [[id, drawn === 1 ? kept : drawnPrice(id, random)] as const];
    }),
  );
  const metricLimits = [{ ...emptyOf(MetricPlanLimit), metricId: limited.id, metricLimit: LIMIT }];
  const plan = (amount: number, prices: ReadonlyMap<number, Price>) => {
    const charges = metrics.flatMap(({ id, kind }) => {
      const price = prices.get(id);
      return price ? [{ kind, charge: price.charge }] : [];
    });
    const ofKind = (wanted: Metric['kind']) => charges.filter(({ kind }) => kind === wanted).map(one => one.charge);
    const sold = { metricMeteredCharge: ofKind('chargeMetered'), metricRecurringCharge: ofKind('chargeRecurring') };
    return { planId: s.plan({ amount, metricLimits, ...sold }), prices };
  };
  const [bought, ...plans] = [plan(500_000, own), plan(600_000, other), plan(700_000, new Map())];
  const userId = await s.userWithCard();
  const order = { gatewayId: s.gatewayId(), userId, planId: bought?.planId ?? 0 };
  const { subscription } = await s.t.done(createSubscription, order, s.merchant);
  const terms = [{ from: starts[0] ?? 0, prices: own }];
  const life = { course, userId, id: subscription.subscriptionId, starts, terms, plans, metrics };
  return { ...life, events: [], limited: new Map(), isOver: false };
}

/** Sends a batch of each life: events of the last weeks, some that were sent before, and deletes some. */
async function streamed(lives: readonly Life[], { limited }: Metrics, now: number, random: (below: number) => number) {
  const sent = lives.flatMap(life => {
    const fresh = Array.from({ length: 1 + random(6) }, () => {
      const isLimited = random(5) === 0;
      const metric = life.metrics[random(life.metrics.length)] as Metric;
      // most are of the last two days, some as late as is taken
      const ago = random(3) === 0 ? random(34 * day) : random(2 * day);
      const canBeNegative = !isLimited && metric.aggregation !== 'count';
      return {
        life,
        isRepeat: false,
        code: isLimited ? limited.code : metric.code,
        event: {
          id: `e${life.userId}-${++orders}`,
          order: orders,
          metricId: isLimited ? limited.id : metric.id,
          time: Math.max(life.starts[0] ?? 0, now - ago),
          unique: `u${random(6)}`,
          value: canBeNegative ? random(70) - 10 : random(60),
        },
      };
    });
    const again = life.events
      .filter(() => random(15) === 0)
      .map(event => {
        const code = life.metrics.find(({ id }) => id === event.metricId)?.code ?? limited.code;
        return { life, isRepeat: true, code, event };
      });
    return [...fresh, ...again].sort(() => random(2) - 0.5);
  });
  for (let from = 0; from < sent.length; from += 900) {
    const part = sent.slice(from, from + 900);
    const { results } = await s.record(
      part.map(({ life, code, event }) => ({
        userId: life.userId,
        metricCode: code,
        externalEventId: event.id,
        eventTime: event.time,
        aggregationValue: event.value,
        aggregationUniqueId: event.unique,
      })),
    );
    for (const [at, { life, event, isRepeat }] of part.entries()) {
      const isTaken = results[at]?.code === 0;
      if (isRepeat) expect([life.course, isTaken]).toEqual([life.course, true]);
      else if (event.metricId === limited.id) takeLimited(life, event, isTaken);
      else {
        if (!life.isOver)
          expect([life.course, results[at]]).toEqual([life.course, expect.objectContaining({ code: 0 })]);
        if (isTaken) life.events.push(event);
      }
    }
  }
  for (const life of lives.filter(() => random(4) === 0)) {
    const event = life.events[random(Math.max(life.events.length, 1))];
    const code = life.metrics.find(({ id }) => id === event?.metricId)?.code;
    if (!event || !code) continue;
    const input = { userId: life.userId, metricCode: code, externalEventId: event.id };
    const result = await s.t.call(deleteUsageEvent, input, s.merchant);
    // what is billed of a subscription that is over is corrected no more
    if (!life.isOver) expect(result).toMatchObject({ ok: true });
    if (result.ok) life.events.splice(life.events.indexOf(event), 1);
  }
}
let orders = 0;

/** An event of a limit is taken if the limit of its period allows it. */
function takeLimited(life: Life, { time, value }: Event, isTaken: boolean): void {
  const period = life.starts.findLast(start => start <= time) ?? 0;
  const used = life.limited.get(period) ?? 0;
  if (!life.isOver) expect([life.course, isTaken]).toEqual([life.course, used + value <= LIMIT]);
  if (isTaken) life.limited.set(period, used + value);
}

const of = ({ id }: Life) => ({ subscriptionId: id });
const cancel = (life: Life, over: object = {}) => {
  life.isOver = true;
  return s.t.done(cancelSubscription, { ...of(life), ...over }, s.merchant);
};

/** Actions of a course, by the time before or after the first end of a period. */
const actions: Partial<Record<Life['course'], [after: number, act: (life: Life, now: number) => Promise<unknown>][]>> =
  {
    change: [[11 * day, changed]],
    twice: [
      [11 * day, changed],
      [20 * day, changed],
    ],
    end: [
      [11 * day, life => s.t.done(cancelAtPeriodEnd, of(life), s.merchant)],
      [
        30 * day + 21 * hour,
        async life => {
          life.isOver = true;
        },
      ],
    ],
    now: [[11 * day, life => cancel(life, { invoiceNow: true })]],
    drop: [[11 * day, life => cancel(life)]],
    declined: [
      [-hour, life => s.swap(life.userId, 'declines_softly')],
      [5 * hour, life => s.swap(life.userId, 'succeeds')],
    ],
    expires: [
      [-hour, life => s.swap(life.userId, 'declines_softly')],
      [
        20 * hour,
        async life => {
          life.isOver = true;
        },
      ],
    ],
    remade: [
      [-hour, life => s.swap(life.userId, 'declines_softly')],
      [
        5 * hour,
        async life => {
          const { invoiceId } = await s.state(life.id);
          await s.t.done(cancelInvoice, { invoiceId }, s.merchant);
          await s.swap(life.userId, 'succeeds');
        },
      ],
    ],
    'given up': [
      [-hour, life => s.swap(life.userId, 'declines_softly')],
      [5 * hour, life => cancel(life)],
    ],
    'given up now': [
      [-hour, life => s.swap(life.userId, 'declines_softly')],
      [5 * hour, life => cancel(life, { invoiceNow: true })],
    ],
  };

async function changed(life: Life, from: number): Promise<void> {
  const next = life.plans.shift();
  if (!next) throw new Error('no plan is left');
  const change = { ...of(life), newPlanId: next.planId, quantity: 1, effectImmediate: 1 };
  const { paid } = await s.t.done(submitChange, change, s.merchant);
  life.terms.push({ from, prices: next.prices });
  if (!paid) await s.drain();
}

/** Times at which events are sent, from the first end of a period on; those of actions are between them. */
const stops = [
  -28 * day,
  -3 * day,
  -30 * minute,
  30 * minute,
  hour + minute,
  14 * hour,
  5 * day,
  11 * day + 20 * minute,
  11 * day + 2 * hour,
  20 * day + hour,
  31 * day - 1,
  32 * day,
  55 * day,
];

const kill = `select count(pg_terminate_backend(pid)) as killed from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and usename like '%_app' and state <> 'idle'`;

/** Does what is due; now and then its connections are killed meanwhile, and it is done again. */
async function worked(random: (below: number) => number): Promise<number> {
  let killed = 0;
  if (random(4) === 0) {
    const drained = s.drain().catch(() => undefined);
    await new Promise(resolve => setTimeout(resolve, random(40)));
    killed = Number((await s.t.rows(kill))[0]?.killed ?? 0);
    await drained;
  }
  await s.drain();
  return killed;
}

/** The amount billed of each stretch, or dropped: `<metric> <start>` to the amount. */
async function billed(): Promise<Map<string, Map<string, bigint>>> {
  const rows = await s.t.rows(
    `select subscription_id, metric, start_at, sum(amount)::text as amount from (
       select i.subscription_id, substr(l.item_key, 7) as metric, l.start_at, l.amount_excluding_tax as amount
         from invoices i join invoice_lines l on l.merchant_id = i.merchant_id and l.invoice_id = i.invoice_id
         where i.merchant_id = $1 and i.deleted_time = 0 and i.status <> 'cancelled' and l.item_key like 'usage:%'
           and i.original_invoice_id = ''
       union all select subscription_id, metric_id::text, start_at, amount from usage_billings
         where merchant_id = $1 and invoice_id like 'dropped\\_%') b
     group by 1, 2, 3 having sum(amount) <> 0`,
    [s.merchant.merchantId],
  );
  const found = new Map<string, Map<string, bigint>>();
  for (const { subscription_id: id, metric, start_at: start, amount } of rows) {
    const own = found.get(String(id)) ?? new Map<string, bigint>();
    found.set(String(id), own.set(`${metric} ${start}`, BigInt(String(amount))));
  }
  return found;
}

/** The periods of a life that are billed or dropped: all that are over, and the last one up to the end. */
async function livedBy({ id, starts }: Life): Promise<Lived[]> {
  const [row] = await s.t.rows('select status, cancel_time from subscriptions where subscription_id = $1', [id]);
  const ended = row?.status === 'active' ? Number.POSITIVE_INFINITY : Number(row?.cancel_time) + 1;
  return starts.slice(0, -1).flatMap((start, at) => {
    const end = starts[at + 1] ?? start;
    return start < ended - 1 ? [{ start, end, until: Math.min(end, ended) }] : [];
  });
}

it.each(Array.from({ length: rounds }, (_, at) => first + at))(
  'of seed %i are billed as a naive recount prices them',
  async seed => {
    const random = randomFrom(seed);
    await s.anew('2026-03-01');
    const offset = utc('2026-03-01') - s.clock.now();
    const real = (time: number) => time - offset;
    const metrics = metricsOf();
    const seasons = [
      ['2026-03-01', '2026-04-01', '2026-05-01', '2026-06-01'],
      ['2026-03-01T07:00', '2026-04-01T07:00', '2026-05-01T07:00', '2026-06-01T07:00'],
    ].map(starts => starts.map(utc));
    const lives: Life[] = [];
    const steps = seasons.flatMap((starts, season) => {
      const [start = 0, end = 0] = starts;
      const acts = new Set(Object.values(actions).flatMap(all => all.map(([after]) => after)));
      return [
        { at: start, season, isBegin: true, after: 0, isAct: false },
        ...stops.map(after => ({ at: end + after, season, isBegin: false, after, isAct: false })),
        ...[...acts].map(after => ({ at: end + after, season, isBegin: false, after, isAct: true })),
        ...[0, hour, 30 * day, 30 * day + hour, 61 * day + 2 * hour].map(after => ({
          at: end + after,
          season: -1,
          isBegin: false,
          after,
          isAct: false,
        })),
      ];
    });
    let killed = 0;
    for (const step of steps.sort((one, other) => one.at - other.at)) {
      s.clock.advance(Math.max(0, real(step.at) - s.clock.now()));
      killed += await worked(random);
      const own = lives.filter(({ starts }) => starts === seasons[step.season]);
      if (step.isBegin) {
        for (let at = 0; at < perRound / seasons.length; at++) {
          const course = courses[at % courses.length] as Life['course'];
          lives.push(await begun(seasons[step.season] ?? [], metrics, course, random));
        }
      } else if (step.isAct) {
        for (const life of own)
          for (const [after, act] of actions[life.course] ?? []) if (after === step.after) await act(life, step.at);
      } else {
        await streamed(own, metrics, step.at, random);
      }
      killed += await worked(random);
    }
    const found = await billed();
    let [amounts, noticed] = [0, 0];
    for (const life of lives) {
      const lived = await livedBy(life);
      const expected = life.metrics.flatMap(metric =>
        [...costs(metric, { ...life, lived })].map(([start, amount]) => [`${metric.id} ${start}`, amount] as const),
      );
      amounts += expected.length;
      const one = { ...life, lived, events: life.events.slice(1) };
      if (life.metrics.some(metric => !isDeepStrictEqual(costs(metric, one), costs(metric, { ...life, lived }))))
        noticed++;
      expect([life.course, life.id, new Map([...(found.get(life.id) ?? [])].sort())]).toEqual([
        life.course,
        life.id,
        new Map(expected.sort()),
      ]);
    }
    expect(amounts).toBeGreaterThan(3 * perRound);
    // an event that is lost is found
    expect(noticed).toBeGreaterThan(perRound / 4);
    expect(killed).toBeGreaterThan(0);
  },
  sized(600_000, 3_600_000),
);
