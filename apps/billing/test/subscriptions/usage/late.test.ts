import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  cancelInvoice,
  emptyOf,
  listUsageEvents,
  metricChargeType,
  newUsageEvent,
  PlanAutoChargeConfig,
  submitChange,
} from '@recur/contracts';
import { charge, type Metered, metered, tiers } from '../../world/usage.js';

let s: Metered;
beforeAll(async () => {
  s = await metered();
});
afterAll(() => s.t.close());
beforeEach(() => s.anew('2026-05-01'));

const graduated = { chargeType: metricChargeType.graduated, standardAmount: 0, graduatedAmounts: tiers };

/** A subscriber to 500 a month and usage at this price. */
async function metering(price: object = {}, over: object = {}) {
  const metric = s.metric();
  const made = await s.subscriber({ amount: 500, metricMeteredCharge: [charge(metric.id, price)], ...over });
  const use = (value: number, of: object = {}) => s.use(made.userId, metric, value, of);
  return { ...made, metric, use };
}
type Metering = Awaited<ReturnType<typeof metering>>;

/** Lines of usage: status, period and amount. */
const used = async ({ id, metric }: Metering) =>
  (await s.lines(id)).filter(line => line.includes(' usage:')).map(line => line.replace(` usage:${metric.id}`, ''));
/** Usage lines of the next invoice: units and amount. */
const previewed = async ({ id }: Metering) =>
  (await s.preview(id)).lines
    .slice(1)
    .map(({ description, amountExcludingTax }) => [Number.parseInt(description, 10), amountExcludingTax]);

describe('late usage', () => {
  it('keeps the price and tier of its period where the next has another; events name the invoice that charges them', async () => {
    const m = await metering(graduated);
    const { id, metric, use } = m;
    await use(150);
    const newPlanId = s.plan({ amount: 500, metricMeteredCharge: [charge(metric.id, { standardAmount: 99 })] });
    const change = { subscriptionId: id, newPlanId, quantity: 1, effectImmediate: 2 };
    await s.t.done(submitChange, change, s.merchant);
    await s.to('2026-06-02');
    const { invoiceId: first } = await s.state(id);
    await use(10, { at: '2026-05-31' });
    await use(2);
    expect(await previewed(m)).toEqual([
      [2, 198],
      [10, 50],
    ]);
    await s.to('2026-07-02');
    const { invoiceId: second } = await s.state(id);
    expect(await used(m)).toEqual(['paid 05-01 06-01 1250', 'paid 06-01 07-01 198', 'paid 05-01 06-01 50']);
    expect(await previewed(m)).toEqual([]);
    const charged = async (invoiceId: string) => {
      const { events } = await s.t.done(listUsageEvents, { invoiceId }, s.merchant);
      return events.map(one => [one.aggregationPropertyInt, one.chargeInvoiceId, one.chargeStatus]);
    };
    expect(await charged(first)).toEqual([[150, first, 1]]);
    expect(await charged(second)).toEqual([
      [2, second, 1],
      [10, second, 1],
    ]);
  });

  it('may be negative: an invoiced event that is deleted is corrected, and its id stays taken', async () => {
    const m = await metering(graduated);
    const { userId, metric, use } = m;
    await use(140);
    await use(10, { id: 'gone' });
    await s.to('2026-06-02');
    await s.forget(userId, metric, 'gone');
    expect(await use(10, { id: 'gone' })).toBe('usage_event_deleted');
    expect(await previewed(m)).toEqual([[-10, -50]]);
    await s.to('2026-07-02');
    expect(await used(m)).toEqual(['paid 05-01 06-01 1250', 'paid 05-01 06-01 -50']);
  });

  it('is refused where the merchant refuses it; an event in the grace is not late', async () => {
    await s.configure({ lateUsage: 'refuse' });
    const m = await metering();
    await s.to('2026-06-01T00:59:59');
    expect(await m.use(3, { at: '2026-05-20' })).toBe('');
    await s.to('2026-06-01T01:00');
    const event = s.event(m.userId, m.metric, 4, { eventTime: Date.UTC(2026, 4, 20) / 1000 });
    expect(await s.t.call(newUsageEvent, event, s.merchant)).toMatchObject({
      ok: false,
      slug: 'usage_period_invoiced',
    });
    expect(await m.use(5)).toBe('');
    await s.to('2026-07-02');
    expect(await used(m)).toEqual(['paid 05-01 06-01 30', 'paid 06-01 07-01 50']);
  });
});

describe('arrears', () => {
  it('without grace are invoiced at the end of the period, which takes no event from then on', async () => {
    await s.configure({ usageGraceTime: 0, lateUsage: 'refuse' });
    const m = await metering();
    await m.use(3);
    await s.to('2026-06-01');
    expect(await used(m)).toEqual(['paid 05-01 06-01 30']);
    expect(await m.use(4, { at: '2026-05-31T23:59' })).toBe('usage_period_invoiced');
    expect(await m.use(5)).toBe('');
    await s.to('2026-07-01');
    expect(await used(m)).toEqual(['paid 05-01 06-01 30', 'paid 06-01 07-01 50']);
  });

  it('are explained by the units and the price', async () => {
    const m = await metering();
    await m.use(930);
    const line = (await s.preview(m.id)).lines.at(-1);
    expect(line?.metricCharge).toMatchObject({
      CurrentUsedValue: 930,
      totalChargeAmount: 9300,
      lines: [{ quantity: 930, unitAmount: 10, amount: 9300 }],
    });
    await s.to('2026-06-02');
    const of = `usage:${m.metric.id}`;
    expect(await s.t.rows('select formula, inputs from invoice_lines where item_key = $1', [of])).toMatchObject([
      { formula: 'round(units × unitPrice)', inputs: { used: 930 } },
    ]);
  });
});

it('usage of two invoices that are cancelled one after the other is billed once, with what came between', async () => {
  const autoChargeConfig = { ...emptyOf(PlanAutoChargeConfig), autoChargeRetryInterval: 6 * 3600 };
  const m = await metering(graduated, { autoChargeConfig });
  await m.use(150);
  await s.swap(m.userId, 'declines_softly');
  const cancel = async () => {
    const { invoiceId } = await s.state(m.id);
    await s.t.done(cancelInvoice, { invoiceId }, s.merchant);
  };
  await s.to('2026-06-01T01:30');
  await cancel();
  await m.use(10, { at: '2026-05-20' });
  expect(await previewed(m)).toEqual([[160, 1300]]);
  await s.to('2026-06-01T08:00');
  await m.use(20, { at: '2026-05-20' });
  await cancel();
  expect(await previewed(m)).toEqual([[180, 1400]]);
  await s.swap(m.userId, 'succeeds');
  await s.to('2026-06-02');
  expect(await used(m)).toEqual(['cancelled 05-01 06-01 1250', 'cancelled 05-01 06-01 1300', 'paid 05-01 06-01 1400']);
  expect(await previewed(m)).toEqual([]);
});
