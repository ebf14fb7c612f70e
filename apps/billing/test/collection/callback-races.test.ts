import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cancelPayment, gatewayCallback, type In } from '@recur/contracts';
import { sized } from '@recur/platform/testing/size';
import { type CardShop, cardShop } from '../world/cards.js';

let c: CardShop;
beforeAll(async () => {
  c = await cardShop();
});
afterAll(() => c.t.close());

const ROUNDS = sized(4, 20);
const TOGETHER = 50;
const CREDIT = 1_000n;

/** Delivers a callback as the gateway app does. */
async function deliver(input: In<typeof gatewayCallback>): Promise<boolean> {
  const caller = c.t.callerOf({ merchantId: 0, actor: { kind: 'system', id: '', display: 'system' } });
  return (await c.t.server.dispatch(gatewayCallback.name, JSON.stringify(input), caller)).ok;
}

/** An invoice of 7033, of which 1000 is paid from main credit, and whose charge waits for its user. */
async function awaiting() {
  const userId = await c.userWithCredit({ main: CREDIT });
  await c.card(userId, 'needs_action');
  const { invoiceId, paymentId } = await c.billed(userId);
  return { userId, invoiceId, paymentId };
}

/** Its user approves the charge; the gateway tells of it. */
async function approve({ paymentId }: { paymentId: string }): Promise<void> {
  const [row] = await c.t.rows('select gateway_payment_id as reference from payments where payment_id = $1', [
    paymentId,
  ]);
  await c.sandbox.answer(c.account, String(row?.reference), true);
}

/** Cancels a payment after some round trips to the database: a callback is read before it is applied. */
async function cancelAfter(roundTrips: number, paymentId: string): Promise<void> {
  for (let trip = 0; trip < roundTrips; trip++) await c.t.rows('select 1');
  await c.t.call(cancelPayment, { paymentId });
}

/** How a race ended: states, surplus, main credit left, money at the gateway, and the order of events. */
async function endOf({ userId, invoiceId, paymentId }: Awaited<ReturnType<typeof awaiting>>): Promise<string> {
  const [row] = await c.t.rows(
    `select i.status, p.status as payment, i.surplus, i.partial_credit_paid as spent, a.balance,
       (select sum(amount) from sandbox_charges c where c.idempotency_key = p.payment_id || '-1') as charged,
       (select string_agg(type, ' ' order by seq) from outbox where aggregate_id in ($1, $2) and type in
         ('payment.success', 'invoice.paid', 'payment.cancelled', 'invoice.cancelled')) as events
     from invoices i join payments p using (merchant_id, invoice_id) join credit_accounts a on a.user_id = $3 and a.type = 'main'
     where i.invoice_id = $1 and p.payment_id = $2`,
    [invoiceId, paymentId, userId],
  );
  const { status, payment, surplus, balance, charged, events } = row ?? {};
  return `${status} ${payment}: charged ${charged}, surplus ${surplus}, credit ${balance}; ${events}`;
}

it(`payment/cancel and a success callback, ${ROUNDS * TOGETHER} times at once: one wins, and order and credit are right`, async () => {
  const ends = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round++) {
    const open = await Promise.all(Array.from({ length: TOGETHER }, awaiting));
    await c.drain();
    await Promise.all(open.map(approve));
    await c.t.rows(`delete from due_work where kind in ('sandbox.callback', 'payment.reconcile')`);
    const callbacks = await c.sandbox.dueCallbacks(c.account);
    await Promise.all(
      open.map(async ({ paymentId }, at) => {
        const found = callbacks.find(({ body }) => Buffer.from(body).toString().includes(`${paymentId}-1`));
        if (!found) throw new Error(`no callback about ${paymentId}`);
        const { headers, body } = found;
        const report = { gatewayId: c.gatewayId, headers, base64: Buffer.from(body).toString('base64') };
        const both = [() => cancelAfter(at % 5, paymentId), () => deliver(report)];
        await Promise.all((at % 2 ? both.toReversed() : both).map(run => run()));
      }),
    );
    for (const one of open) {
      const end = await endOf(one);
      ends.set(end, (ends.get(end) ?? 0) + 1);
    }
    await c.t.rows('update sandbox_callbacks set sent = 1');
  }
  expect([...ends.keys()].toSorted()).toEqual([
    'cancelled cancelled: charged 6033, surplus 6033, credit 7033; payment.cancelled invoice.cancelled',
    'paid success: charged 6033, surplus 0, credit 0; payment.success invoice.paid',
  ]);
  expect([...ends.values()].reduce((sum, count) => sum + count)).toBe(ROUNDS * TOGETHER);
});
