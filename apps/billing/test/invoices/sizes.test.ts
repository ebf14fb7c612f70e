import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { editInvoice, listInvoices, newInvoice, newPayment } from '@recur/contracts';
import { type Shop, shop } from '../world/shop.js';

let s: Shop;
beforeAll(async () => {
  s = await shop();
});
afterAll(() => s.t.close());

/** Size limit of a NATS message. */
const carried = 4 * 1024 * 1024;
const longest = async () => {
  const [row] = await s.t.rows('select max(octet_length(envelope)) as bytes from outbox');
  return Number(row?.bytes);
};
/** As many plans as an invoice may have lines. */
const plans = (count: number) => Array.from({ length: count }, () => ({ planId: 3 }));

it('an invoice that no message could carry with its plans is refused, whichever way it is made', async () => {
  // a line repeats the texts of its plan, so each line holds four times this
  s.knowPlan(3, { description: '語'.repeat(10_000) });
  const refused = {
    ok: false,
    slug: 'invalid_parameters',
    issues: [
      {
        path: '/lines',
        message: expect.stringMatching(/^The lines and their plans are \d+ bytes .* at most 2097152$/),
      },
    ],
  };
  const draft = await s.made();
  const lines = plans(500);
  expect(await s.t.call(newInvoice, { ...s.order, lines })).toMatchObject(refused);
  expect(await s.t.call(editInvoice, { invoiceId: draft.invoiceId, lines })).toMatchObject(refused);
  expect(await s.t.call(newInvoice, { ...s.order, lines: plans(30), finish: true })).toMatchObject({ ok: true });
  const { gatewayId } = s.gateway;
  s.knowPlan(4, { metadata: { words: 'x'.repeat(2_097_152) } });
  expect(await s.t.call(newPayment, { userId: 1, gatewayId, planId: 4 })).toMatchObject({
    issues: [{ path: '/planId' }],
  });
  expect(await longest()).toBeLessThan(carried);
});

it('500 lines of ordinary plans fit', async () => {
  s.knowPlan(5, { description: 'Everything that a team of five needs, by the month', metadata: { tier: 'pro' } });
  const lines = Array.from({ length: 500 }, () => ({ planId: 5 }));
  expect((await s.made({ lines, finish: true })).lines).toHaveLength(500);
  expect(await longest()).toBeLessThan(carried);
});

it('a name of any 500 characters can be stored and found; a longer one is refused', async () => {
  // random text, since PostgreSQL compresses long index entries
  const name = Array.from({ length: 500 }, (_, at) => String.fromCharCode(0x4e00 + ((at * 7_919) % 20_000))).join('');
  const { invoiceId } = await s.made({ name });
  const { invoices } = await s.t.done(listInvoices, { searchKey: name.slice(0, 20) });
  expect(invoices).toMatchObject([{ invoiceId, invoiceName: name }]);
  const longer = { name: `${name}.` };
  const refused = { issues: [{ path: '/name', message: 'name must have at most 500 characters' }] };
  expect(await s.t.call(newInvoice, { ...s.order, ...longer })).toMatchObject(refused);
  expect(await s.t.call(editInvoice, { invoiceId, ...longer })).toMatchObject(refused);
  const talk = { userId: 1, gatewayId: s.gateway.gatewayId, totalAmount: 100, currency: 'EUR' };
  expect(await s.t.call(newPayment, { ...talk, ...longer })).toMatchObject(refused);
});
