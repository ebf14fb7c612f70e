import { orThrow } from '@recur/client';
import { assertExplained } from './documents.js';
import { netsOf, usageOf } from './seller.js';
import { changed, DAY, type Example, on, SETTLED, subscribed, type TimeLine } from './time-line.js';
import { graduated, metering } from './usage.js';

// Worked examples of changes and endings, in a month of 30 days.

const examples: Example[] = [
  {
    rule: 'U1',
    title: '3 × 1000 + add-on 500 → 2 × 1800 is an upgrade: now',
    async *live(seller) {
      const addonPlanId = await seller.addon(500);
      const planId = await seller.plan({ addonIds: [addonPlanId] });
      const addonParams = [{ addonPlanId, quantity: 1 }];
      const subscription = yield* subscribed(seller, { planId, quantity: 3, addonParams });
      const to = { newPlanId: await seller.plan({ amount: 1800 }), quantity: 2, addonParams: [] };
      const at = subscription.currentPeriodStart + 10 * DAY;
      const { invoiceName, totalAmount } = yield* changed(seller, subscription, at, to);
      const { amount, quantity, planId: now } = await seller.subscription(subscription.subscriptionId);
      return { invoiceName, totalAmount, amount, quantity, isNew: now === to.newPlanId };
    },
    // two thirds of 3600, less two thirds of 3000 and of 500
    sees: { invoiceName: 'SubscriptionUpgrade', totalAmount: 67, amount: 3600, quantity: 2, isNew: true },
  },
  {
    rule: 'U2',
    title: '100 % off 7200, 1 → 2 seats with 20 of 30 days left: credit 0, charge 9600',
    async *live(seller) {
      const terms = { planId: await seller.plan({ amount: 7200 }), discountCode: await seller.code(1, 10_000) };
      const subscription = yield* subscribed(seller, terms);
      const at = subscription.currentPeriodStart + 10 * DAY;
      return netsOf(yield* changed(seller, subscription, at, { quantity: 2 }));
    },
    sees: [0, 9600],
  },
  {
    rule: 'U2',
    title: 'recurring 50 %, net 5000, 12 of 30 days left: −2000; new 20000: 8000 − 4000',
    async *live(seller) {
      const terms = { planId: await seller.plan({ amount: 10_000 }), discountCode: await seller.code(2, 5000) };
      const subscription = yield* subscribed(seller, terms);
      const to = { newPlanId: await seller.plan({ amount: 20_000 }) };
      const { lines } = yield* changed(seller, subscription, subscription.currentPeriodStart + 18 * DAY, to);
      return lines.map(({ amountExcludingTax, discountAmount }) => [amountExcludingTax, discountAmount]);
    },
    sees: [
      [-2000, 0],
      [8000, 4000],
    ],
  },
  {
    rule: 'U2',
    title: '1000 → 2000 at day 10 → 4000 at day 20 of 30: −667 + 1333, then −667 + 1333',
    async *live(seller) {
      const subscription = yield* subscribed(seller, {});
      const start = subscription.currentPeriodStart;
      const [two, four] = [await seller.plan({ amount: 2000 }), await seller.plan({ amount: 4000 })];
      const first = yield* changed(seller, subscription, start + 10 * DAY, { newPlanId: two });
      const second = yield* changed(seller, subscription, start + 20 * DAY, { newPlanId: four });
      return [netsOf(first), netsOf(second), first.lines.map(line => line.prorationScale)];
    },
    sees: [
      [-667, 1333],
      [-667, 1333],
      [6666, 6666],
    ],
  },
  {
    rule: 'U3',
    title: 'a stub from the 10th to the 25th of 3000 costs 1500; after 5 days to 6000: −1000 + 2000',
    async *live(seller) {
      yield on('04-10');
      const terms = { planId: await seller.plan({ amount: 3000 }), billingAnchorDay: 25 };
      const subscription = yield* subscribed(seller, terms);
      const stub = await seller.invoices(subscription.userId);
      const to = { newPlanId: await seller.plan({ amount: 6000 }) };
      const invoice = yield* changed(seller, subscription, subscription.currentPeriodStart + 5 * DAY, to);
      return [stub, netsOf(invoice)];
    },
    sees: [['Create 3 04-10 04-25 1500'], [-1000, 2000]],
  },
  {
    rule: 'U3',
    title: '333 × 3 → × 4 for a third of the period: −333 + 444',
    async *live(seller) {
      const subscription = yield* subscribed(seller, { planId: await seller.plan({ amount: 333 }), quantity: 3 });
      return netsOf(yield* changed(seller, subscription, subscription.currentPeriodStart + 20 * DAY, { quantity: 4 }));
    },
    sees: [-333, 444],
  },
  {
    rule: 'U5',
    title: '1000 → 2000, 1 of 30 days left, next period paid: −33 + 67 − 1000 + 2000, tax 20 % 207, total 1241',
    async *live(seller) {
      const planId = await seller.plan({ autoChargeConfig: { autoChargeLeadTime: 2 * DAY } });
      const subscription = yield* subscribed(seller, { planId, taxPercentage: 2000 });
      const at = subscription.currentPeriodStart + 29 * DAY;
      yield at;
      const paid = await seller.invoices(subscription.userId);
      const to = { newPlanId: await seller.plan({ amount: 2000 }) };
      const invoice = yield* changed(seller, subscription, at, to);
      return [paid.at(-1), netsOf(invoice), invoice.taxAmount, invoice.totalAmount];
    },
    sees: ['Cycle 3 05-01 06-01 1200', [-33, 67, -1000, 2000], 207, 1241],
  },
  {
    rule: 'U7',
    title: 'net 10000 + 2000, 40 % left, usage 1250: −2750, tax −550: credit note 3300',
    async *live(seller) {
      const { userId, email } = await seller.buyer();
      const { subscription, use } = yield* metering(seller, graduated, { plan: { amount: 10_000 }, terms: { userId } });
      const { subscriptionId, currentPeriodStart } = subscription;
      yield currentPeriodStart + 18 * DAY;
      const refusal = await use(150);
      const ending = { subscriptionId, prorate: true, invoiceNow: true };
      orThrow(await seller.api.post('/merchant/subscription/cancel', ending));
      yield currentPeriodStart + 18 * DAY + SETTLED;
      const notes = await seller.creditNotes(email);
      for (const note of notes) await assertExplained(seller, note);
      const { creditAccounts } = orThrow(await seller.api.get('/merchant/credit/credit_account_list', { userId }));
      return {
        refusal,
        notes: notes.map(note => [netsOf(note), usageOf(note), note.taxAmount, note.totalAmount]),
        credit: creditAccounts.map(({ totalIncrementAmount }) => totalIncrementAmount),
      };
    },
    sees: { refusal: '', notes: [[[-4000, 1250], ['150 × Calls: 1250 + 250'], -550, -3300]], credit: [3300] },
  },
];

export const changes: TimeLine = { from: on('04-01'), examples };
