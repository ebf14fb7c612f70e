import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  cancelPayment,
  editInvoice,
  finishInvoice,
  invoiceStatus,
  newPayment,
  paymentStatus,
  type Slug,
} from '@recur/contracts';
import fc from 'fast-check';
import { type Shop, shop } from '../shop.js';

jest.setTimeout(600_000);

let s: Shop;
beforeAll(async () => {
  s = await shop();
});
afterAll(() => s.t.close());

/** Reference model of an invoice and its payments. */
interface Model {
  invoice: 'draft' | 'deleted' | 'open' | 'paid' | 'cancelled' | 'failed';
  /** All payments so far, the newest last. */
  payments: ('created' | 'success' | 'cancelled' | 'failed')[];
  /** True if the newest payment is the current one. */
  current: boolean;
}

interface Real {
  invoiceId: string;
  paymentIds: string[];
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
      await s.t.rows(`update invoices set finish_time = finish_time - $3 ${its}`, values);
      await s.t.rows('update due_work set due_at = due_at - $3 where merchant_id = $1 and key = $2', values);
      await s.expiries.sweep();
      return { ok: true };
    },
  },
};

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
  const [invoice, ...payments] = await Promise.all([s.detail(invoiceId), ...paymentIds.map(id => s.payment(id))]);
  expect({ ...invoice, isDeleted: invoice.isDeleted > 0 }).toMatchObject({
    status: invoiceStatus[codes[model.invoice as keyof typeof codes] ?? model.invoice],
    isDeleted: model.invoice === 'deleted',
    paymentId: model.current ? paymentIds.at(-1) : '',
  });
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
        model: { invoice: 'draft', payments: [], current: false } as Model,
        real: { invoiceId, paymentIds: [] } as Real,
      };
      await fc.asyncModelRun(() => start, tried);
      await agrees(start.model, start.real);
    }),
    { numRuns: count, seed, endOnFailure: true },
  );
}

describe('an invoice and its payments', () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);

  it(`go wherever the reference model goes, in 10 000 runs, and nowhere else (seed ${seed})`, async () => {
    await Promise.all(Array.from({ length: 20 }, (_, at) => runs(500, seed + at)));
    const gaps = await s.t.rows(
      `select aggregate_id from outbox where aggregate in ('invoice', 'payment') group by aggregate, aggregate_id
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

  it('are paid or cancelled, never both, 1 000 times at once', async () => {
    const outcomes = new Map<string, number>();
    for (let round = 0; round < 20; round++) {
      const made = await Promise.all(Array.from({ length: 50 }, () => s.made({ finish: true })));
      await Promise.all(
        made.map(async ({ invoiceId, paymentId }, at) => {
          const both = [() => s.moves.receive(invoiceId), () => s.t.call(cancelPayment, { paymentId })];
          const results = await Promise.all((at % 2 ? both.toReversed() : both).map(move => move()));
          const [received, cancelled] = (at % 2 ? results.toReversed() : results).map(({ ok }) => ok);
          const [row] = await s.t.rows(
            `select i.status || ' ' || p.status as both from invoices i join payments p using (merchant_id, invoice_id)
             where i.invoice_id = $1`,
            [invoiceId],
          );
          const outcome = `${received ? 'received' : ''}${cancelled ? 'cancelled' : ''}: ${row?.both}`;
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        }),
      );
    }
    expect([...outcomes.keys()].sort()).toEqual(['cancelled: cancelled cancelled', 'received: paid success']);
    expect([...outcomes.values()].reduce((sum, count) => sum + count)).toBe(1_000);
  });
});
