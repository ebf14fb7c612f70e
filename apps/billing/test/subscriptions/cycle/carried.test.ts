import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { cancelSubscription, listCreditNotes, submitChange } from '@recur/contracts';
import { type Subscribers, subscribers } from './subscribers.js';

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
  const { id } = await s.subscribe({ userId: await s.buyer(), planId: s.plan() });
  const upgrade = (amount: number) =>
    s.t.done(submitChange, { subscriptionId: id, newPlanId: s.plan({ amount }), quantity: 1 }, s.merchant);
  await s.to('2026-02-21');
  await upgrade(1100);
  await s.to('2026-02-25T06:00');
  const carried = [-250, 275];
  expect(await linesOf(id)).toEqual([...carried, 1100]);
  await upgrade(1200);
  await s.to('2026-02-26');
  const again = await linesOf(id);
  // the second change ends what the first one charged: 4 days and 6 hours of 7 were used
  expect([again.slice(0, 2), again.at(-1)]).toEqual([[-250, 167], 1200]);
  await s.to('2026-02-28');
  expect((await s.state(id)).status).toBe('active');
  expect((await s.invoices(id)).at(-1)).toContain('Cycle paid 02-28 03-31');
});

describe('a line that charges time and is carried', () => {
  /** A subscription of 1000 whose change to 1100 at the middle of March is carried: −500 and +550. */
  async function carriedChange() {
    await s.anew('2026-03-01');
    await s.t.rows(`update gateways set minimum_amount = 100, currency = 'EUR' where gateway_id = $1`, [s.gatewayId()]);
    const { id } = await s.subscribe({ userId: await s.buyer(), planId: s.plan() });
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
    expect(await linesOf(id)).toEqual([1000]);
    await s.to('2026-04-02');
    expect(await linesOf(id)).toEqual([-500, 275, 4000]);
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
      const { id } = await s.subscribe({ userId: await s.buyer(), planId: s.plan({ amount: 100_000 }) });
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
