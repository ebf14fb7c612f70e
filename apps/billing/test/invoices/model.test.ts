import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  cancelPayment,
  cancelRefund,
  editInvoice,
  finishInvoice,
  invoiceDetail,
  invoiceStatus,
  markRefundSuccess,
  markWireTransferSuccess,
  newPayment,
  paymentStatus,
  refundInvoice,
  type Slug,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import type { TestCaller } from '@recur/platform/testing';
import { sized } from '@recur/platform/testing/size';
import fc from 'fast-check';
import type { InvoiceState } from '../../src/invoices/state.js';
import { invoiceAggregate } from '../../src/invoices/views.js';
import { Disputes } from '../../src/refunds/disputes.js';
import { type Shop, shop } from '../world/shop.js';

let s: Shop;
beforeAll(async () => {
  s = await shop();
});
afterAll(() => s.t.close());

/** Reference model of an invoice, its payments, refunds, credit notes and chargeback. */
interface Model {
  invoice: 'draft' | 'deleted' | 'open' | 'paid' | 'cancelled' | 'failed' | 'reversed';
  /** All payments so far, the newest last. */
  payments: ('created' | 'success' | 'cancelled' | 'failed')[];
  /** True if the newest payment is the current one. */
  current: boolean;
  /** All refunds so far, the newest last; each has a credit note. */
  refunds: ('created' | 'success' | 'cancelled')[];
  dispute: '' | 'open' | 'won' | 'lost';
}

interface Real {
  invoiceId: string;
  paymentIds: string[];
  refundIds: string[];
}

type Outcome = Slug | 'done';
type Moves = Record<
  string,
  { expected(model: Model): Outcome; make(real: Real): Promise<{ ok: boolean; slug?: Slug }> }
>;

const last = ({ payments }: Model) => payments.length - 1;

/** Expected outcome of an operation that needs an open invoice. */
const unlessOpen = ({ invoice }: Model): Outcome =>
  invoice === 'deleted' ? 'invoice_not_found' : invoice === 'open' ? 'done' : 'invoice_not_open';

/** Expected outcome of an operation that also needs a current payment. */
const unlessCollecting = (model: Model): Outcome =>
  model.invoice === 'open' && !model.current ? 'invoice_without_payment' : unlessOpen(model);

function end(model: Model, invoice: Model['invoice'], payment: Model['payments'][number]): Outcome {
  if (model.current) model.payments[last(model)] = payment;
  model.invoice = invoice;
  return 'done';
}

const moves: Moves = {
  finish: {
    expected(model) {
      if (model.invoice === 'deleted') return 'invoice_not_found';
      if (model.invoice !== 'draft') return 'invoice_not_draft';
      model.payments.push('created');
      model.current = true;
      model.invoice = 'open';
      return 'done';
    },
    async make(real) {
      const result = await s.t.call(finishInvoice, { invoiceId: real.invoiceId, daysUtilDue: 3 });
      if (result.ok) real.paymentIds.push(result.data.invoice.paymentId);
      return result;
    },
  },
  delete: {
    expected(model) {
      if (model.invoice !== 'draft' && model.invoice !== 'deleted') return 'invoice_not_draft';
      model.invoice = 'deleted';
      return 'done';
    },
    make: ({ invoiceId }) => s.moves.delete(invoiceId),
  },
  cancel: {
    expected: model => (unlessOpen(model) === 'done' ? end(model, 'cancelled', 'cancelled') : unlessOpen(model)),
    make: ({ invoiceId }) => s.moves.cancel(invoiceId),
  },
  clear: {
    expected(model) {
      const refusal = unlessCollecting(model);
      if (refusal !== 'done') return refusal;
      end(model, 'open', 'cancelled');
      model.current = false;
      return 'done';
    },
    make: ({ invoiceId }) => s.moves.clear(invoiceId),
  },
  receive: {
    expected: model => (unlessCollecting(model) === 'done' ? end(model, 'paid', 'success') : unlessCollecting(model)),
    make: ({ invoiceId }) => s.moves.receive(invoiceId),
  },
  edit: {
    expected: ({ invoice }) =>
      invoice === 'deleted' ? 'invoice_not_found' : invoice === 'draft' ? 'done' : 'invoice_not_draft',
    make: ({ invoiceId }) =>
      s.t.call(editInvoice, { invoiceId, lines: [{ name: 'Other', unitAmountExcludingTax: 700 }] }),
  },
  'pay anew': {
    expected(model) {
      if (unlessOpen(model) !== 'done') return unlessOpen(model);
      if (model.current) return 'payment_exists';
      model.payments.push('created');
      model.current = true;
      return 'done';
    },
    async make(real) {
      const result = await s.t.call(newPayment, { invoiceId: real.invoiceId, gatewayId: s.gateway.gatewayId });
      if (result.ok) real.paymentIds.push(result.data.paymentId);
      return result;
    },
  },
  'cancel the first payment': {
    expected: model => cancelled(model, 0),
    make: ({ paymentIds: [first = 'pay_none'] }) => s.t.call(cancelPayment, { paymentId: first }),
  },
  refund: {
    expected: refunded,
    async make(real) {
      const result = await s.t.call(refundInvoice, { invoiceId: real.invoiceId, refundAmount: 10, reason: '' });
      if (result.ok) real.refundIds.push(result.data.refund.refundId);
      return result;
    },
  },
  'mark the refund': { expected: marked, make: ({ invoiceId }) => s.t.call(markRefundSuccess, { invoiceId }) },
  'cancel the newest refund': {
    expected(model) {
      const at = model.refunds.length - 1;
      if (at < 0) return 'refund_not_found';
      if (model.refunds[at] !== 'created') return 'refund_not_open';
      model.refunds[at] = 'cancelled';
      return 'done';
    },
    make: ({ refundIds }) => s.t.call(cancelRefund, { refundId: refundIds.at(-1) ?? 're_none' }),
  },
  'a chargeback is opened': {
    expected: model => disputed(model, [''], 'open'),
    make: real => report(real, (disputes, tx, invoice) => disputes.open(tx, invoice)),
  },
  'a chargeback is won': {
    expected: model => disputed(model, ['open'], 'won'),
    make: real => report(real, (disputes, tx, invoice) => disputes.won(tx, invoice)),
  },
  'a chargeback is lost': {
    expected(model) {
      const before = model.dispute;
      const outcome = disputed(model, ['', 'open'], 'lost');
      if (outcome !== 'done' || model.dispute === before || model.dispute !== 'lost') return outcome;
      model.invoice = 'reversed';
      model.refunds.push('success');
      return 'done';
    },
    async make(real) {
      const result = await report(real, (disputes, tx, invoice) => disputes.lost(tx, invoice, 1_000_000n));
      const [newest] = await s.t.rows(
        'select refund_id from refunds where invoice_id = $1 order by create_time desc, refund_id desc limit 1',
        [real.invoiceId],
      );
      const refundId = newest && String(newest.refund_id);
      if (refundId && !real.refundIds.includes(refundId)) real.refundIds.push(refundId);
      return result;
    },
  },
  'cancel the newest payment': {
    expected: model => cancelled(model, last(model)),
    make: ({ paymentIds }) => s.t.call(cancelPayment, { paymentId: paymentIds.at(-1) ?? 'pay_none' }),
  },
  expire: {
    expected: model => (model.invoice === 'open' ? end(model, 'failed', 'failed') : 'done'),
    async make({ invoiceId }) {
      // shift this invoice's times instead of the clock, which the concurrent runs share
      const past = s.term + 1;
      const its = 'where merchant_id = $1 and invoice_id = $2';
      const values = [s.t.callerOf().merchantId, invoiceId, past];
      await s.t.rows(`update invoices set finish_time = finish_time - $3, deadline = deadline - $3 ${its}`, values);
      await s.t.rows('update due_work set due_at = due_at - $3 where merchant_id = $1 and key = $2', values);
      await s.drain();
      return { ok: true };
    },
  },
};

/** Expected outcome of a refund, which is small enough to fit always. */
function refunded(model: Model): Outcome {
  if (model.invoice === 'deleted') return 'invoice_not_found';
  if (model.invoice !== 'paid') return 'invoice_not_refundable';
  if (model.dispute === 'open') return 'payment_disputed';
  model.refunds.push('created');
  return 'done';
}

/** Expected outcome of a move on the only open refund. */
function marked(model: Model): Outcome {
  if (model.invoice === 'deleted') return 'invoice_not_found';
  const open = model.refunds.flatMap((status, at) => (status === 'created' ? [at] : []));
  const [at] = open;
  if (at === undefined || open.length > 1) return 'refund_not_open';
  model.refunds[at] = 'success';
  return 'done';
}

/** A chargeback as the gateway reports it. */
async function report(
  { invoiceId }: Real,
  run: (disputes: Disputes, tx: Tx, invoice: InvoiceState) => unknown,
): Promise<{ ok: boolean; slug?: Slug }> {
  try {
    await s.t.db.write(s.t.callerOf(), async tx => {
      await run(s.t.app.get(Disputes), tx, await tx.lock(invoiceAggregate, invoiceId, 'invoice_not_found'));
      return {};
    });
    return { ok: true };
  } catch (error) {
    if (error instanceof Rejected) return { ok: false, slug: error.slug };
    throw error;
  }
}

/** Expected outcome of a report on a chargeback, which takes a successful payment. */
function disputed(model: Model, from: readonly Model['dispute'][], to: Model['dispute']): Outcome {
  if (model.invoice !== 'paid' && model.invoice !== 'reversed') return 'invoice_not_refundable';
  if (from.includes(model.dispute)) model.dispute = to;
  return 'done';
}

function cancelled(model: Model, at: number): Outcome {
  const payment = model.payments[at];
  if (payment === undefined) return 'payment_not_found';
  if (payment !== 'created') return 'payment_not_open';
  return end(model, 'cancelled', 'cancelled');
}

/** A fast-check command: the service must answer what the model expects. */
class Move implements fc.AsyncCommand<Model, Real> {
  constructor(private readonly name: string) {}
  check = () => true;
  toString = () => this.name;
  async run(model: Model, real: Real): Promise<void> {
    const { expected, make } = moves[this.name] as Moves[string];
    const outcome = expected(model);
    const result = await make(real);
    const answered = result.ok ? 'done' : result.slug;
    // jest's expect is slow compared with a move
    if (answered !== outcome) throw new Error(`${this.name} is answered ${answered}, where ${outcome} is expected`);
  }
}

const codes = { draft: 'pending', deleted: 'pending', open: 'processing' } as const;

async function agrees(model: Model, { invoiceId, paymentIds }: Real): Promise<void> {
  const [{ invoice, creditNotes }, ...payments] = await Promise.all([
    s.t.done(invoiceDetail, { invoiceId }),
    ...paymentIds.map(id => s.payment(id)),
  ]);
  expect({ ...invoice, isDeleted: invoice.isDeleted > 0 }).toMatchObject({
    status: invoiceStatus[codes[model.invoice as keyof typeof codes] ?? model.invoice],
    isDeleted: model.invoice === 'deleted',
    paymentId: model.current ? paymentIds.at(-1) : '',
  });
  const notes = model.refunds.map(status => ({ created: 2, success: 3, cancelled: 5 })[status]);
  if (model.invoice === 'cancelled') notes.push(3);
  expect(creditNotes.map(({ status }) => status).toSorted()).toEqual(notes.toSorted());
  expect(creditNotes.every(({ number, status }) => (number !== '') === (status === invoiceStatus.paid))).toBe(true);
  expect(payments.map(({ status }) => status)).toEqual(model.payments.map(status => paymentStatus[status]));
}

async function runs(count: number, seed: number): Promise<void> {
  const commands = fc.commands(
    Object.keys(moves).map(name => fc.constant(new Move(name))),
    { maxCommands: 10 },
  );
  await fc.assert(
    fc.asyncProperty(commands, async tried => {
      const { invoiceId } = await s.made();
      const start = {
        model: { invoice: 'draft', payments: [], current: false, refunds: [], dispute: '' } as Model,
        real: { invoiceId, paymentIds: [], refundIds: [] } as Real,
      };
      await fc.asyncModelRun(() => start, tried);
      await agrees(start.model, start.real);
    }),
    { numRuns: count, seed, endOnFailure: true },
  );
}

/** Answers after which it is unknown, or certain, that nothing was done: busy machines give them. */
const unknown: readonly Slug[] = ['deadline_exceeded', 'overloaded', 'dependency_away', 'idempotency_in_use'];

/** Repeats a command under its Idempotency-Key, as clients are to, until the answer says what became of it. */
async function certain<R extends { ok: true } | { ok: false; slug: Slug }>(
  call: (caller: TestCaller) => Promise<R>,
): Promise<R> {
  const caller = { idempotencyKey: randomUUID() };
  for (;;) {
    const result = await call(caller);
    if (result.ok || !unknown.includes(result.slug)) return result;
  }
}

describe('an invoice and its payments', () => {
  const seed = jest.getSeed();
  const [runsAtOnce, runsEach] = [20, sized(60, 500)];
  const rounds = sized(4, 20);

  it(`go wherever the reference model goes, in ${runsAtOnce * runsEach} runs, and nowhere else (seed ${seed})`, async () => {
    await Promise.all(Array.from({ length: runsAtOnce }, (_, at) => runs(runsEach, seed + at)));
    const gaps = await s.t.rows(
      `select aggregate_id from outbox where aggregate in ('invoice', 'payment', 'refund') group by aggregate, aggregate_id
       having min(version) <> 1 or max(version) <> count(*)`,
    );
    expect(gaps).toEqual([]);
  });

  it('would be told apart by a model that is wrong in one move', async () => {
    const right = moves.clear as Moves[string];
    moves.clear = {
      ...right,
      expected: model =>
        unlessCollecting(model) === 'done' ? end(model, 'open', 'cancelled') : unlessCollecting(model),
    };
    try {
      await expect(runs(500, seed)).rejects.toThrow();
    } finally {
      moves.clear = right;
    }
  });

  it(`are paid or cancelled, never both, ${rounds * 50} times at once`, async () => {
    const outcomes = new Map<string, number>();
    for (let round = 0; round < rounds; round++) {
      const made = await Promise.all(Array.from({ length: 50 }, () => s.made({ finish: true })));
      await Promise.all(
        made.map(async ({ invoiceId, paymentId }, at) => {
          const receive = { invoiceId, transferNumber: 'T-1' };
          const both = [
            () => certain(key => s.t.call(markWireTransferSuccess, receive, key)),
            () => certain(key => s.t.call(cancelPayment, { paymentId }, key)),
          ];
          const results = await Promise.all((at % 2 ? both.toReversed() : both).map(move => move()));
          const [received, cancelled] = (at % 2 ? results.toReversed() : results).map(({ ok }) => ok);
          const refusals = received || cancelled ? [] : results.map(result => (result.ok ? '' : result.slug));
          const [row] = await s.t.rows(
            `select i.status || ' ' || p.status as both from invoices i join payments p using (merchant_id, invoice_id)
             where i.invoice_id = $1`,
            [invoiceId],
          );
          const outcome = `${received ? 'received' : ''}${cancelled ? 'cancelled' : ''}${refusals}: ${row?.both}`;
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        }),
      );
    }
    expect([...outcomes.keys()].sort()).toEqual(['cancelled: cancelled cancelled', 'received: paid success']);
    expect([...outcomes.values()].reduce((sum, count) => sum + count)).toBe(rounds * 50);
  });
});
