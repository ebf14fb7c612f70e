import type { Seller } from './seller.js';
import { DAY, type Example, HOUR, on, subscribed, type TimeLine } from './time-line.js';

type Unit = 'day' | 'week' | 'month' | 'year';

/** The course of a cycle invoice whose charges are declined at these hours from the start of its period. */
async function* declined(seller: Seller, intervalUnit: Unit, hours: readonly number[]) {
  const { userId } = await seller.buyer();
  const planId = await seller.plan({ intervalUnit });
  const { subscriptionId, currentPeriodEnd: start } = yield* subscribed(seller, { userId, planId });
  await seller.card(userId, 'declines_softly');
  const charges: [before: number, after: number][] = [];
  const statuses: number[] = [];
  for (const hour of hours) {
    yield start + hour * HOUR - 60;
    const before = await seller.declined(userId);
    yield start + hour * HOUR + 60;
    charges.push([before, await seller.declined(userId)]);
    statuses.push((await seller.subscription(subscriptionId)).status);
  }
  yield start + DAY - 60;
  const open = (await seller.documents(userId)).at(-1);
  yield start + DAY + 60;
  const closed = (await seller.documents(userId)).at(-1);
  statuses.push((await seller.subscription(subscriptionId)).status);
  return {
    madeHoursBefore: (start - (closed?.createTime ?? 0)) / HOUR,
    charges,
    statuses,
    invoice: [open?.status, closed?.status],
  };
}

const usual = [-2, 10, 22];
const leads: [unit: Unit, lead: string, madeHoursBefore: number, attempts: number[]][] = [
  ['day', '1 h', 1, [-1, 11, 23]],
  ['week', '24 h', 24, usual],
  ['month', '3 d', 72, usual],
  ['year', '15 d', 360, usual],
];

// The course of a cycle invoice that nobody pays, for each interval.

const examples: Example[] = [
  ...leads.map(
    ([unit, lead, madeHoursBefore, attempts]): Example => ({
      rule: '§7',
      title: `${unit}: made ${lead} before P, charged at P ${attempts.join(', ')} h, incomplete at P, expired at P + 24 h`,
      live: seller => declined(seller, unit, attempts),
      sees: {
        madeHoursBefore,
        charges: attempts.map((_, at) => [at, at + 1]),
        statuses: [2, 7, 7, 5],
        invoice: [2, 4],
      },
    }),
  ),
  {
    rule: '§7',
    title: 'a subscription that never paid has failed 3 days after it was submitted',
    async *live(seller) {
      const { userId } = await seller.buyer('declines_softly');
      const { subscriptionId, createTime } = await seller.subscribe({ userId });
      yield createTime + 3 * DAY - 60;
      const before = (await seller.subscription(subscriptionId)).status;
      yield createTime + 3 * DAY + 60;
      return [before, (await seller.subscription(subscriptionId)).status];
    },
    sees: [1, 9],
  },
];

export const collecting: TimeLine = { from: on('01-31'), examples };
