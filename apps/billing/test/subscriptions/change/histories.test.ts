import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cancelPayment, type Invoice, listCreditNotes, type Subscription } from '@recur/contracts';
import fc from 'fast-check';
import { type ChangeRequest, plans, roundPrices, type World, world } from '../../world/subscriptions.js';

/*
 * Random histories of changes within a period: each preview is the document that its submit makes, to the line, and what
 * was billed in the end is the price over time (V4), within one minor unit per line of a change.
 */

const histories = { run: 10, steps: 6 } as const;

let w: World;
beforeAll(async () => {
  w = await world(roundPrices);
});
afterAll(() => w.t.close());

const unit = { [plans.small]: 10_000, [plans.large]: 20_000 } as Record<number, number>;

const step = fc.record({
  newPlanId: fc.constantFrom(plans.small, plans.large),
  quantity: fc.integer({ min: 1, max: 7 }),
  addons: fc.integer({ min: 0, max: 3 }),
  ending: fc.constantFrom('paid', 'paid', 'cancelled'),
  after: fc.integer({ min: 20_000, max: 400_000 }),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const priceOf = ({ newPlanId, quantity, addons }: Pick<Step, 'newPlanId' | 'quantity' | 'addons'>) =>
  (unit[newPlanId] ?? 0) * quantity + 3000 * addons;

/** A document without what differs between a preview and the document. */
const shown = ({ lines, totalAmount, taxAmount, discountAmount, prorationDate, invoiceName }: Invoice) => ({
  totalAmount,
  taxAmount,
  discountAmount,
  prorationDate,
  invoiceName,
  lines: lines.map(({ lineId: _, ...line }) => line),
});

async function documentOf(invoiceId: string): Promise<Invoice> {
  const { creditNotes } = await w.t.done(listCreditNotes, { count: 1000 });
  return creditNotes.find(note => note.invoiceId === invoiceId) ?? w.detail(invoiceId);
}

/** Changes a subscription as it was previewed; returns true if the change took effect. */
async function changed(sub: Subscription, { newPlanId, quantity, addons, ending }: Step): Promise<boolean> {
  const addonParams = addons === 0 ? [] : [{ addonPlanId: plans.addon, quantity: addons }];
  const request: ChangeRequest = { newPlanId, quantity, addonParams, effectImmediate: 1 };
  const preview = await w.preview(sub, request);
  const confirmed = { prorationDate: preview.prorationDate, confirmTotalAmount: preview.totalAmount };
  w.clock.advance(60);
  const made = await w.change(sub, { ...request, ...confirmed });
  if (made.invoiceId === '') {
    expect(preview.invoice.lines).toEqual([]);
    return made.paid;
  }
  expect(shown(await documentOf(made.invoiceId))).toEqual(shown(preview.invoice));
  if (made.paid) return true;
  if (ending === 'paid') await w.receive(made.invoiceId);
  else await w.t.done(cancelPayment, { paymentId: made.paymentId });
  return ending === 'paid';
}

it(`documents are as they were previewed, and add up to the price over time (${histories.run} × ${histories.steps})`, async () => {
  const seen = { planChanges: 0, lapsed: 0 };
  const all = fc.array(step, { minLength: histories.steps, maxLength: histories.steps });
  for (const steps of fc.sample(all, { numRuns: histories.run, seed: 20_260_115 })) {
    const sub = await w.active();
    const { subscriptionId, currentPeriodStart: start, currentPeriodEnd: end } = sub;
    let [price, since, exact, changes] = [10_000, start, 0, 1];
    for (const each of steps) {
      w.clock.advance(each.after);
      const at = w.clock.now();
      if (at >= end - 60) break;
      if (!(await changed(sub, each))) {
        seen.lapsed++;
        continue;
      }
      exact += price * (at - since);
      [price, since] = [priceOf(each), at];
      changes += 4;
      seen.planChanges++;
    }
    exact += price * (end - since);
    const [row] = await w.t.rows(
      `select sum(total_amount_excluding_tax) as net from invoices
       where subscription_id = $1 and status = 'paid' and note_reason in ('', 'composed')`,
      [subscriptionId],
    );
    expect(Math.abs(Number(row?.net) - exact / (end - start))).toBeLessThanOrEqual(changes);
    const beyond = await w.t.rows(
      `select line_id from invoice_lines l join invoices i using (merchant_id, invoice_id)
       where i.subscription_id = $1 and l.source_line_id = '' and l.credited_net > l.amount - l.tax and l.amount > 0`,
      [subscriptionId],
    );
    expect(beyond).toEqual([]);
  }
  expect(seen.planChanges).toBeGreaterThan(20);
  expect(seen.lapsed).toBeGreaterThan(3);
});
