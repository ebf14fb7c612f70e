import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { orThrow } from '@recur/client';
import { allDelivered, settled } from '../../journeys/oracle.js';
import { newUser } from '../../journeys/shop.js';
import { type Stand, startStand } from '../../journeys/test/stand.js';

let stand: Stand;
beforeAll(async () => {
  stand = await startStand({ gateway: { DEADLINE_FACTOR: '1' } });
});
afterAll(() => stand.close());

/** How an invoice ends after ten days, by the test payment method of its user, and how often it was charged. */
const ends: Record<string, string> = {
  succeeds: 'paid, charged 1',
  declines_softly: 'failed, charged 0',
  declines_hard: 'failed, charged 0',
  needs_action: 'failed, charged 0',
  times_out_after_charging: 'paid, charged 1',
  times_out_before_charging: 'paid, charged 1',
  calls_back_twice: 'paid, charged 1',
  calls_back_late: 'paid, charged 1',
  calls_back_out_of_order: 'paid, charged 1',
  disputed_and_won: 'paid, charged 1',
  disputed_and_lost: 'reversed, charged 1',
};

const WITHIN_MS = 240_000;

async function eventually(is: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + WITHIN_MS;
  while (!(await is()) && Date.now() < deadline) await new Promise(resolve => setTimeout(resolve, 500));
}

it('every outcome of the sandbox, and refunds, with billing killed at each point: one charge, one refund, and all ends', async () => {
  const { api, wire, merchantId } = await stand.shop('Kills');
  const ask = (text: string) => stand.ask('billing', text.replaceAll('$m', `merchant_id = ${merchantId}`));
  const setup = { gatewayName: 'sandbox' };
  const { gateway } = orThrow(await api.post('/merchant/gateway/setup', setup));
  const { gatewayId } = gateway;
  const drafts = new Map<string, string>();
  for (const scenario of Object.keys(ends)) {
    const userId = await newUser(api);
    orThrow(await api.post('/merchant/payment/method/new', { gatewayId, userId, data: { scenario } }));
    const lines = [{ name: 'Setup', quantity: 1, unitAmountExcludingTax: 1999 }];
    const body = { userId, gatewayId, currency: 'EUR', taxPercentage: 0, lines };
    const { invoice } = orThrow(await api.post('/merchant/invoice/new', body));
    drafts.set(invoice.invoiceId, scenario);
  }
  const finishAll = () =>
    Promise.all(
      [...drafts.keys()].map(invoiceId =>
        // the process may end before its answer is out; what is finished already is refused
        wire.send('/merchant/invoice/finish', { invoiceId, daysUtilDue: 3 }, randomUUID()).catch(() => undefined),
      ),
    );
  const advance = async (seconds: number) => {
    orThrow(await api.post('/merchant/test_clock/advance', { seconds }));
    await eventually(async () => orThrow(await api.get('/merchant/test_clock', {})).status === 'ready');
  };
  await stand.quiet();
  const unanswered: Promise<unknown>[] = [];
  for (const point of ['before-charge', 'after-charge', 'after-commit']) {
    await stand.stack.restart('billing', { CRASH_AT: point });
    unanswered.push(finishAll());
    await stand.stack.ended('billing', WITHIN_MS);
    await stand.endLeases();
  }
  await stand.stack.start('billing');
  await finishAll();
  // outcomes that are not known are asked for after a minute
  await advance(600);
  // all that succeed by themselves
  await eventually(async () => (await ask(`select 1 from invoices where $m and status = 'paid'`)).length === 7);

  const [first] = [...drafts].find(([, scenario]) => scenario === 'succeeds') ?? [''];
  for (const point of ['before-refund', 'after-refund']) {
    await stand.stack.restart('billing', { CRASH_AT: point });
    const refund = { invoiceId: first, refundAmount: 500, reason: point };
    // a refund that waits for its lease does not end the process before the next one is made
    unanswered.push(wire.send('/merchant/invoice/refund', refund, randomUUID()).catch(() => undefined));
    await stand.stack.ended('billing', WITHIN_MS);
  }
  await stand.endLeases();
  await stand.stack.start('billing');
  await Promise.all(unanswered);
  await eventually(async () => (await ask(`select 1 from refunds where $m and status = 'success'`)).length === 2);
  const made = await ask(
    `select r.amount, r.status, (select count(*) from sandbox_charges c where $m and c.idempotency_key = r.refund_id
      and c.state = 'succeeded') as times from refunds r where r.$m`,
  );
  expect(made).toEqual(Array(2).fill({ amount: '500', status: 'success', times: '1' }));

  await advance(10 * 86_400);
  const rows = await ask(
    `select i.invoice_id, i.status, (select count(*) from sandbox_charges c join payments p on p.$m and p.payment_id =
      left(c.idempotency_key, length(p.payment_id)) where c.$m and p.invoice_id = i.invoice_id and c.kind = 'charge'
      and c.state = 'succeeded') as charged from invoices i where i.$m and i.kind = 'invoice'`,
  );
  const seen = rows.map(row => [drafts.get(String(row.invoice_id)), `${row.status}, charged ${row.charged}`]);
  expect(Object.fromEntries(seen)).toEqual(ends);
  expect(await settled(stand.ask, allDelivered)).toEqual([]);
});
