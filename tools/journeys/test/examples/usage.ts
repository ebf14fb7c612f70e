import { orThrow } from '@recur/client';
import { metricType } from '@recur/contracts';
import { type Example, on, subscribed, type TimeLine } from './time-line.js';

/** 1–100 at 10, then 5. */
export const tiers = [
  { startValue: 0, endValue: 100, perAmount: 10 },
  { startValue: 100, endValue: -1, perAmount: 5 },
];

/** The same with flat amounts of 500 and 700. */
const flatTiers = tiers.map((tier, at) => ({ ...tier, flatAmount: [500, 700][at] }));

/** Prices of used units: standard ones, and graduated ones of each tier that is reached. */
const prices: [title: string, price: object, used: number, amount: number][] = [
  ['standard, 120 used of which 100 are free, at 10: 200', { standardAmount: 10, standardStartValue: 100 }, 120, 200],
  ['standard, 90 used of which 100 are free: 0', { standardAmount: 10, standardStartValue: 100 }, 90, 0],
  ['graduated, 1–100 at 10, then 5: 150 cost 1250', { chargeType: 1, graduatedAmounts: tiers }, 150, 1250],
  ['graduated with flat amounts: 100 cost 1500', { chargeType: 1, graduatedAmounts: flatTiers }, 100, 1500],
  ['graduated with flat amounts: 101 cost 2205', { chargeType: 1, graduatedAmounts: flatTiers }, 101, 2205],
];

// Usage of a period is billed at its end, on an invoice that stays a draft for an hour.

const examples: Example[] = [
  ...prices.map(
    ([title, price, used, amount]): Example => ({
      rule: '§7',
      title,
      async *live(seller) {
        const { id: metricId, code } = await seller.metric({ type: metricType.chargeMetered });
        const planId = await seller.plan({ amount: 500, metricMeteredCharge: [{ metricId, ...price }] });
        const { subscriptionId, userId } = yield* subscribed(seller, { planId });
        await seller.use(userId, code, used);
        const { totalAmount: previewed } = await seller.preview(subscriptionId);
        yield on('05-01T02');
        return { previewed, invoices: await seller.invoices(userId) };
      },
      sees: {
        previewed: 500 + amount,
        invoices: ['Create 3 04-01 05-01 500', `Cycle 3 05-01 06-01 ${500 + amount}`],
      },
    }),
  ),
  {
    rule: '§7',
    title: 'an event over the limit of 100 is refused; a repeat under its id changes nothing',
    async *live(seller) {
      const { id: metricId, code } = await seller.metric({ type: metricType.limitMetered });
      const planId = await seller.plan({ metricLimits: [{ metricId, metricLimit: 100 }] });
      const { userId } = yield* subscribed(seller, { planId });
      const answers = [];
      for (const [value, id] of [
        [60, 'a'],
        [60, 'a'],
        [41, 'b'],
        [40, 'c'],
      ] as const)
        answers.push(await seller.use(userId, code, value, id));
      const path = '/merchant/metric/event/current_value';
      const { currentValue } = orThrow(await seller.api.post(path, { userId, metricCode: code }));
      return [...answers, currentValue];
    },
    sees: ['', '', 'usage_limit_exceeded', '', 100],
  },
];

export const usage: TimeLine = { from: on('04-01'), examples };
