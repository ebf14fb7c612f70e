import { type Input, orThrow } from '@recur/client';
import { aggregationType, type Invoice, invoiceStatus, metricType } from '@recur/contracts';
import { type Seller, usageOf } from './seller.js';
import { DAY, type Example, GRACE, HOUR, on, renewed, subscribed, type TimeLine } from './time-line.js';

/** 1–100 at 10, then 5. */
export const tiers = [
  { startValue: 0, endValue: 100, perAmount: 10 },
  { startValue: 100, endValue: -1, perAmount: 5 },
];
export const graduated = { chargeType: 1, graduatedAmounts: tiers };

/** The same with flat amounts of 500 and 700. */
const flat = { ...graduated, graduatedAmounts: tiers.map((tier, at) => ({ ...tier, flatAmount: [500, 700][at] })) };

type Over = {
  metric?: Partial<Input<'/merchant/metric/new'>>;
  plan?: Partial<Input<'/merchant/plan/new'>>;
  terms?: Partial<Input<'/merchant/subscription/create_submit'>>;
};

/** A subscription, with 20 % tax, to a plan of 500 a month that charges a metric at a price. */
export async function* metering(seller: Seller, price: object, { metric = {}, plan = {}, terms = {} }: Over = {}) {
  const { id: metricId, code } = await seller.metric({ type: metricType.chargeMetered, ...metric });
  const planId = await seller.plan({ amount: 500, metricMeteredCharge: [{ metricId, ...price }], ...plan });
  const subscription = yield* subscribed(seller, { planId, taxPercentage: 2000, ...terms });
  const { userId } = subscription;
  const use = (value: number, over: Parameters<Seller['use']>[3] = {}) => seller.use(userId, code, value, over);
  return { subscription, metricId, code, use };
}

/** Usage lines and total of an invoice. */
export const usageAndTotal = (invoice: Invoice) => [usageOf(invoice), invoice.totalAmount];

/** Whole minutes from a time to another: a merchant's clock goes on by itself, so that work is done a moment after its time. */
const minutesFrom = (from: number, to: number): number => Math.floor((to - from) / 60);

/** Prices of used units: standard ones, and graduated ones of each tier that is reached. */
const prices: [rule: string, title: string, price: object, used: number, amount: number][] = [
  ['§7', 'standard, 120 of which 100 are free, at 10: 200', { standardAmount: 10, standardStartValue: 100 }, 120, 200],
  ['§7', 'standard, 90 of which 100 are free: 0', { standardAmount: 10, standardStartValue: 100 }, 90, 0],
  ['§7', 'graduated, 1–100 at 10, then 5: 150 cost 1250', graduated, 150, 1250],
  ['G4', '1–100 at 10 flat 500, then 5 flat 700: 0 cost 0', flat, 0, 0],
  ['G4', '1–100 at 10 flat 500, then 5 flat 700: 100 cost 1500', flat, 100, 1500],
  ['G4', '1–100 at 10 flat 500, then 5 flat 700: 101 cost 2205', flat, 101, 2205],
  ['G7', '12 345 at 0.02: 247', { standardAmountDecimal: '0.02' }, 12_345, 247],
  ['G7', '1 234 567 at 0.0015: 1852', { standardAmountDecimal: '0.0015' }, 1_234_567, 1852],
];

// Usage of a period is billed at its end, on an invoice that stays a draft for an hour.

const examples: Example[] = [
  ...prices.map(
    ([rule, title, price, used, amount]): Example => ({
      rule,
      title,
      async *live(seller) {
        const { subscription, use } = yield* metering(seller, price, { terms: { taxPercentage: 0 } });
        await use(used);
        const { totalAmount: previewed } = await seller.preview(subscription.subscriptionId);
        return [previewed, ...usageAndTotal(yield* renewed(seller, subscription, on('05-01')))];
      },
      sees: [500 + amount, used > 0 ? [`${used} × Calls: ${amount} + 0`] : [], 500 + amount],
    }),
  ),
  {
    rule: 'G1',
    title: '150 units billed (100 at 10, then 5: 1250), 10 late: 50',
    async *live(seller) {
      const { subscription, use } = yield* metering(seller, graduated);
      await use(150);
      const first = usageOf(yield* renewed(seller, subscription, on('05-01')));
      await use(10, { eventTime: on('04-10') });
      return [first, ...usageAndTotal(yield* renewed(seller, subscription, on('06-01')))];
    },
    sees: [['150 × Calls: 1250 + 250'], ['10 × Calls: 50 + 10'], 660],
  },
  {
    rule: 'G1',
    title: 'an invoiced event of 50 at 5 is deleted: −250 on the next invoice; its id may not be used again',
    async *live(seller) {
      const { subscription, code, use } = yield* metering(seller, graduated);
      const { userId } = subscription;
      await use(100);
      await use(50, { externalEventId: 'b' });
      const first = usageOf(yield* renewed(seller, subscription, on('05-01')));
      orThrow(
        await seller.api.post('/merchant/metric/event/delete', { userId, metricCode: code, externalEventId: 'b' }),
      );
      const again = await use(50, { externalEventId: 'b' });
      return [first, again, ...usageAndTotal(yield* renewed(seller, subscription, on('06-01')))];
    },
    sees: [['150 × Calls: 1250 + 250'], 'usage_event_deleted', ['-50 × Calls: -250 + -50'], 300],
  },
  {
    rule: 'G2',
    title: '900 units at 10 at 00:10: 9000; 30 more stamped 23:50 arrive 00:40: 9300; finished 01:00, charged then',
    async *live(seller) {
      const { subscription, use } = yield* metering(seller, { standardAmount: 10 });
      const { subscriptionId, userId, currentPeriodEnd: end } = subscription;
      await use(900);
      yield on('05-01') + HOUR / 6;
      const previewed = usageOf(await seller.preview(subscriptionId));
      const { status: draft } = await seller.lastDocument(userId);
      yield on('05-01') + GRACE;
      const late = await use(30, { eventTime: end - HOUR / 6 });
      const invoice = yield* renewed(seller, subscription, on('05-01'));
      const { status, finishTime, paidTime } = invoice;
      const isChargedThen = paidTime >= finishTime && paidTime < finishTime + HOUR;
      return [previewed, draft, late, usageOf(invoice), minutesFrom(end, finishTime), status, isChargedThen];
    },
    sees: [
      ['900 × Calls: 9000 + 1800'],
      invoiceStatus.pending,
      '',
      ['930 × Calls: 9300 + 1860'],
      60,
      invoiceStatus.paid,
      true,
    ],
  },
  {
    rule: 'G3',
    title: '1000, used 700: 1300; + 50 by hand; used 900: carryover 450; never below used; other limits begin anew',
    async *live(seller) {
      const [{ id, code }, other] = [
        await seller.metric({ type: metricType.limitRecurring }),
        await seller.metric({ type: metricType.limitMetered }),
      ];
      const metricLimits = [id, other.id].map(metricId => ({ metricId, metricLimit: 1000 }));
      const { userId } = yield* subscribed(seller, { planId: await seller.plan({ metricLimits }) });
      const codes = [code, other.code];
      const limits = () => Promise.all(codes.map(each => seller.limit(userId, each)));
      for (const each of codes) await seller.use(userId, each, 700);
      yield on('05-01T02');
      const carried = await limits();
      const adjusted: string[] = [];
      for (const each of codes) {
        adjusted.push(await seller.adjust(userId, each, 50), await seller.use(userId, each, 900));
        // 1350 and 1050, of which 900 are used
        adjusted.push(await seller.adjust(userId, each, -451));
      }
      yield on('06-01T02');
      return [carried, adjusted, await limits()];
    },
    sees: [
      [
        [0, 1300],
        [0, 1000],
      ],
      ['', '', 'limit_below_usage', '', '', 'limit_below_usage'],
      [
        [0, 1450],
        [0, 1000],
      ],
    ],
  },
  {
    rule: 'G3',
    title: 'a recurring charge never restarts: 5 at 10, and 3 more a month later: 50, then 80, then 80',
    async *live(seller) {
      const { id: metricId, code } = await seller.metric({ type: metricType.chargeRecurring });
      const planId = await seller.plan({ amount: 500, metricRecurringCharge: [{ metricId, standardAmount: 10 }] });
      const subscription = yield* subscribed(seller, { planId });
      await seller.use(subscription.userId, code, 5);
      const billed = [usageOf(yield* renewed(seller, subscription, on('05-01')))];
      await seller.use(subscription.userId, code, 3);
      for (const day of ['06-01', '07-01']) billed.push(usageOf(yield* renewed(seller, subscription, on(day))));
      return billed.flat();
    },
    sees: ['5 × Calls: 50 + 0', '8 × Calls: 80 + 0', '8 × Calls: 80 + 0'],
  },
  {
    rule: 'G3',
    title: 'latest is that of the greatest eventTime, ties by id: 7 of day 2, 3 of day 1, 9 of day 2: 9',
    async *live(seller) {
      const { subscription, use } = yield* metering(
        seller,
        { standardAmount: 10 },
        { metric: { aggregationType: aggregationType.latest } },
      );
      const start = subscription.currentPeriodStart;
      yield start + 3 * DAY;
      for (const [value, day] of [
        [7, 2],
        [3, 1],
        [9, 2],
      ] as const)
        await use(value, { eventTime: start + day * DAY });
      return usageOf(yield* renewed(seller, subscription, on('05-01')));
    },
    sees: ['9 × Calls: 90 + 18'],
  },
  {
    rule: '§7',
    title: 'an event over the limit of 100 is refused; a repeat under its id changes nothing',
    async *live(seller) {
      const { id: metricId, code } = await seller.metric({ type: metricType.limitMetered });
      const planId = await seller.plan({ metricLimits: [{ metricId, metricLimit: 100 }] });
      const { userId } = yield* subscribed(seller, { planId });
      const answers = [];
      for (const [value, externalEventId] of [
        [60, 'a'],
        [60, 'a'],
        [41, 'b'],
        [40, 'c'],
      ] as const)
        answers.push(await seller.use(userId, code, value, { externalEventId }));
      return [...answers, ...(await seller.limit(userId, code))];
    },
    sees: ['', '', 'usage_limit_exceeded', '', 100, 100],
  },
];

export const usage: TimeLine = { from: on('04-01'), examples };

/** Examples of a merchant without a time of grace, which refuses late usage. */
export const strictUsage: TimeLine = {
  from: on('04-01'),
  examples: [
    {
      rule: 'G1',
      title: 'usage of an invoiced period is refused where the config says so; usageGraceTime 0 finishes at P (G2)',
      async *live(seller) {
        const config = { usageGraceTime: 0, lateUsage: 'refuse' } as const;
        orThrow(await seller.api.post('/merchant/subscription/config/update', config));
        const { subscription, use } = yield* metering(seller, graduated);
        await use(150);
        yield on('05-01T02');
        const refused = await use(10, { eventTime: on('04-10') });
        const invoice = await seller.lastDocument(subscription.userId);
        const { status, finishTime } = invoice;
        const minutes = minutesFrom(subscription.currentPeriodEnd, finishTime);
        return [refused, minutes, status, ...usageAndTotal(invoice)];
      },
      sees: ['usage_period_invoiced', 0, invoiceStatus.paid, ['150 × Calls: 1250 + 250'], 2100],
    },
  ],
};
