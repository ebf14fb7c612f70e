import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  addTrialTime,
  cancelSubscription,
  changeDueDay,
  createSubscription,
  discountBillingType,
  type In,
  type Invoice,
  incrementPromoCredit,
  type Plan,
  planType,
  previewChange,
  previewNextInvoice,
  refundInvoice,
  submitChange,
  subscriptionDetail,
  updateSubscriptionConfig,
} from '@recur/contracts';
import { type Subscribers, shown, subscribers, utc } from '../../world/clock.js';

// Worked examples of the rules for periods, changes and trials, by the commands and the clock of a merchant.

let s: Subscribers;
beforeAll(async () => {
  s = await subscribers('2026-04-01');
});
afterAll(() => s.t.close());

const merchant = () => ({ ...s.merchant, actor: { kind: 'key' as const, id: '1', display: 'sk_…' } });
const begun = async (amount: number, over: object = {}, plan: Partial<Plan> = {}) => {
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({ userId, planId: s.plan({ amount, ...plan }), ...over });
  return { id };
};
/** The preview of a change, which is what its invoice bills: the net amounts of its lines, and its total. */
async function changed(subscriptionId: string, newPlanId: number, over: Partial<In<typeof submitChange>> = {}) {
  const asked = { subscriptionId, newPlanId, ...over };
  const { invoice: preview, prorationDate } = await s.t.done(previewChange, asked, merchant());
  const submitted = { ...asked, quantity: over.quantity ?? 1, prorationDate };
  const { invoiceId } = await s.t.done(submitChange, submitted, merchant());
  await s.to(prorationDate + 1);
  const invoice = await s.invoice(invoiceId);
  const nets = ({ lines }: typeof preview) =>
    lines.map(({ amountExcludingTax, discountAmount }) => amountExcludingTax - discountAmount);
  expect([nets(preview), preview.totalAmount]).toEqual([nets(invoice), invoice.totalAmount]);
  return { nets: nets(invoice), invoice };
}
/** The name of an active code that reduces each period. */
const code = async (name: string, discountPercentage: number) =>
  (await s.code(name, { billingType: discountBillingType.recurring, discountPercentage })).code;
const extend = (subscriptionId: string, appendTrialEndHour: number) =>
  s.t.done(addTrialTime, { subscriptionId, appendTrialEndHour }, s.merchant);
const rowOf = async (id: string) =>
  (await s.t.rows('select plan_id, quantity, trial_end from subscriptions where subscription_id = $1', [id]))[0] ?? {};
const trialEnd = async (id: string) => shown(Number((await rowOf(id)).trial_end));

describe('periods', () => {
  it('in Europe/Berlin from 31 January: local midnights, clamped from the original day', async () => {
    await s.anew('2026-01-30T23:00');
    const { id } = await begun(1000, { timeZone: 'Europe/Berlin' });
    const ends = [];
    for (let at = 0; at < 3; at++) {
      const { end } = await s.state(id);
      ends.push(end);
      await s.to(end);
    }
    expect(ends).toEqual([1772233200, 1774908000, 1777500000]);
  });

  it('in UTC from 31 January end on 28 February and on 31 March', async () => {
    await s.anew('2026-01-31');
    const { id } = await begun(1000);
    await s.to('2026-02-28');
    expect(await s.dates(id)).toBe('active 02-28 03-31');
  });

  it('a due day of 25, asked for in a period that ends on 10 April, bills 1500 of 3000 until then, and months from the 25th', async () => {
    await s.anew('2026-03-10');
    const { id } = await begun(3000);
    await s.t.done(changeDueDay, { subscriptionId: id, dueDay: 25 }, s.merchant);
    await s.to('2026-04-25T01:00');
    expect((await s.invoices(id)).slice(1)).toEqual(['Cycle paid 04-10 04-25 1500', 'Cycle paid 04-25 05-25 3000']);
  });
});

describe('changes', () => {
  it('two seats at 1800 for three at 1000 and an add-on of 500 are an upgrade, and take effect now', async () => {
    await s.anew('2026-04-01');
    const addonPlanId = s.plan({ amount: 500, type: planType.recurringAddon });
    const addonParams = [{ addonPlanId, quantity: 1 }];
    const { id } = await begun(1000, { quantity: 3, addonParams }, { bindingAddonIds: String(addonPlanId) });
    await s.to('2026-04-11');
    const to = s.plan({ amount: 1800 });
    const { invoice } = await changed(id, to, { quantity: 2, addonParams: [] });
    expect(invoice.invoiceName).toBe('SubscriptionUpgrade');
    expect(await rowOf(id)).toMatchObject({ plan_id: String(to), quantity: 2 });
  });

  it('a second seat with 20 of 30 days left of a period that was free by a code credits nothing and charges 9600', async () => {
    await s.anew('2026-04-01');
    const discountCode = await code('FREE', 10_000);
    const userId = await s.userWithCard();
    const planId = s.plan({ amount: 7200 });
    const { id } = await s.subscribe({ userId, planId, discountCode });
    await s.to('2026-04-11');
    const { invoice } = await changed(id, planId, { quantity: 2 });
    expect(invoice.lines.map(line => line.amountExcludingTax)).toEqual([0, 9600]);
  });

  it('a change with 12 of 30 days left under a lasting 50 % credits 2000 of 5000 and charges 8000 less 4000', async () => {
    await s.anew('2026-04-01');
    const discountCode = await code('HALF', 5000);
    const { id } = await begun(10_000, { discountCode });
    await s.to('2026-04-19');
    const { invoice, nets } = await changed(id, s.plan({ amount: 20_000 }));
    expect(invoice.lines.map(line => [line.amountExcludingTax, line.discountAmount])).toEqual([
      [-2000, 0],
      [8000, 4000],
    ]);
    expect(nets).toEqual([-2000, 4000]);
  });

  it('upgrades to 2000 on day 10 and to 4000 on day 20 of 30 credit 667 and charge 1333 each', async () => {
    await s.anew('2026-04-01');
    const { id } = await begun(1000);
    await s.to('2026-04-11');
    expect((await changed(id, s.plan({ amount: 2000 }))).nets).toEqual([-667, 1333]);
    await s.to('2026-04-21');
    expect((await changed(id, s.plan({ amount: 4000 }))).nets).toEqual([-667, 1333]);
  });

  it('a stub of 3000 from 10 to 25 April is charged 1500; after 5 days to 6000: −1000 + 2000', async () => {
    await s.anew('2026-04-10');
    const { id } = await begun(3000, { billingAnchorDay: 25 });
    expect(await s.invoices(id)).toEqual(['Create paid 04-10 04-25 1500']);
    await s.to('2026-04-15');
    expect((await changed(id, s.plan({ amount: 6000 }))).nets).toEqual([-1000, 2000]);
  });

  it('an upgrade from 1000 to 2000 on 15 March, in a period from 28 February to 31 March, credits 516 and charges 1032', async () => {
    await s.anew('2026-01-31');
    const { id } = await begun(1000);
    await s.to('2026-03-15');
    expect((await changed(id, s.plan({ amount: 2000 }))).nets).toEqual([-516, 1032]);
  });

  it('a fourth seat at 333 for a third of the period credits 333 and charges 444', async () => {
    await s.anew('2026-04-01');
    const userId = await s.userWithCard();
    const planId = s.plan({ amount: 333 });
    const { id } = await s.subscribe({ userId, planId, quantity: 3 });
    await s.to('2026-04-21');
    expect((await changed(id, planId, { quantity: 4 })).nets).toEqual([-333, 444]);
  });

  it('an upgrade to 2000 one day before a period that is paid bills both periods: 1241 with tax of 207', async () => {
    await s.anew('2026-04-01');
    await s.t.done(updateSubscriptionConfig, { tryAutomaticPaymentBeforePeriodEnd: 2 * 86_400 }, s.merchant);
    const terms = { userId: await s.userWithCard(), gatewayId: s.gatewayId(), planId: s.plan(), taxPercentage: 2000 };
    const { subscription } = await s.t.done(createSubscription, terms, merchant());
    const id = subscription.subscriptionId;
    await s.to('2026-04-30');
    expect((await s.invoices(id)).at(-1)).toBe('Cycle paid 05-01 06-01 1200');
    const { nets, invoice } = await changed(id, s.plan({ amount: 2000 }));
    expect(nets).toEqual([-33, 67, -1000, 2000]);
    expect([invoice.taxAmount, invoice.totalAmount]).toEqual([207, 1241]);
  });
});

describe('an upgrade or downgrade to another interval, at once and without proration,', () => {
  /** A subscription of a month that is changed to another interval on a day: nothing is billed then, and it is told next. */
  async function switched(day: string, intervalUnit: string, amount: number): Promise<string> {
    await s.anew('2026-04-01');
    await s.t.done(updateSubscriptionConfig, { upgradeProration: false }, s.merchant);
    const { id } = await begun(1000);
    await s.to(day);
    const asked = { subscriptionId: id, newPlanId: s.plan({ amount, intervalUnit }), effectImmediate: 1 };
    const preview = await s.t.done(previewChange, asked, merchant());
    expect([preview.invoice.lines, preview.totalAmount]).toEqual([[], 0]);
    await s.t.done(submitChange, { ...asked, quantity: 1, prorationDate: preview.prorationDate }, merchant());
    const { invoice } = await s.t.done(previewNextInvoice, { subscriptionId: id }, s.merchant);
    const told = ({
      periodStart,
      periodEnd,
      totalAmount,
    }: Pick<Invoice, 'periodStart' | 'periodEnd' | 'totalAmount'>) =>
      `${shown(periodStart)} ${shown(periodEnd)} ${totalAmount}`;
    expect(preview.nextPeriodInvoice && told(preview.nextPeriodInvoice)).toBe(told(invoice));
    expect(await s.dates(id)).toBe('active 04-01 05-01');
    return id;
  }

  it.each([
    ['week', 'the period', '2026-04-10', '2026-05-09', 300, ['05-01 05-08 300', '05-08 05-15 300']],
    ['year', 'the period', '2026-04-10', '2026-05-09', 9000, ['05-01 05-01 9000']],
    [
      'day',
      'the next one, which is paid',
      '2026-04-30T23:00',
      '2026-06-02T01:00',
      40,
      ['05-01 06-01 1000', '06-01 06-02 40', '06-02 06-03 40'],
    ],
    [
      'week',
      'the next one, which is paid',
      '2026-04-30T23:00',
      '2026-06-02T01:00',
      300,
      ['05-01 06-01 1000', '06-01 06-08 300'],
    ],
    [
      'year',
      'the next one, which is paid',
      '2026-04-30T23:00',
      '2026-06-02T01:00',
      9000,
      ['05-01 06-01 1000', '06-01 06-01 9000'],
    ],
  ])('counts a plan by %s from the end of %s', async (unit, _end, at, until, amount, billed) => {
    const id = await switched(at, unit, amount);
    await s.to(until);
    expect(await s.invoices(id)).toEqual([
      'Create paid 04-01 05-01 1000',
      ...billed.map(period => `Cycle paid ${period}`),
    ]);
  });

  it.each([
    ['day', 40, '06-02T12:00', '06-03T12:00'],
    ['year', 9000, '06-02T12:00', '06-02T12:00'],
  ])(
    'a month that is paid stays one, where free time comes before it and a plan by %s after',
    async (unit, amount, start, end) => {
      const id = await switched('2026-04-30T23:00', unit, amount);
      await extend(id, 36);
      await s.to('2026-06-02T13:00');
      expect((await s.invoices(id)).at(-1)).toBe(`Cycle paid ${start} ${end} ${amount}`);
      expect((await s.periods(id)).map(({ kind }) => kind)).toEqual(['cycle', 'free', 'cycle', 'cycle']);
    },
  );

  it('leaves a later change at the end of the period free to be replaced: the paid month sells neither', async () => {
    const id = await switched('2026-04-30T23:00', 'week', 300);
    const later = { subscriptionId: id, newPlanId: s.plan({ amount: 1500 }), effectImmediate: 2 };
    for (const quantity of [1, 2]) await s.t.done(submitChange, { ...later, quantity }, merchant());
    await s.to('2026-05-01T01:00');
    expect((await s.invoices(id)).at(-1)).toBe('Downgrade paid 05-01 06-01 2000');
  });

  it('the month that is paid is given back by a change with proration, to which the new interval is another one', async () => {
    const id = await switched('2026-04-10', 'week', 300);
    await s.t.done(updateSubscriptionConfig, { upgradeProration: true }, s.merchant);
    await s.to('2026-04-16');
    const { nets } = await changed(id, s.plan({ amount: 700, intervalUnit: 'week' }), { effectImmediate: 1 });
    expect(nets).toEqual([-500, 700]);
    expect(await s.dates(id)).toBe('active 04-16 04-23');
  });
});

it('promo credit comes back with the time that it paid for: of 45 credits, half a period gives back 22', async () => {
  await s.anew('2026-04-01');
  const userId = await s.userWithCard();
  await s.t.done(incrementPromoCredit, { userId, currency: 'EUR', amount: 45 }, s.merchant);
  const { id } = await begun(10_000, { userId, applyPromoCredit: true });
  expect(await s.invoices(id)).toEqual(['Create paid 04-01 05-01 5500']);
  await s.to('2026-04-16');
  // 5500 were charged, of which half is given back; the 22 credits are no money
  expect((await changed(id, s.plan({ amount: 20_000 }))).nets).toEqual([-2750, 10_000]);
  expect(await s.balance(userId, 'promo')).toBe(22);
});

it('promo credit comes back once: of 45 credits a refund gave back 32, so half a period gives back 13, not 22', async () => {
  await s.anew('2026-04-01');
  const userId = await s.userWithCard();
  await s.t.done(incrementPromoCredit, { userId, currency: 'EUR', amount: 45 }, s.merchant);
  const { id } = await begun(10_000, { userId, applyPromoCredit: true });
  const { latestInvoice } = await s.t.done(subscriptionDetail, { subscriptionId: id }, s.merchant);
  const refund = { invoiceId: latestInvoice?.invoiceId, refundAmount: 4000, reason: 'Late' };
  await s.t.done(refundInvoice, refund, merchant());
  await s.to('2026-04-16');
  // floor(45 × 4000 ÷ 5500)
  expect(await s.balance(userId, 'promo')).toBe(32);
  await s.t.done(cancelSubscription, { subscriptionId: id, prorate: true }, merchant());
  expect(await s.balance(userId, 'promo')).toBe(45);
});

it('a one-time code whose invoice is withdrawn reduces the one that a change at the end of the period makes instead', async () => {
  await s.anew('2026-04-01');
  await s.code('ONCE');
  const { id } = await begun(1000, { discountCode: 'ONCE', trialEnd: utc('2026-04-02') });
  await s.to('2026-04-01T01:00');
  expect((await s.invoices(id)).at(-1)).toBe('Cycle processing 04-02 05-02 900');
  const change = { subscriptionId: id, newPlanId: s.plan({ amount: 2000 }), quantity: 1, effectImmediate: 2 };
  await s.t.done(submitChange, change, merchant());
  await extend(id, 1);
  const preview = await s.t.done(previewNextInvoice, { subscriptionId: id }, s.merchant);
  expect(preview.invoice.totalAmount).toBe(1800);
  await s.to('2026-04-02T02:00');
  expect((await s.invoices(id)).at(-1)).toBe('Downgrade paid 04-02T01:00 05-02T01:00 1800');
});

describe('trials', () => {
  it.each(['2026-02-15', '2026-03-10'])(
    'free until %s: nothing is charged before, and periods begin there',
    async end => {
      await s.anew('2026-01-31');
      const { id } = await begun(1000, { freeTimeEnd: utc(end) });
      expect([await s.dates(id), await s.invoices(id)]).toEqual([`active 01-31 ${shown(utc(end))}`, []]);
      await s.to(utc(end) - 1);
      const preview = await s.t.done(previewNextInvoice, { subscriptionId: id }, s.merchant);
      expect(preview.invoice.totalAmount).toBe(1000);
      await s.to(utc(end) + 60);
      const next = end.replace(/-(\d\d)-/, (_, month) => `-0${Number(month) + 1}-`);
      expect(await s.invoices(id)).toEqual([`Cycle paid ${shown(utc(end))} ${shown(utc(next))} 1000`]);
    },
  );

  it('a trial of 7 days at 100 and a month at 500, from 31 January, ends on 7 February and 7 March; the plan renews on 7 April', async () => {
    await s.anew('2026-01-31');
    const step = { metadata: {}, trialCompareAtPrice: 0, intervalUnit: '', intervalCount: 0, trialDuration: 0 };
    const multiTrials = [
      { ...step, name: 'Week', trialPrice: 100, trialDuration: 7 * 86_400 },
      { ...step, name: 'Month', trialPrice: 500, intervalUnit: 'month', intervalCount: 1 },
    ];
    const { id } = await begun(1000, {}, { multiTrials });
    await s.to('2026-03-08');
    expect(await s.invoices(id)).toEqual([
      'Create paid 01-31 02-07 100',
      'Cycle paid 02-07 03-07 500',
      'Cycle paid 03-07 04-07 1000',
    ]);
  });

  it('36 hours appended to the end of March last until 1 April 12:00, and 12 more until 2 April', async () => {
    await s.anew('2026-02-28');
    const { id } = await begun(3000, { billingAnchorDay: 31 });
    expect(await s.dates(id)).toBe('active 02-28 03-31');
    await extend(id, 36);
    expect([await trialEnd(id), await s.dates(id)]).toEqual(['04-01T12:00', 'active 02-28 04-01T12:00']);
    await extend(id, 12);
    expect(await trialEnd(id)).toBe('04-02');
  });

  it('beside a next period that is paid: free until 1 April 12:00, and that period from then', async () => {
    await s.anew('2026-01-31');
    const { id } = await begun(3000);
    await s.to('2026-03-30T23:00');
    expect((await s.invoices(id)).at(-1)).toBe('Cycle paid 03-31 04-30 3000');
    await extend(id, 36);
    await s.to('2026-04-02');
    expect(await s.dates(id)).toBe('active 04-01T12:00 05-01T12:00');
    expect(
      (await s.periods(id))
        .slice(-2)
        .map(({ kind, start_at, end_at }) => [kind, shown(Number(start_at)), shown(Number(end_at))]),
    ).toEqual([
      ['free', '03-31', '04-01T12:00'],
      ['cycle', '04-01T12:00', '05-01T12:00'],
    ]);
  });
});

describe('free time that was appended', () => {
  const printed = async (invoiceId: string) =>
    (await s.invoice(invoiceId)).lines.map(line => `${shown(line.periodStart)} ${shown(line.periodEnd)}`);

  it('is no paid time: a change credits and charges the paid part, and costs nothing in the free part', async () => {
    await s.anew('2026-04-01');
    const { id } = await begun(1000);
    await s.to('2026-04-16');
    await extend(id, 240);
    expect(await s.dates(id)).toBe('active 04-01 05-11');
    expect((await changed(id, s.plan({ amount: 2000 }))).nets).toEqual([-500, 1000]);
    await s.to('2026-05-05');
    const newPlanId = s.plan({ amount: 3000 });
    const made = await s.t.done(submitChange, { subscriptionId: id, newPlanId, quantity: 1 }, merchant());
    expect([made.invoiceId, (await rowOf(id)).plan_id]).toEqual(['', String(newPlanId)]);
    await s.to('2026-05-12');
    expect((await s.invoices(id)).slice(2)).toEqual(['Cycle paid 05-11 06-11 3000']);
  });

  it('moves a paid next period, which a change credits in full, and an end by its own time; it stays as printed', async () => {
    await s.anew('2026-04-01');
    await s.t.done(updateSubscriptionConfig, { tryAutomaticPaymentBeforePeriodEnd: 2 * 86_400 }, s.merchant);
    const [one, other] = [await begun(3000), await begun(3000)];
    await s.to('2026-04-30');
    const paid: string[] = [];
    for (const { id } of [one, other]) {
      expect((await s.invoices(id)).at(-1)).toBe('Cycle paid 05-01 06-01 3000');
      const [row] = await s.t.rows(
        `select invoice_id from invoices where subscription_id = $1 and period_start = $2 and status = 'paid'`,
        [id, utc('2026-05-01')],
      );
      const invoiceId = String(row?.invoice_id);
      await extend(id, 36);
      expect(await printed(invoiceId)).toEqual(['05-01 06-01']);
      const [line] = await s.t.rows('select start_at from invoice_lines where invoice_id = $1', [invoiceId]);
      expect(shown(Number(line?.start_at))).toBe('05-02T12:00');
      paid.push(invoiceId);
    }
    const { nets } = await changed(one.id, s.plan({ amount: 6000 }));
    expect(nets).toEqual([-100, 200, -3000, 6000]);
    // half of the 31 days from 2 May, 12:00
    await s.to('2026-05-18');
    const end = { subscriptionId: other.id, prorate: true };
    await s.t.done(cancelSubscription, end, s.merchant);
    const notes = await s.t.rows(
      `select total_amount from invoices where subscription_id = $1 and kind = 'credit_note'`,
      [other.id],
    );
    expect(notes).toEqual([{ total_amount: '-1500' }]);
    for (const invoiceId of paid) expect(await printed(invoiceId)).toEqual(['05-01 06-01']);
  });
});
