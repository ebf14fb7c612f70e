import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { cancelSubscription, listCreditNotes, planType, previewChange, submitChange } from '@recur/contracts';
import { type Subscribers, subscribers } from '../../world/clock.js';

let s: Subscribers;
beforeAll(async () => {
  s = await subscribers();
});
afterAll(() => s.t.close());
beforeEach(() => s.anew('2026-01-31'));

/** Amounts of the lines of the newest invoice. */
async function linesOf(subscriptionId: string): Promise<number[]> {
  const { invoiceId } = await s.state(subscriptionId);
  return (await s.invoice(invoiceId)).lines.map(({ amountExcludingTax }) => amountExcludingTax);
}

it('lines that the next invoice has carried stay unbilled when a change withdraws it, and come first on the one made again', async () => {
  await s.t.rows(`update gateways set minimum_amount = 50, currency = 'EUR' where gateway_id = $1`, [s.gatewayId()]);
  const { id } = await s.subscribe({ userId: await s.userWithCard(), planId: s.plan() });
  const upgrade = (amount: number) =>
    s.t.done(submitChange, { subscriptionId: id, newPlanId: s.plan({ amount }), quantity: 1 }, s.merchant);
  await s.to('2026-02-21');
  await upgrade(1100);
  await s.to('2026-02-25T06:00');
  const carried = [-250, 275];
  expect(await linesOf(id)).toEqual([...carried, 1100]);
  await upgrade(1200);
  await s.to('2026-02-26');
  // the second change ends what the first one charged: 4 days and 6 hours of 7 were used
  expect(await linesOf(id)).toEqual([-250, 167, 118, 1200]);
  await s.to('2026-02-28');
  expect((await s.state(id)).status).toBe('active');
  expect((await s.invoices(id)).at(-1)).toContain('Cycle paid 02-28 03-31');
});

it('lines that the next invoice has carried are set off by an end that is prorated', async () => {
  await s.t.rows(`update gateways set minimum_amount = 50, currency = 'EUR' where gateway_id = $1`, [s.gatewayId()]);
  const { id } = await s.subscribe({ userId: await s.userWithCard(), planId: s.plan() });
  await s.to('2026-02-21');
  await s.t.done(submitChange, { subscriptionId: id, newPlanId: s.plan({ amount: 1100 }), quantity: 1 }, s.merchant);
  await s.to('2026-02-26');
  expect(await linesOf(id)).toEqual([-250, 275, 1100]);
  await s.t.done(cancelSubscription, { subscriptionId: id, prorate: true }, s.merchant);
  const { creditNotes } = await s.t.done(listCreditNotes, {}, s.merchant);
  // 5 of 7 days of 275 were used: 196
  expect(creditNotes.map(({ totalAmount }) => totalAmount).filter(amount => amount !== -1125)).toEqual([-54]);
});

describe('below a minimum of 50, 30 days at 1000', () => {
  const days = { intervalUnit: 'day', intervalCount: 30 } as const;
  const terms = (id: string, amount: number) => ({
    subscriptionId: id,
    newPlanId: s.plan({ ...days, amount }),
    quantity: 1,
  });
  const change = async (id: string, amount: number) => {
    const { invoiceId, paid } = await s.t.done(submitChange, terms(id, amount), s.merchant);
    return { invoiceId, paid };
  };
  const nothing = { invoiceId: '', paid: true };

  /** A subscription whose change to 1030 at day 15 is carried: −500 and +515; `scenario` is that of its card by then. */
  async function changedOnce(scenario = 'succeeds') {
    await s.anew('2026-03-01');
    await s.t.rows(`update gateways set minimum_amount = 50, currency = 'EUR' where gateway_id = $1`, [s.gatewayId()]);
    const userId = await s.userWithCard();
    const { id } = await s.subscribe({ userId, planId: s.plan({ ...days, amount: 1000 }) });
    if (scenario !== 'succeeds') await s.swap(userId, scenario);
    await s.to('2026-03-16');
    expect(await change(id, 1030)).toEqual(nothing);
    await s.to('2026-03-25');
    return { id, userId };
  }

  it('a second change at day 24 to 1100 bills nothing, and the next cycle 1129', async () => {
    const { id } = await changedOnce();
    const { invoice, nextPeriodInvoice } = await s.t.done(previewChange, terms(id, 1100), s.merchant);
    expect([invoice?.totalAmount, nextPeriodInvoice?.totalAmount]).toEqual([29, 1129]);
    expect(await change(id, 1100)).toEqual(nothing);
    await s.to('2026-03-31');
    expect(await s.invoices(id)).toEqual(['Create paid 03-01 03-31 1000', 'Cycle paid 03-31 04-30 1129']);
    expect(await linesOf(id)).toEqual([-500, 309, 220, 1100]);
  });

  it('an end at day 24 that is prorated gives 191 back', async () => {
    const { id } = await changedOnce();
    await s.t.done(cancelSubscription, { subscriptionId: id, prorate: true }, s.merchant);
    const { creditNotes } = await s.t.done(listCreditNotes, {}, s.merchant);
    expect(creditNotes.map(({ totalAmount }) => totalAmount)).toEqual([-191]);
  });

  it('a change that is not paid leaves the lines that it set off to the next invoice', async () => {
    const { id, userId } = await changedOnce('declines_softly');
    const { nextPeriodInvoice } = await s.t.done(previewChange, terms(id, 3000), s.merchant);
    expect(nextPeriodInvoice?.totalAmount).toBe(3000);
    expect(await change(id, 3000)).toMatchObject({ paid: false });
    // −500 and what was used of 515, 9 of 15 days, then 6 days of 30 at 3000
    await s.to('2026-03-25T00:10');
    expect((await s.invoices(id)).at(-1)).toBe('Upgrade processing 03-25 03-31 409');
    await s.to('2026-03-27');
    expect((await s.invoices(id)).at(-1)).toBe('Upgrade cancelled 03-25 03-31 409');
    await s.swap(userId, 'succeeds');
    await s.to('2026-03-31');
    expect(await linesOf(id)).toEqual([-500, 515, 1030]);
  });

  it('the next invoice is made again without the lines that a change sets off while that waits for its payment', async () => {
    const { id, userId } = await changedOnce('declines_softly');
    await s.to('2026-03-30T23:10');
    expect((await s.invoices(id)).at(-1)).toBe('Cycle processing 03-31 04-30 1045');
    const preview = await s.t.done(previewChange, terms(id, 90_000), s.merchant);
    // −500, 514 of 515, and 50 minutes of 30 days at 90000
    expect([preview.invoice?.totalAmount, preview.nextPeriodInvoice?.totalAmount]).toEqual([118, 90_000]);
    expect(await change(id, 90_000)).toMatchObject({ paid: false });
    await s.to('2026-03-30T23:20');
    expect((await s.invoices(id)).slice(1)).toEqual([
      'Cycle cancelled 03-31 04-30 1045',
      'Upgrade processing 03-30T23:10 03-31 118',
      'Cycle processing 03-31 04-30 1030',
    ]);
    await s.swap(userId, 'succeeds');
    await s.to('2026-03-31');
    const paid = (await s.invoices(id)).filter(each => each.includes(' paid '));
    expect(paid).toEqual([
      'Create paid 03-01 03-31 1000',
      'Upgrade paid 03-30T23:10 03-31 118',
      'Cycle paid 03-31 04-30 90000',
    ]);
  });

  it('an add-on that was carried is credited when it goes, though nothing else is billed', async () => {
    await s.anew('2026-03-01');
    await s.t.rows(`update gateways set minimum_amount = 50, currency = 'EUR' where gateway_id = $1`, [s.gatewayId()]);
    const addonPlanId = s.plan({ ...days, amount: 60, type: planType.recurringAddon });
    const planId = s.plan({ ...days, amount: 1000, bindingAddonIds: `${addonPlanId}` });
    const { id } = await s.subscribe({ userId: await s.userWithCard(), planId });
    const addons = (quantity: number) => (quantity === 0 ? [] : [{ addonPlanId, quantity }]);
    const to = (count: number) => ({
      subscriptionId: id,
      newPlanId: planId,
      quantity: 1,
      addonParams: addons(count),
    });
    await s.to('2026-03-16');
    await s.t.done(submitChange, { ...to(1), effectImmediate: 1 }, s.merchant);
    await s.to('2026-03-25');
    await s.t.done(submitChange, { ...to(0), effectImmediate: 1 }, s.merchant);
    await s.to('2026-03-31');
    expect(await linesOf(id)).toEqual([18, 1000]);
  });
});

describe('a line that charges time and is carried', () => {
  /** A subscription of 1000 whose change to 1100 at the middle of March is carried: −500 and +550. */
  async function carriedChange() {
    await s.anew('2026-03-01');
    await s.t.rows(`update gateways set minimum_amount = 100, currency = 'EUR' where gateway_id = $1`, [s.gatewayId()]);
    const { id } = await s.subscribe({ userId: await s.userWithCard(), planId: s.plan() });
    const change = (amount: number) =>
      s.t.done(submitChange, { subscriptionId: id, newPlanId: s.plan({ amount }), quantity: 1 }, s.merchant);
    await s.to('2026-03-16T12:00');
    expect(await change(1100)).toMatchObject({ paid: true, invoiceId: '' });
    return { id, change };
  }

  it('charges what was used until another change, which charges the rest', async () => {
    const { id, change } = await carriedChange();
    await s.to('2026-03-24T06:00');
    await change(4000);
    await s.to('2026-03-24T07:00');
    expect(await linesOf(id)).toEqual([-500, 275, 1000]);
    await s.to('2026-04-02');
    expect(await linesOf(id)).toEqual([4000]);
    const [sum] = await s.t.rows(
      `select sum(total_amount) as total from invoices where subscription_id = $1 and status = 'paid'`,
      [id],
    );
    // half of a month at 1000, a quarter at 1100 and one at 4000, and the next month
    expect(Number(sum?.total)).toBe(500 + 275 + 1000 + 4000);
  });

  it('charges what was used until the end where that is prorated: the rest is credit', async () => {
    const { id } = await carriedChange();
    await s.to('2026-03-24T06:00');
    await s.t.done(cancelSubscription, { subscriptionId: id, prorate: true }, s.merchant);
    const { creditNotes } = await s.t.done(listCreditNotes, {}, s.merchant);
    expect(creditNotes.map(({ totalAmount, lines }) => [totalAmount, lines.map(line => line.amount)])).toEqual([
      [-225, [-500, 275]],
    ]);
  });

  it('is waived with an end that credits nothing', async () => {
    const { id } = await carriedChange();
    await s.t.done(cancelSubscription, { subscriptionId: id }, s.merchant);
    expect((await s.t.done(listCreditNotes, {}, s.merchant)).creditNotes).toEqual([]);
  });

  describe('and billed on the next invoice, which is paid before its period begins,', () => {
    /** An hour before April, which is paid at 100100: the second half of March was charged with it, carried. */
    async function paidAhead() {
      await s.anew('2026-03-01');
      await s.t.rows(`update gateways set minimum_amount = 100, currency = 'EUR' where gateway_id = $1`, [
        s.gatewayId(),
      ]);
      const { id } = await s.subscribe({ userId: await s.userWithCard(), planId: s.plan({ amount: 100_000 }) });
      const change = (amount: number) =>
        s.t.done(submitChange, { subscriptionId: id, newPlanId: s.plan({ amount }), quantity: 1 }, s.merchant);
      await s.to('2026-03-16T12:00');
      await change(100_100);
      await s.to('2026-03-31T23:00');
      expect((await s.invoices(id)).at(-1)).toBe('Cycle paid 04-01 05-01 100150');
      expect(await linesOf(id)).toEqual([-50_000, 50_050, 100_100]);
      return { id, change };
    }

    it('is credited by a change for its unused time', async () => {
      const { id, change } = await paidAhead();
      await change(200_000);
      await s.to('2026-03-31T23:30');
      // an hour of 372 that cost 50050, and one of 744 that cost 200000
      expect(await linesOf(id)).toEqual([-135, 269, -100_100, 200_000]);
    });

    it('is credited by an end that is prorated', async () => {
      const { id } = await paidAhead();
      await s.t.done(cancelSubscription, { subscriptionId: id, prorate: true }, s.merchant);
      const [note] = (await s.t.done(listCreditNotes, {}, s.merchant)).creditNotes;
      expect(note?.lines.map(({ amount }) => amount).sort((a, b) => a - b)).toEqual([-100_100, -135]);
    });
  });
});
