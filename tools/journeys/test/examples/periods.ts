import { orThrow } from '@recur/client';
import { netsOf, type Seller, shown } from './seller.js';
import { changed, DAY, type Example, HOUR, isLeap, on, subscribed, type TimeLine, year } from './time-line.js';

/** Seconds from a time of 2026, in which the rules tell their examples, to the same of the year that is lived through. */
const since2026 = on('01-31') - Date.UTC(2026, 0, 31) / 1000;

/** A subscription whose first period begins at a time exactly, after a free trial. */
async function* beginningAt(seller: Seller, at: number, amount: number, over: { timeZone?: string } = {}) {
  const planId = await seller.plan({ amount });
  const { subscriptionId } = await seller.subscribe({ planId, trialEnd: at, ...over });
  yield at + 2 * HOUR;
  return seller.subscription(subscriptionId);
}

/** Ends of a subscription's periods, each read once it is the current one. */
async function* endsOf(seller: Seller, subscriptionId: string, count: number) {
  const ends: number[] = [];
  while (ends.length < count) {
    const { currentPeriodEnd } = await seller.subscription(subscriptionId);
    ends.push(currentPeriodEnd);
    yield currentPeriodEnd + HOUR;
  }
  return ends;
}

async function extended(seller: Seller, subscriptionId: string, appendTrialEndHour: number): Promise<string> {
  orThrow(await seller.api.post('/merchant/subscription/add_new_trial_start', { subscriptionId, appendTrialEndHour }));
  const { trialEnd, currentPeriodEnd, billingCycleAnchor } = await seller.subscription(subscriptionId);
  return [trialEnd, currentPeriodEnd, billingCycleAnchor].map(shown).join(' ');
}

// Worked examples of periods and trials, from the last day of January on.

const examples: Example[] = [
  {
    rule: 'Z2',
    title: 'Europe/Berlin, from 31 January 00:00 there: 1772233200, 1774908000, 1777500000',
    async *live(seller) {
      const begin = on('01-30T23');
      const { subscriptionId } = yield* beginningAt(seller, begin, 1000, { timeZone: 'Europe/Berlin' });
      const ends = yield* endsOf(seller, subscriptionId, 3);
      return [begin, ...ends].map(at => at - since2026);
    },
    sees: [1769814000, 1772233200, 1774908000, 1777500000],
  },
  {
    rule: '§7',
    title: '31 January → 28 February → 31 March: clamped to the month, never drifting',
    async *live(seller) {
      const { subscriptionId } = yield* beginningAt(seller, on('01-31'), 1000);
      return (yield* endsOf(seller, subscriptionId, 3)).map(at => at - since2026);
    },
    sees: ['2026-02-28', '2026-03-31', '2026-04-30'].map(date => Date.parse(date) / 1000),
  },
  {
    rule: 'Z6',
    title: '3000 a month, P = 04-10, dueDay 25: 1500, then 04-25 → 05-25',
    async *live(seller) {
      yield on('03-10');
      const { subscriptionId, userId } = yield* subscribed(seller, { planId: await seller.plan({ amount: 3000 }) });
      orThrow(await seller.api.post('/merchant/subscription/change_due_day', { subscriptionId, dueDay: 25 }));
      yield on('04-25T02');
      return seller.invoices(userId);
    },
    sees: ['Create 3 03-10 04-10 3000', 'Cycle 3 04-10 04-25 1500', 'Cycle 3 04-25 05-25 3000'],
  },
  {
    rule: 'U3',
    title: 'anchor 31 Jan, period 02-28 → 03-31, 1000 → 2000 on 03-15: −516 + 1032',
    async *live(seller) {
      const subscription = yield* beginningAt(seller, on('01-31'), 1000);
      const to = { newPlanId: await seller.plan({ amount: 2000 }) };
      return netsOf(yield* changed(seller, subscription, on('03-15'), to));
    },
    sees: [-516, 1032],
  },
  {
    rule: 'R1',
    title: '7 d at 100, 1 month at 500, plan 1000, from 01-31: 02-07, 03-07, 04-07',
    async *live(seller) {
      yield on('01-31');
      const week = { name: 'Week', trialPrice: 100, trialDuration: 7 * DAY };
      const month = { name: 'Month', trialPrice: 500, intervalUnit: 'month', intervalCount: 1 } as const;
      const { userId } = yield* subscribed(seller, { planId: await seller.plan({ multiTrials: [week, month] }) });
      yield on('03-07T02');
      return seller.invoices(userId);
    },
    sees: ['Create 3 01-31 02-07 100', 'Cycle 3 02-07 03-07 500', 'Cycle 3 03-07 04-07 1000'],
  },
  {
    rule: '§7',
    title: 'period ends 03-31, 36 h: trialEnd 04-01T12; 12 h more: 04-02',
    async *live(seller) {
      const { subscriptionId } = yield* beginningAt(seller, on('01-31'), 1000);
      yield on('03-20');
      return [
        await seller.standing(subscriptionId),
        await extended(seller, subscriptionId, 36),
        await extended(seller, subscriptionId, 12),
      ];
    },
    sees: ['2 02-28 03-31', '04-01T12 04-01T12 04-01T12', '04-02 04-02 04-02'],
  },
  {
    rule: 'R2',
    title: 'P = 03-31, [03-31, 04-30) paid, + 36 h: free to 04-01T12, then [04-01T12, 05-01T12)',
    async *live(seller) {
      const { subscriptionId, userId } = yield* beginningAt(seller, on('01-31'), 3000);
      yield on('03-30T23');
      const paid = (await seller.documents(userId)).at(-1);
      const trialEnd = (await extended(seller, subscriptionId, 36)).split(' ')[0];
      yield on('03-31T12');
      const free = await seller.standing(subscriptionId);
      yield on('04-01T13');
      const after = await seller.standing(subscriptionId);
      const invoices = await seller.invoices(userId);
      const again = (await seller.document(paid?.invoiceId ?? '')).number === paid?.number;
      return { trialEnd, free, after, last: invoices.at(-1), again };
    },
    sees: {
      trialEnd: '04-01T12',
      free: '2 02-28 04-01T12',
      after: '2 04-01T12 05-01T12',
      last: 'Cycle 3 03-31 04-30 3000',
      again: true,
    },
  },
];

export const periods: TimeLine = { from: on('01-30T12'), examples };

/** The next leap year, in which the same rule ends a period on 29 February. */
const leapYear = (() => {
  let next = year;
  while (!isLeap(next)) next++;
  return next;
})();

export const leapYears: TimeLine = {
  from: Date.UTC(leapYear, 0, 30) / 1000,
  examples: [
    {
      rule: '§7',
      title: '31 January → 29 February → 31 March in a leap year',
      async *live(seller) {
        const begin = Date.UTC(leapYear, 0, 31) / 1000;
        const { subscriptionId } = yield* beginningAt(seller, begin, 1000);
        return (yield* endsOf(seller, subscriptionId, 2)).map(shown);
      },
      sees: ['02-29', '03-31'],
    },
  ],
};
