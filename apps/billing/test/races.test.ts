import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cancelPayment, type Invoice } from '@recur/contracts';
import { type Shop, shop } from './shop.js';

let s: Shop;
beforeAll(async () => {
  s = await shop();
});
afterAll(() => s.t.close());

const ATTEMPTS = 24;

/** What may happen to an open invoice. Each says whether it was done; an expiry is done where it finds something to do. */
const moves: Record<string, (invoice: Invoice) => Promise<boolean>> = {
  'payment/cancel': async ({ paymentId }) => (await s.t.call(cancelPayment, { paymentId })).ok,
  'invoice/cancel': async ({ invoiceId }) => (await s.moves.cancel(invoiceId)).ok,
  'invoice/clearPayment': async ({ invoiceId }) => (await s.moves.clear(invoiceId)).ok,
  mark_wire_transfer_success: async ({ invoiceId }) => (await s.moves.receive(invoiceId)).ok,
  expiry: async ({ invoiceId }) => {
    await s.expiries.round();
    const [row] = await s.t.rows(`select 1 from invoices where invoice_id = $1 and status = 'failed'`, [invoiceId]);
    return row !== undefined;
  },
};
const names = Object.keys(moves);
const pairs = names.flatMap((one, at) => names.slice(at).map(other => [one, other] as const));

/** Open invoices whose term is over: everything that can be done to an open invoice can be done to them now. */
async function overdue(count: number): Promise<Invoice[]> {
  const made = await Promise.all(Array.from({ length: count }, () => s.made({ finish: true })));
  s.clock.advance(s.term);
  return made;
}

/** Which of two moves were done, and what became of invoice and payment. */
async function outcome({ invoiceId, paymentId }: Invoice, done: readonly boolean[]): Promise<string> {
  const [row] = await s.t.rows(
    `select i.status as invoice, p.status as payment, i.payment_id = p.payment_id as current from invoices i, payments p
     where i.invoice_id = $1 and p.payment_id = $2`,
    [invoiceId, paymentId],
  );
  return JSON.stringify({ done, ...row });
}

/** What comes of two moves that are made one after the other. */
async function inTurn(one: string, other: string): Promise<string> {
  const [invoice] = (await overdue(1)) as [Invoice];
  const first = await moves[one]?.(invoice);
  const second = await moves[other]?.(invoice);
  return outcome(invoice, [first === true, second === true]);
}
const swapped = (text: string) => {
  const { done, ...rest } = JSON.parse(text);
  return JSON.stringify({ done: done.toReversed(), ...rest });
};

describe('two moves at once end as if one had come after the other', () => {
  it.each(pairs)('%s and %s', async (one, other) => {
    // an expiry that came second and found nothing to do looks like one that was done by another round
    const sequential = new Set([await inTurn(one, other), swapped(await inTurn(other, one))]);
    const invoices = await overdue(ATTEMPTS);
    await s.t.emitted();
    const seen = await Promise.all(
      invoices.map(async (invoice, at) => {
        const both = [one, other].map(name => moves[name] as (of: Invoice) => Promise<boolean>);
        const [first, second] = await Promise.all((at % 2 ? both.toReversed() : both).map(move => move(invoice)));
        const done = at % 2 ? [second === true, first === true] : [first === true, second === true];
        return outcome(invoice, done);
      }),
    );
    expect([...sequential]).toEqual(expect.arrayContaining([...new Set(seen)]));
    const logs = (await s.t.emitted()).filter(({ type }) => type === 'operation.logged');
    expect(new Set(logs.map(({ requestId }) => requestId)).size).toBe(logs.length);
    await s.expiries.round();
  });
});
