import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  cancelInvoice,
  cancelSubscription,
  changeDueDay,
  createSubscription,
  discountBillingType,
  discountPlanApplyType,
  type In,
  type newDiscount,
  previewChange,
  submitChange,
} from '@recur/contracts';
import { type Subscribers, subscribers, utc } from '../world/clock.js';

let s: Subscribers;
beforeAll(async () => {
  s = await subscribers();
});
afterAll(() => s.t.close());
beforeEach(() => s.anew('2026-01-31'));

let codes = 0;
/** The name of an active code of 10 %. */
const code = async (settings: Partial<In<typeof newDiscount>> = {}) => (await s.code(`CODE-${++codes}`, settings)).code;

/** Uses that count, and the uses of a code by status and invoice: `-` for one that waits for its invoice. */
async function usesOf(name: string): Promise<string> {
  const [counted] = await s.t.rows('select uses from discounts where code = $1', [name]);
  const rows = await s.t.rows(
    `select status, case when invoice_id = '' then '-' else amount::text end as of from user_discounts where code = $1
      order by use_id`,
    [name],
  );
  return [`${counted?.uses}:`, ...rows.map(({ status, of }) => `${status} ${of}`)].join(' ');
}
/** A subscription in a free trial until 02-07, with a code. */
async function inTrial(discountCode: string) {
  const userId = await s.userWithCard();
  const { id } = await s.subscribe({ userId, planId: s.plan(), trialEnd: utc('2026-02-07'), discountCode });
  return { userId, id };
}
/** The same with a new code, which waits for the first invoice. */
async function waiting(discountCode: string) {
  const made = await inTrial(discountCode);
  expect(await usesOf(discountCode)).toBe('1: used -');
  return made;
}

describe('a one-time code that waits for its first invoice', () => {
  it('waits again when that invoice is cancelled, and reduces the one that is made in its place', async () => {
    const name = await code({ quantity: 1 });
    const { id } = await waiting(name);
    await s.to('2026-02-05');
    const { invoiceId } = await s.state(id);
    expect(await usesOf(name)).toBe('1: used 100');
    await s.t.done(cancelInvoice, { invoiceId }, s.merchant);
    expect(await usesOf(name)).toBe('1: used -');
    await s.to('2026-02-07');
    expect((await s.invoices(id)).map(line => line.replace(/^Cycle /, ''))).toEqual([
      'cancelled 02-07 03-07 900',
      'paid 02-07 03-07 900',
    ]);
    expect(await usesOf(name)).toBe('1: used 100');
    await s.to('2026-03-08');
    expect((await s.invoices(id)).at(-1)).toBe('Cycle paid 03-07 04-07 1000');
    expect(await usesOf(name)).toBe('1: used 100');
  });

  it('is given back where the subscription ends before', async () => {
    const name = await code({ quantity: 1 });
    const { id } = await waiting(name);
    await s.t.done(cancelSubscription, { subscriptionId: id }, s.merchant);
    expect(await usesOf(name)).toBe('0: rolledBack -');
  });

  it('is given back once where the subscription ends with the invoice that it reduces', async () => {
    const name = await code({ quantity: 3 });
    await waiting(name);
    const { id } = await inTrial(name);
    await s.to('2026-02-05');
    expect(await usesOf(name)).toBe('2: used 100 used 100');
    await s.t.done(cancelSubscription, { subscriptionId: id }, s.merchant);
    expect(await usesOf(name)).toBe('1: used 100 rolledBack 100');
  });

  it('goes over to the invoice that is made again under the plan of a change', async () => {
    const name = await code({ quantity: 1 });
    const { id } = await waiting(name);
    await s.to('2026-02-05');
    const terms = { subscriptionId: id, newPlanId: s.plan({ amount: 2000 }), quantity: 1 };
    await s.t.done(submitChange, terms, s.merchant);
    expect(await usesOf(name)).toBe('1: used -');
    await s.to('2026-02-07');
    expect((await s.invoices(id)).map(line => line.replace(/^Cycle /, ''))).toEqual([
      'cancelled 02-07 03-07 900',
      'paid 02-07 03-07 1800',
    ]);
    expect(await usesOf(name)).toBe('1: used 200');
  });

  it('of an incomplete subscription moves with its open invoice to the one of the new plan', async () => {
    const name = await code({ quantity: 1 });
    const { large, subscriptionId } = await incomplete(name);
    await s.t.done(submitChange, { subscriptionId, newPlanId: large, quantity: 1 }, s.merchant);
    expect((await s.invoices(subscriptionId)).at(-1)).toBe('Create processing 01-31 02-28 2700');
    expect(await usesOf(name)).toBe('1: used 300');
    await s.to('2026-02-04');
    expect(await usesOf(name)).toBe('0: rolledBack 300');
  });

  it('is given back where a change ends it: the new plan is not the one that it is for', async () => {
    const plan = s.plan();
    const name = await code({ quantity: 1, planApplyType: discountPlanApplyType.listed, planIds: [plan] });
    const userId = await s.userWithCard();
    const trialEnd = utc('2026-02-07');
    const { id } = await s.subscribe({ userId, planId: plan, trialEnd, discountCode: name });
    await s.t.done(submitChange, { subscriptionId: id, newPlanId: s.plan({ amount: 2000 }), quantity: 1 }, s.merchant);
    expect(await usesOf(name)).toBe('0: rolledBack -');
    await s.to('2026-02-08');
    expect((await s.invoices(id)).at(-1)).toBe('Cycle paid 02-07 03-07 2000');
  });
});

/** A subscription that started unpaid, and a larger plan. */
async function incomplete(discountCode: string) {
  const userId = await s.userWithCard('declines_softly');
  const terms = { userId, planId: s.plan(), gatewayId: s.gatewayId(), discountCode, startIncomplete: true };
  const { subscriptionId } = (await s.t.done(createSubscription, terms, s.merchant)).subscription;
  return { userId, subscriptionId, large: s.plan({ amount: 3000 }) };
}

describe('a recurring code', () => {
  it('counts each cycle once, however often its invoice is cancelled and made again', async () => {
    const name = await code({ billingType: discountBillingType.recurring, cycleLimit: 2, quantity: 1 });
    const { id } = await s.subscribe({ userId: await s.userWithCard(), planId: s.plan(), discountCode: name });
    expect(await usesOf(name)).toBe('1: used 100');
    await s.to('2026-02-25T06:00');
    await s.t.done(cancelInvoice, { invoiceId: (await s.state(id)).invoiceId }, s.merchant);
    expect(await usesOf(name)).toBe('1: used 100 rolledBack 100');
    await s.to('2026-04-01');
    expect((await s.invoices(id)).map(line => line.replace(/^\w+ /, ''))).toEqual([
      'paid 01-31 02-28 900',
      'cancelled 02-28 03-31 900',
      'paid 02-28 03-31 900',
      'paid 03-31 04-30 1000',
    ]);
  });

  it('of an incomplete subscription moves with its open invoice to the one of the new plan', async () => {
    const name = await code({ billingType: discountBillingType.recurring, cycleLimit: 2, quantity: 1 });
    const { large, userId, subscriptionId } = await incomplete(name);
    await s.t.done(submitChange, { subscriptionId, newPlanId: large, quantity: 1 }, s.merchant);
    expect((await s.invoices(subscriptionId)).at(-1)).toBe('Create processing 01-31 02-28 2700');
    expect(await usesOf(name)).toBe('1: used 300');
    await s.swap(userId, 'succeeds');
    await s.to('2026-04-01');
    expect((await s.invoices(subscriptionId)).slice(-2).map(line => line.replace(/^\w+ /, ''))).toEqual([
      'paid 02-28 03-31 2700',
      'paid 03-31 04-30 3000',
    ]);
  });

  it('counts the use of the open next invoice for what takes its place: another day, a change now, one at the end', async () => {
    const name = await code({ billingType: discountBillingType.recurring, cycleLimit: 2, quantity: 0 });
    const users = [await s.userWithCard(), await s.userWithCard(), await s.userWithCard()];
    const ids: string[] = [];
    for (const userId of users) ids.push((await s.subscribe({ userId, planId: s.plan(), discountCode: name })).id);
    const [now = '', moved = '', later = ''] = ids;
    await s.to('2026-02-25T06:00');
    const large = { newPlanId: s.plan({ amount: 3000 }), quantity: 1 };
    const { nextPeriodInvoice } = await s.t.done(previewChange, { subscriptionId: now, ...large }, s.merchant);
    expect(nextPeriodInvoice?.totalAmount).toBe(2700);
    const day = { subscriptionId: moved, dueDay: 10 };
    const { invoice } = await s.t.done(changeDueDay, day, s.merchant);
    expect(invoice?.discountAmount).toBeGreaterThan(0);
    const small = { subscriptionId: later, newPlanId: s.plan({ amount: 500 }), quantity: 1 };
    await s.t.done(submitChange, small, s.merchant);
    // its next invoice is open still when the change comes
    await s.swap(users[2] ?? 0, 'declines_softly');
    await s.to('2026-02-28T12:00');
    expect((await s.invoices(moved)).at(-1)).toContain(` ${invoice?.totalAmount}`);
    expect((await s.invoices(later)).at(-1)).toBe('Cycle processing 02-28 03-31 450');
  });
});
