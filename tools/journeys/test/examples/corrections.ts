import { orThrow } from '@recur/client';
import { netsOf, type Seller, shown } from './seller.js';
import { changed, DAY, type Example, HOUR, on, SETTLED, subscribed, type TimeLine } from './time-line.js';

// Worked examples of what stays unbilled, of free time, of codes for some cycles, and of previews, in a month of 30 days.

const days = { intervalUnit: 'day', intervalCount: 30 } as const;

/** A subscription of 1000 by wire transfer, above a minimum of 50, whose first invoice is paid. */
async function byTransfer(seller: Seller, gatewayId: number) {
  const { api } = seller;
  const { userId, email } = await seller.buyer();
  const terms = { userId, gatewayId, planId: await seller.plan(days), quantity: 1 };
  const { invoiceId, subscription } = orThrow(await api.post('/merchant/subscription/create_submit', terms));
  orThrow(await api.post('/merchant/invoice/mark_wire_transfer_success', { invoiceId, transferNumber: 'T-1' }));
  const { subscriptionId, currentPeriodStart: start, currentPeriodEnd: end } = subscription;
  const changeTo = async (amount: number) => {
    const to = { subscriptionId, newPlanId: await seller.plan({ ...days, amount }), quantity: 1 };
    return orThrow(await api.post('/merchant/subscription/update_submit', to)).invoiceId;
  };
  return { subscriptionId, userId, email, start, end, changeTo };
}

const examples: Example[] = [
  {
    rule: 'D5',
    title: 'minimum 50: 1000 → 1030 at day 15 → 1100 at day 24 of 30: nothing, then 1129; cancelled then: 191 back',
    async *live(seller) {
      const { api } = seller;
      const wire = { currency: 'EUR', minimumAmount: 50 };
      const { gatewayId } = orThrow(await api.post('/merchant/gateway/wire_transfer_setup', wire)).gateway;
      const [going, ending] = [await byTransfer(seller, gatewayId), await byTransfer(seller, gatewayId)];
      yield going.start + 15 * DAY;
      const changes = [await going.changeTo(1030), await ending.changeTo(1030)];
      yield going.start + 24 * DAY;
      changes.push(await going.changeTo(1100));
      const { subscriptionId, email } = ending;
      orThrow(await api.post('/merchant/subscription/cancel', { subscriptionId, prorate: true }));
      const notes = await seller.creditNotes(email);
      yield going.end + SETTLED;
      return [changes, await seller.totals(going.userId), notes.map(({ totalAmount }) => totalAmount)];
    },
    sees: [['', '', ''], [1000, 1129], [-191]],
  },
  {
    rule: 'R2',
    title: '1000 → 2000 at half, 240 h appended: −500 + 1000; in the free part to 3000: nothing, then 3000',
    async *live(seller) {
      const subscription = yield* subscribed(seller, {});
      const { subscriptionId, userId, currentPeriodStart: start } = subscription;
      yield start + 15 * DAY;
      const more = { subscriptionId, appendTrialEndHour: 240 };
      orThrow(await seller.api.post('/merchant/subscription/add_new_trial_start', more));
      const two = await seller.plan({ amount: 2000 });
      const invoice = yield* changed(seller, subscription, start + 15 * DAY, { newPlanId: two });
      yield start + 34 * DAY;
      const to = { subscriptionId, newPlanId: await seller.plan({ amount: 3000 }), quantity: 1 };
      const { invoiceId } = orThrow(await seller.api.post('/merchant/subscription/update_submit', to));
      yield start + 41 * DAY;
      return [netsOf(invoice), invoiceId, (await seller.invoices(userId)).at(-1)];
    },
    sees: [[-500, 1000], '', 'Cycle 3 05-11 06-11 3000'],
  },
  {
    rule: 'M2',
    title: '50 % for two cycles, the second replaced at 7: 1000, 2000 of 4000, then 4000',
    async *live(seller) {
      const { userId } = await seller.buyer();
      const discountCode = await seller.code(2, 5000, 2);
      const terms = { userId, planId: await seller.plan({ amount: 2000 }), discountCode };
      const { subscriptionId, currentPeriodEnd: end } = yield* subscribed(seller, terms);
      await seller.card(userId, 'declines_softly');
      yield end + HOUR;
      const standing = await seller.standing(subscriptionId);
      const to = { subscriptionId, newPlanId: await seller.plan({ amount: 4000 }), quantity: 1 };
      orThrow(await seller.api.post('/merchant/subscription/update_submit', to));
      await seller.card(userId, 'succeeds');
      yield end + 2 * HOUR;
      const replaced = await seller.invoices(userId);
      yield end + 31 * DAY + SETTLED;
      return [standing, replaced.slice(1), (await seller.invoices(userId)).at(-1)];
    },
    sees: ['7 04-01 05-01', ['Cycle 5 05-01 06-01 1000', 'Cycle 3 05-01 06-01 2000'], 'Cycle 3 06-01 07-01 4000'],
  },
  {
    rule: 'V1',
    title: 'a next period that is paid is not previewed again',
    async *live(seller) {
      const planId = await seller.plan({ autoChargeConfig: { autoChargeLeadTime: 2 * DAY } });
      const { subscriptionId, userId, currentPeriodStart: start } = yield* subscribed(seller, { planId });
      yield start + 29 * DAY;
      const { invoiceId, periodStart, periodEnd } = await seller.preview(subscriptionId);
      return [(await seller.invoices(userId)).at(-1), invoiceId, shown(periodStart), shown(periodEnd)];
    },
    sees: ['Cycle 3 05-01 06-01 1000', '', '06-01', '07-01'],
  },
];

export const corrections: TimeLine = { from: on('04-01'), examples };
