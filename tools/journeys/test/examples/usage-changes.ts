import { expect } from '@jest/globals';
import { orThrow } from '@recur/client';
import { aggregationType, metricType } from '@recur/contracts';
import { assertExplained, promised } from './documents.js';
import { netsOf, type Seller, usageOf } from './seller.js';
import { changed, DAY, type Example, HOUR, on, renewed, SETTLED, subscribed, type TimeLine } from './time-line.js';
import { graduated, metering, usageAndTotal } from './usage.js';

/** A subscription of 1000 by a card that is declined at P, whose open invoice bills 40 units at 10. */
async function* unpaid(seller: Seller) {
  const { userId } = await seller.buyer();
  const over = { plan: { amount: 1000 }, terms: { userId } };
  const { subscription, use } = yield* metering(seller, { standardAmount: 10 }, over);
  await use(40);
  await seller.card(userId, 'declines_softly');
  const open = yield* renewed(seller, subscription, on('05-01'));
  const cancel = async () => orThrow(await seller.api.post('/merchant/invoice/cancel', { invoiceId: open.invoiceId }));
  return { subscription, userId, open, cancel };
}

// Usage through changes of plan, trials, limits that upgrade, other currencies and cancelled invoices, in a month of 30 days.

const examples: Example[] = [
  {
    rule: 'G5',
    title: 'old 100 at 10 then 5, used 150: 1250 on the update invoice; new 8, 60 more: 480',
    async *live(seller) {
      const { subscription, metricId, use } = yield* metering(seller, graduated, { plan: { amount: 1000 } });
      const metricMeteredCharge = [{ metricId, standardAmount: 8 }];
      const newPlanId = await seller.plan({ amount: 2000, metricMeteredCharge });
      await use(150);
      const update = yield* changed(seller, subscription, subscription.currentPeriodStart + 18 * DAY, { newPlanId });
      await use(60);
      const next = yield* renewed(seller, subscription, on('05-01'));
      return [netsOf(update), ...usageAndTotal(update), ...usageAndTotal(next)];
    },
    // 1650 and 330 of tax, then 2480 and 496
    sees: [[-400, 800, 1250], ['150 × Calls: 1250 + 250'], 1980, ['60 × Calls: 480 + 96'], 2976],
  },
  {
    rule: 'G5',
    title: 'an equal price closes nothing: 90 before and 60 after a change are 150: 1250',
    async *live(seller) {
      const { subscription, metricId, use } = yield* metering(seller, graduated, { plan: { amount: 1000 } });
      const newPlanId = await seller.plan({ amount: 2000, metricMeteredCharge: [{ metricId, ...graduated }] });
      await use(90);
      const update = yield* changed(seller, subscription, subscription.currentPeriodStart + 18 * DAY, { newPlanId });
      await use(60);
      const next = yield* renewed(seller, subscription, on('05-01'));
      return [netsOf(update), ...usageAndTotal(next)];
    },
    sees: [[-400, 800], ['150 × Calls: 1250 + 250'], 3900],
  },
  {
    rule: 'G5',
    title: 'a maximum is billed per segment × its fraction: 7 at 10 for 60 %: 42; 6 at 8 for 40 %: 19',
    async *live(seller) {
      const over = { plan: { amount: 1000 }, metric: { aggregationType: aggregationType.max } };
      const { subscription, metricId, use } = yield* metering(seller, { standardAmount: 10 }, over);
      const metricMeteredCharge = [{ metricId, standardAmount: 8 }];
      const newPlanId = await seller.plan({ amount: 2000, metricMeteredCharge });
      await use(7);
      const update = yield* changed(seller, subscription, subscription.currentPeriodStart + 18 * DAY, { newPlanId });
      await use(6);
      return [usageOf(update), usageOf(yield* renewed(seller, subscription, on('05-01')))];
    },
    sees: [['7 × Calls: 42 + 8'], ['6 × Calls: 19 + 4']],
  },
  {
    rule: 'G5',
    title: 'limit 1000 → 5000 with 40 % left: 2600 with carryoverProrationEnabled, else 5000; used stays',
    async *live(seller) {
      const limits = [true, false].map(each =>
        seller.metric({ type: metricType.limitMetered, carryoverProrationEnabled: each }),
      );
      const metrics = await Promise.all(limits);
      const of = (metricLimit: number) => ({
        metricLimits: metrics.map(({ id: metricId }) => ({ metricId, metricLimit })),
      });
      const subscription = yield* subscribed(seller, { planId: await seller.plan(of(1000)) });
      for (const { code } of metrics) await seller.use(subscription.userId, code, 900);
      const newPlanId = await seller.plan({ amount: 2000, ...of(5000) });
      yield* changed(seller, subscription, subscription.currentPeriodStart + 18 * DAY, { newPlanId });
      return Promise.all(metrics.map(({ code }) => seller.limit(subscription.userId, code)));
    },
    sees: [
      [900, 2600],
      [900, 5000],
    ],
  },
  {
    rule: 'G6',
    title: 'in a trial of 7 days a limit counts, and nothing is charged; charges begin at zero at trialEnd',
    async *live(seller) {
      const limit = await seller.metric({ type: metricType.limitMetered });
      const standing = await seller.metric({ type: metricType.chargeRecurring });
      const plan = {
        metricRecurringCharge: [{ metricId: standing.id, standardAmount: 10 }],
        metricLimits: [{ metricId: limit.id, metricLimit: 100 }],
      };
      const { subscription, use } = yield* metering(seller, graduated, { plan, terms: { trialEnd: on('04-08') } });
      const { userId } = subscription;
      const limited = (value: number) => seller.use(userId, limit.code, value);
      const taken = [await limited(60), await limited(41), await use(150), await seller.use(userId, standing.code, 5)];
      const first = yield* renewed(seller, subscription, on('04-08'));
      taken.push(await limited(101), await limited(100), await use(10), await seller.use(userId, standing.code, 3));
      const second = yield* renewed(seller, subscription, on('05-08'));
      return [taken, netsOf(first), netsOf(second), usageOf(second).toSorted()];
    },
    sees: [
      ['', 'usage_limit_exceeded', '', '', 'usage_limit_exceeded', '', '', ''],
      [500],
      [500, 30, 100],
      ['10 × Calls: 100 + 20', '3 × Calls: 30 + 6'],
    ],
  },
  {
    rule: 'G8',
    title: 'an event that the limit refuses starts the upgrade, once per period; events after it took effect are taken',
    async *live(seller) {
      const { id: metricId, code } = await seller.metric({ type: metricType.limitMetered });
      const plan = async (amount: number, metricLimit: number, autoUpgradePlanId: number) =>
        seller.plan({ amount, metricLimits: [{ metricId, metricLimit }], autoUpgradePlanId });
      const large = await plan(4000, 1000, 0);
      const planId = await plan(1000, 10, await plan(2000, 100, large));
      const subscription = yield* subscribed(seller, { planId });
      const { userId, currentPeriodStart: start } = subscription;
      const used = (value: number) => seller.use(userId, code, value);
      yield start + 15 * DAY;
      const taken = [await used(11), await used(11)];
      yield start + 15 * DAY + SETTLED;
      taken.push(await used(11), await used(90));
      yield start + 15 * DAY + 2 * SETTLED;
      const invoices = await seller.documents(userId);
      yield start + 31 * DAY;
      taken.push(await used(101));
      yield start + 31 * DAY + SETTLED;
      taken.push(await used(101));
      return [taken, invoices.map(netsOf), await seller.limit(userId, code)];
    },
    sees: [
      ['usage_limit_exceeded', 'usage_limit_exceeded', '', 'usage_limit_exceeded', 'usage_limit_exceeded', ''],
      // 11 of 100 are used when 90 more are refused, and no second upgrade follows
      [[1000], [-500, 1000]],
      [101, 1000],
    ],
  },
  {
    rule: 'G9',
    title: '9.99 USD at 149.5: 1494 JPY, × 3 = 4482; renewals reuse it',
    async *live(seller) {
      const plan = {
        amount: 999,
        currency: 'USD',
        multiCurrencies: [{ currency: 'JPY', exchangeRate: 149.5 }],
      };
      const over = { plan, terms: { currency: 'JPY', quantity: 3 } };
      const { subscription, use } = yield* metering(seller, { standardAmount: 999 }, over);
      await use(3);
      const first = await seller.lastDocument(subscription.userId);
      const next = yield* renewed(seller, subscription, on('05-01'));
      return [first.currency, netsOf(first), netsOf(next), usageOf(next), next.totalAmount];
    },
    // tax 896.4 twice, of which the lines have 896 and 897
    sees: ['JPY', [4482], [4482, 4482], ['3 × Calls: 4482 + 896'], 10_757],
  },
  {
    rule: 'Z4',
    title: 'the usage of a cycle invoice that is cancelled stands on the one that replaces it',
    async *live(seller) {
      const { subscription, userId, open, cancel } = yield* unpaid(seller);
      await cancel();
      await seller.card(userId, 'succeeds');
      const preview = await seller.preview(subscription.subscriptionId);
      yield on('05-02');
      const again = await seller.lastDocument(userId);
      await assertExplained(seller, again);
      expect(promised(again)).toEqual(promised(preview));
      const { status } = await seller.document(open.invoiceId);
      return [status, open.invoiceId !== again.invoiceId, again.status, ...usageAndTotal(again)];
    },
    sees: [5, true, 3, ['40 × Calls: 400 + 80'], 1680],
  },
  {
    rule: 'Z4',
    title: 'where none replaces it, since that would be past the deadline, its usage stands on an invoice of its own',
    async *live(seller) {
      const { userId, cancel } = yield* unpaid(seller);
      yield on('05-02') + HOUR / 2;
      await cancel();
      yield on('05-02T02');
      const [, ...cycle] = await seller.documents(userId);
      return cycle.map(invoice => [invoice.status, ...usageAndTotal(invoice)]);
    },
    sees: [
      [5, ['40 × Calls: 400 + 80'], 1680],
      [2, ['40 × Calls: 400 + 80'], 480],
    ],
  },
];

export const usageChanges: TimeLine = { from: on('04-01'), examples };
