import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { finishInvoice, invoiceStatus, paymentStatus } from '@recur/contracts';
import { type Shop, shop } from '../world/shop.js';

let s: Shop;
beforeAll(async () => {
  s = await shop();
});
afterAll(() => s.t.close());
beforeEach(async () => {
  await s.drain();
  await s.t.emitted();
});

const rows = async () => (await s.t.rows('select key from due_work')).map(({ key }) => key);

describe('an open invoice', () => {
  it('fails with its payment twenty minutes after its term, and not a second before', async () => {
    const { invoiceId, paymentId } = await s.made({ finish: true });
    await s.t.emitted();
    s.clock.advance(s.term - 1);
    await s.drain();
    expect(await s.t.emitted()).toEqual([]);
    s.clock.advance(1);
    await s.drain();
    const [payment, invoice, log, ...more] = await s.t.emitted();
    const reason = 'The invoice was not paid in time';
    expect(payment).toMatchObject({
      type: 'payment.failure',
      version: 2,
      data: { paymentId, status: paymentStatus.failed, failureReason: reason },
    });
    expect(invoice).toMatchObject({
      type: 'invoice.failed',
      version: 3,
      data: { invoiceId, status: invoiceStatus.failed },
    });
    expect(log).toMatchObject({
      actor: { kind: 'system' },
      requestId: expect.stringMatching(`^invoice.expire_${invoiceId}_${s.clock.now()}_`),
      data: {
        actor: { kind: 'system' },
        target: `Invoice(${invoiceId})`,
        content: 'Expire',
        ids: { invoiceId, userId: 1 },
      },
    });
    expect(more).toEqual([]);
    expect(await s.detail(invoiceId)).toMatchObject({
      status: invoiceStatus.failed,
      payment: { status: paymentStatus.failed },
    });
    expect(await rows()).toEqual([]);
  });

  it('has the term that it was finished with', async () => {
    const { invoiceId } = await s.made();
    await s.t.done(finishInvoice, { invoiceId, daysUtilDue: 0 });
    s.clock.advance(1_199);
    await s.drain();
    expect(await s.detail(invoiceId)).toMatchObject({ status: invoiceStatus.processing });
    s.clock.advance(1);
    await s.drain();
    expect(await s.detail(invoiceId)).toMatchObject({ status: invoiceStatus.failed });
  });

  it('fails without a payment where that was cleared, or has failed already', async () => {
    const cleared = await s.inState('cleared');
    const declined = await s.inState('open');
    await s.t.rows(`update payments set status = 'failed' where payment_id = $1`, [declined.paymentId]);
    await s.t.emitted();
    s.clock.advance(s.term);
    await s.drain();
    expect((await s.types()).sort()).toEqual([
      'invoice.failed 3',
      'invoice.failed 4',
      'operation.logged 1',
      'operation.logged 1',
    ]);
    expect(await s.detail(cleared.invoiceId)).toMatchObject({ status: invoiceStatus.failed });
  });
});

it('a draft, and one of total 0, never expires', async () => {
  await s.inState('draft');
  await s.made({ finish: true, lines: [{ name: 'Gift', unitAmountExcludingTax: 0 }] });
  expect(await rows()).toEqual([]);
});

it.each(['paid', 'cancelled'] as const)('an invoice that is %s only loses its row', async state => {
  const { invoiceId } = await s.inState(state);
  expect(await rows()).toEqual([invoiceId]);
  s.clock.advance(s.term);
  const before = await s.everything();
  await s.drain();
  expect(await s.everything()).toEqual(before);
  expect(await rows()).toEqual([]);
});

it('invoices of all merchants expire in one round, however many there are', async () => {
  const stranger = await s.stranger(16);
  const mine = await s.made({ finish: true });
  const theirs = await s.made({ finish: true }, stranger);
  await s.t.rows(
    `insert into due_work select 15 + n % 3, 'invoice.expire', 'in_gone' || n, 1000 + n / 7, 0 from generate_series(1, 1700) n`,
  );
  s.clock.advance(s.term);
  await s.drain();
  const failed = await s.t.rows(`select invoice_id from invoices where status = 'failed' and finish_time = $1`, [
    mine.finishTime,
  ]);
  expect(failed.map(({ invoice_id }) => invoice_id).sort()).toEqual([mine.invoiceId, theirs.invoiceId].sort());
  expect(await rows()).toEqual([]);
});

it('expires once, however many workers are at it', async () => {
  const invoices = await Promise.all(Array.from({ length: 40 }, () => s.made({ finish: true })));
  await s.t.emitted();
  s.clock.advance(s.term);
  const replicas = [s.t, await s.t.replica(), await s.t.replica(), await s.t.replica()];
  await Promise.all(replicas.map(({ work }) => work.drain()));
  const failed = (await s.t.emitted()).filter(({ type }) => type === 'invoice.failed');
  expect(failed.map(({ aggregateId }) => aggregateId).sort()).toEqual(
    invoices.map(({ invoiceId }) => invoiceId).sort(),
  );
  expect(await rows()).toEqual([]);
});

it('what fails to expire holds up no other, changes nothing, and expires later', async () => {
  const [poisoned, sound] = [await s.made({ finish: true }), await s.made({ finish: true })];
  await s.t.rows(`create function poison() returns trigger language plpgsql as $$ begin raise 'poisoned'; end $$;
    create trigger poison before insert on outbox for each row
      when (new.type = 'operation.logged' and new.envelope like '%expire_${poisoned.invoiceId}%') execute function poison()`);
  s.clock.advance(s.term);
  await s.t.emitted();
  await s.drain();
  await s.drain();
  expect(await s.types()).toEqual(['payment.failure 2', 'invoice.failed 3', 'operation.logged 1']);
  expect(await s.detail(sound.invoiceId)).toMatchObject({ status: invoiceStatus.failed });
  expect(await s.detail(poisoned.invoiceId)).toMatchObject({
    status: invoiceStatus.processing,
    payment: { status: paymentStatus.created },
  });
  expect(await rows()).toEqual([poisoned.invoiceId]);
  await s.t.rows('drop function poison cascade');
  s.clock.advance(60);
  await s.drain();
  expect(await s.types()).toEqual(['payment.failure 2', 'invoice.failed 3', 'operation.logged 1']);
  expect(await rows()).toEqual([]);
});

it('starts and stops', async () => {
  s.t.work.start();
  await s.t.work.stop();
  const { invoiceId } = await s.made({ finish: true });
  s.clock.advance(s.term);
  expect(await rows()).toEqual([invoiceId]);
});
