import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { invoiceStatus } from '@recur/contracts';
import type { CollectionTerms } from '../../src/invoices/domain/dunning.js';
import { InvoiceFinalizer } from '../../src/invoices/issuing/finalize.js';
import { invoiceAggregate } from '../../src/invoices/views.js';
import { type CardShop, cardShop } from '../world/cards.js';

let c: CardShop;
beforeAll(async () => {
  c = await cardShop();
});
afterAll(() => c.t.close());

const hour = 3_600;
const seconds = (iso: string) => Date.parse(`${iso}Z`) / 1000;
const dunning = { retryIntervalSeconds: 12 * hour, maxRetries: 0, incompleteExpireSeconds: 24 * hour };

/** Finishes an invoice on terms of its own, as its owner does. */
async function finished(scenario: string | undefined, terms: CollectionTerms): Promise<string> {
  const userId = await c.userWithCard(scenario);
  const { invoiceId } = await c.billed(userId, { finish: false });
  const finalizer = c.t.app.get(InvoiceFinalizer);
  await c.t.db.write(c.t.callerOf(), async tx => {
    const draft = await tx.lock(invoiceAggregate, invoiceId, 'invoice_not_found');
    await finalizer.finalize(tx, draft, 4, { collection: terms, log: { log: 'Finish' } });
    return {};
  });
  return invoiceId;
}
const at = async (iso: string) => {
  await c.pass(seconds(iso) - c.clock.now());
  expect(c.clock.now()).toBe(seconds(iso));
};
const attempts = async (invoiceId: string) =>
  (await c.t.rows('select create_time from payments where invoice_id = $1 order by id', [invoiceId])).map(row =>
    new Date(Number(row.create_time) * 1000).toISOString().slice(0, 16),
  );
const statusOf = async (invoiceId: string) => (await c.detail(invoiceId)).status;

describe('the deadline of a cycle invoice', () => {
  it('month, lead 3 d, P = 2026-03-31: made 03-28, open until 04-01T00:00; attempts P − 2 h, P + 10 h, P + 22 h', async () => {
    const P = seconds('2026-03-31T00:00:00');
    await at('2026-03-28T00:00:00');
    const chargeTime = P - 2 * hour;
    const invoiceId = await finished('declines_softly', { ...dunning, chargeTime, deadline: P + 24 * hour });
    await at('2026-03-31T23:50:00');
    expect(await statusOf(invoiceId)).toBe(invoiceStatus.processing);
    // the first payment was made with the invoice, and charged at P − 2 h
    expect(await attempts(invoiceId)).toEqual(['2026-03-28T00:00', '2026-03-31T10:00', '2026-03-31T22:00']);
    await at('2026-04-01T00:00:00');
    expect(await statusOf(invoiceId)).toBe(invoiceStatus.failed);
    await at('2026-04-01T23:00:00');
    expect(await attempts(invoiceId)).toHaveLength(3);
  });

  it('workers down 2027-03-31T20:00 → 04-03T08:00, P = 04-01: attempt 04-03T08:00, deadline 04-04T08:00', async () => {
    const P = seconds('2027-04-01T00:00:00');
    await c.pass(600);
    c.clock.advance(seconds('2027-03-29T00:00:00') - c.clock.now());
    const chargeTime = P - 2 * hour;
    const invoiceId = await finished('declines_softly', { ...dunning, chargeTime, deadline: P + 24 * hour });
    c.clock.advance(seconds('2027-04-03T08:00:00') - c.clock.now());
    await c.drain();
    await c.drain();
    expect(await statusOf(invoiceId)).toBe(invoiceStatus.processing);
    const [row] = await c.t.rows('select deadline, version from invoices where invoice_id = $1', [invoiceId]);
    expect(row?.deadline).toBe(String(seconds('2027-04-04T08:00:00')));
    await at('2027-04-04T07:50:00');
    expect(await attempts(invoiceId)).toEqual(['2027-03-29T00:00', '2027-04-03T20:00']);
    expect(await statusOf(invoiceId)).toBe(invoiceStatus.processing);
    await at('2027-04-04T08:00:00');
    expect(await statusOf(invoiceId)).toBe(invoiceStatus.failed);
  });

  it('retries at most as often as configured, and never without automatic charging', async () => {
    const deadline = c.clock.now() + 10 * 24 * hour;
    const retried = await finished('declines_softly', { ...dunning, maxRetries: 1, deadline });
    const byHand = await finished('succeeds', { ...dunning, automatic: false, deadline });
    await c.pass(3 * 24 * hour);
    expect(await attempts(retried)).toHaveLength(2);
    expect(await c.detail(byHand)).toMatchObject({
      status: invoiceStatus.processing,
      payment: { autoCharge: false, automatic: 0 },
    });
  });
});
