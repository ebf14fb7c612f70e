import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  cancelPayment,
  cancelRefund,
  creditAccountType,
  editCreditConfig,
  editInvoice,
  finishInvoice,
  invoiceDetail,
  invoiceStatus,
  markRefundSuccess,
  markWireTransferSuccess,
  newCreditConfig,
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

const account = { type: creditAccountType.main, currency: 'EUR' };
let s: Shop;
beforeAll(async () => {
  s = await shop();
  await s.t.done(newCreditConfig, account);
});
afterAll(() => s.t.close());

/** Totals of the draft as it is made and as it is edited, and the least that the gateway collects in its currency. */
const money = { made: 7033, edited: 758, minimum: 100, refund: 60 } as const;
/** Balances for which nothing is taken, a part, all but the least that the gateway collects, and all. */
const balances = [0, 700, money.made - 50, 8000] as const;

/** A refund, and the part of it that goes through the payment; the rest is main credit. */
interface Refund {
  status: 'created' | 'success' | 'cancelled';
  toPayment: number;
}

/** Reference model of an invoice, its payments, refunds, credit notes and chargeback, and of its user's main credit. */
interface Model {
  invoice: 'draft' | 'deleted' | 'open' | 'paid' | 'cancelled' | 'failed' | 'reversed';
  /** All payments so far, the newest last. */
  payments: ('created' | 'success' | 'cancelled' | 'failed')[];
  /** True if the newest payment is the current one. */
  current: boolean;
  /** All refunds so far, the newest last; each has a credit note. */
  refunds: Refund[];
  dispute: '' | 'open' | 'won' | 'lost';
  /** True if the merchant's config lets invoices take credit. */
  mayTake: boolean;
  total: number;
  /** Main credit that the invoice took. */
  spent: number;
  /** Main credit of its user. */
  balance: number;
}

interface Real {
  invoiceId: string;
  userId: number;
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
  if (invoice === 'cancelled' || invoice === 'failed') model.balance += model.spent;
  return 'done';
}

/** Main credit that an invoice takes: so much that a rest is not below the least that the gateway collects. */
function takenBy({ balance, mayTake, total }: Model): number {
  if (!mayTake) return 0;
  return balance >= total ? total : Math.min(balance, total - money.minimum);
}

/** The part of a refund of an amount that goes through the payment: what is left of it. */
function leftOfPayment({ payments, refunds, total, spent }: Model, amount: number): number {
  const paid = payments.at(-1) === 'success' ? total - spent : 0;
  const back = refunds.reduce((sum, { status, toPayment }) => sum + (status === 'cancelled' ? 0 : toPayment), 0);
  return Math.min(amount, paid - back);
}

const moves: Moves = {
  finish: {
    expected(model) {
      if (model.invoice === 'deleted') return 'invoice_not_found';
      if (model.invoice !== 'draft') return 'invoice_not_draft';
      model.spent = takenBy(model);
      model.balance -= model.spent;
      model.current = model.spent < model.total;
      if (model.current) model.payments.push('created');
      model.invoice = model.current ? 'open' : 'paid';
      return 'done';
    },
    async make(real) {
      const result = await s.t.call(finishInvoice, { invoiceId: real.invoiceId, daysUtilDue: 3 });
      if (result.ok && result.data.invoice.paymentId) real.paymentIds.push(result.data.invoice.paymentId);
      return result;
    },
  },
  'credit is given': {
    expected(model) {
      model.balance += 900;
      return 'done';
    },
    async make({ userId }) {
      await s.giveMain(userId, 900n);
      return { ok: true };
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
    expected(model) {
      if (model.invoice !== 'draft') return model.invoice === 'deleted' ? 'invoice_not_found' : 'invoice_not_draft';
      model.total = money.edited;
      return 'done';
    },
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
      const result = await s.t.call(refundInvoice, {
        invoiceId: real.invoiceId,
        refundAmount: money.refund,
        reason: '',
      });
      if (result.ok) real.refundIds.push(result.data.refund.refundId);
      return result;
    },
  },
  'mark the refund': { expected: marked, make: ({ invoiceId }) => s.t.call(markRefundSuccess, { invoiceId }) },
  'cancel the newest refund': {
    expected(model) {
      const at = model.refunds.length - 1;
      if (at < 0) return 'refund_not_found';
      const refund = model.refunds[at] as Refund;
      if (refund.status !== 'created') return 'refund_not_open';
      refund.status = 'cancelled';
      // credit that was given stays, as a refund of its own
      if (refund.toPayment < money.refund) model.refunds.push({ status: 'success', toPayment: 0 });
      return 'done';
    },
    async make(real) {
      const result = await s.t.call(cancelRefund, { refundId: real.refundIds.at(-1) ?? 're_none' });
      await seeRefunds(real);
      return result;
    },
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
      // credit that the invoice took was never the bank's to take back
      const toPayment = leftOfPayment(model, model.total);
      if (toPayment > 0) model.refunds.push({ status: 'success', toPayment });
      return 'done';
    },
    async make(real) {
      const result = await report(real, (disputes, tx, invoice) => disputes.lost(tx, invoice, 1_000_000n));
      await seeRefunds(real);
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

/** Finds the refunds that were made beside the one that was asked for. */
async function seeRefunds(real: Real): Promise<void> {
  const made = await s.t.rows('select refund_id from refunds where invoice_id = $1 order by id', [real.invoiceId]);
  real.refundIds = made.map(row => String(row.refund_id));
}

/** Expected outcome of a refund, which is small enough to fit always. */
function refunded(model: Model): Outcome {
  if (model.invoice === 'deleted') return 'invoice_not_found';
  if (model.invoice !== 'paid') return 'invoice_not_refundable';
  if (model.dispute === 'open') return 'payment_disputed';
  const toPayment = leftOfPayment(model, money.refund);
  model.balance += money.refund - toPayment;
  model.refunds.push({ status: toPayment > 0 ? 'created' : 'success', toPayment });
  return 'done';
}

/** Expected outcome of a move on the only open refund. */
function marked(model: Model): Outcome {
  if (model.invoice === 'deleted') return 'invoice_not_found';
  const open = model.refunds.filter(({ status }) => status === 'created');
  const [refund] = open;
  if (!refund || open.length > 1) return 'refund_not_open';
  refund.status = 'success';
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
  if (model.payments.at(-1) !== 'success') return 'invoice_not_refundable';
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

async function agrees(model: Model, { invoiceId, userId, paymentIds }: Real): Promise<void> {
  const [{ invoice, creditNotes }, balance, ...payments] = await Promise.all([
    s.t.done(invoiceDetail, { invoiceId }),
    s.balance(userId),
    ...paymentIds.map(id => s.payment(id)),
  ]);
  expect({ ...invoice, isDeleted: invoice.isDeleted > 0 }).toMatchObject({
    status: invoiceStatus[codes[model.invoice as keyof typeof codes] ?? model.invoice],
    isDeleted: model.invoice === 'deleted',
    paymentId: model.current ? paymentIds.at(-1) : '',
    totalAmount: model.total,
    partialCreditPaidAmount: model.spent,
  });
  expect(balance).toBe(model.balance);
  const notes = model.refunds.map(({ status }) => ({ created: 2, success: 3, cancelled: 5 })[status]);
  if (model.invoice === 'cancelled') notes.push(3);
  expect(creditNotes.map(({ status }) => status).toSorted()).toEqual(notes.toSorted());
  expect(creditNotes.every(({ number, status }) => (number !== '') === (status === invoiceStatus.paid))).toBe(true);
  const due = model.total - model.spent;
  expect(payments.map(({ status, totalAmount }) => [status, totalAmount])).toEqual(
    model.payments.map(status => [paymentStatus[status], due]),
  );
}

const draft = (): Omit<Model, 'mayTake' | 'balance'> => ({
  invoice: 'draft',
  payments: [],
  current: false,
  refunds: [],
  dispute: '',
  total: money.made,
  spent: 0,
});

async function runs(count: number, seed: number, mayTake = true): Promise<void> {
  const balance = fc.constantFrom(...balances);
  const commands = fc.commands(
    Object.keys(moves).map(name => fc.constant(new Move(name))),
    { maxCommands: 10 },
  );
  await fc.assert(
    fc.asyncProperty(commands, balance, async (tried, credit) => {
      const userId = s.newUser();
      await s.giveMain(userId, BigInt(credit));
      const { invoiceId } = await s.made({ userId });
      const start = {
        model: { ...draft(), mayTake, balance: credit },
        real: { invoiceId, userId, paymentIds: [], refundIds: [] } as Real,
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
  const [runsAtOnce, runsEach, runsWithout] = [20, sized(60, 500), sized(5, 50)];
  const rounds = sized(4, 20);

  const all = (each: number, mayTake: boolean) =>
    Promise.all(Array.from({ length: runsAtOnce }, (_, at) => runs(each, seed + at, mayTake)));

  it(`take no credit where the config says no, in ${runsAtOnce * runsWithout} runs (seed ${seed})`, async () => {
    await s.t.done(editCreditConfig, { ...account, payoutEnable: 0 });
    await all(runsWithout, false);
    await s.t.done(editCreditConfig, { ...account, payoutEnable: 1 });
  });

  it(`go wherever the reference model goes, in ${runsAtOnce * runsEach} runs, and nowhere else (seed ${seed})`, async () => {
    await all(runsEach, true);
    const gaps = await s.t.rows(
      `select aggregate_id from outbox where aggregate in ('invoice', 'payment', 'refund') group by aggregate, aggregate_id
       having min(version) <> 1 or max(version) <> count(*)`,
    );
    expect(gaps).toEqual([]);
  });

  const wrong: [name: string, expected: Moves[string]['expected']][] = [
    [
      'clear',
      model => (unlessCollecting(model) === 'done' ? end(model, 'open', 'cancelled') : unlessCollecting(model)),
    ],
    [
      'cancel',
      model => {
        const { balance } = model;
        const outcome = unlessOpen(model) === 'done' ? end(model, 'cancelled', 'cancelled') : unlessOpen(model);
        model.balance = balance;
        return outcome;
      },
    ],
    [
      'refund',
      model => {
        const { balance } = model;
        const outcome = refunded(model);
        model.balance = balance;
        return outcome;
      },
    ],
  ];
  // always the same runs: some of these differences are rare
  it.each(wrong)('would be told apart by a model that is wrong in one move, %s', async (name, expected) => {
    const right = moves[name] as Moves[string];
    moves[name] = { ...right, expected };
    try {
      await expect(runs(1000, 12)).rejects.toThrow();
    } finally {
      moves[name] = right;
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
