import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  cancelPayment,
  cancelRefund,
  createMarkRefund,
  editInvoice,
  finishInvoice,
  type Invoice,
  invoiceStatus,
  markRefundSuccess,
  newPayment,
  refundInvoice,
} from '@recur/contracts';
import { sized } from '@recur/platform/testing/size';
import { GatewayEvents } from '../../src/collection/gateway-events.js';
import { type Shop, shop } from '../world/shop.js';

let s: Shop;
beforeAll(async () => {
  s = await shop();
});
afterAll(() => s.t.close());

const ATTEMPTS = sized(6, 16);

type Move = (invoice: Invoice) => Promise<boolean>;

/** Main credit of the user of each invoice, which a finish spends. */
const CREDIT = 1_000n;
/** An invoice of a user of its own, who has credit. */
const credited = async (over: object = {}) => s.made({ userId: await s.userWithCredit({ main: CREDIT }), ...over });

/** Another invoice of the same user takes what main credit there is. */
const spend: Move = async ({ userId }) => (await s.made({ userId, finish: true })).status === invoiceStatus.processing;

/** Moves on an open invoice; each returns true if it succeeded. */
const ofOpen: Record<string, Move> = {
  'payment/cancel': async ({ paymentId }) => (await s.t.call(cancelPayment, { paymentId })).ok,
  'invoice/cancel': async ({ invoiceId }) => (await s.moves.cancel(invoiceId)).ok,
  'invoice/clearPayment': async ({ invoiceId }) => (await s.moves.clear(invoiceId)).ok,
  mark_wire_transfer_success: async ({ invoiceId }) => (await s.moves.receive(invoiceId)).ok,
  'payment/new': async ({ invoiceId }) =>
    (await s.t.call(newPayment, { invoiceId, gatewayId: s.gateway.gatewayId })).ok,
  expiry: async ({ invoiceId }) => {
    await s.drain();
    const [row] = await s.t.rows(`select 1 from invoices where invoice_id = $1 and status = 'failed'`, [invoiceId]);
    return row !== undefined;
  },
  'main credit is spent': spend,
};
/** Moves on a draft. */
const ofDrafts: Record<string, Move> = {
  'invoice/edit': async ({ invoiceId }) => (await s.t.call(editInvoice, { invoiceId, lines: s.lines.slice(1) })).ok,
  'invoice/edit, finished': async ({ invoiceId }) =>
    (await s.t.call(editInvoice, { invoiceId, taxPercentage: 0, finish: true })).ok,
  'invoice/finish': async ({ invoiceId }) => (await s.t.call(finishInvoice, { invoiceId, daysUtilDue: 3 })).ok,
  'invoice/delete': async ({ invoiceId }) => (await s.moves.delete(invoiceId)).ok,
};
/** Moves on an open invoice without a payment. */
const ofCleared: Record<string, Move> = {
  'payment/new': ofOpen['payment/new'] as Move,
  'invoice/cancel': ofOpen['invoice/cancel'] as Move,
  expiry: ofOpen.expiry as Move,
};

let reports = 0;
/** A report of the gateway about a chargeback of the invoice's payment; true if it changed something. */
const report =
  (state: 'open' | 'won' | 'lost', amount: bigint): Move =>
  async ({ paymentId }) => {
    const caller = s.t.callerOf();
    const id = `evt_${++reports}`;
    const fact = { about: 'dispute', id, at: 1, reference: `ch_${paymentId}`, amount, currency: 'EUR', state } as const;
    await s.t.db.write(caller, async tx => {
      await s.t.app.get(GatewayEvents).apply(tx, s.gateway.gatewayId, [fact], caller.requestId, 1);
      return {};
    });
    return (await s.t.rows('select 1 from gateway_facts where fact_id = $1', [id])).length === 1;
  };
/** The refund of 1000 that `withRefund` made. */
const refundOf = async ({ invoiceId }: Invoice): Promise<string> => {
  const [row] = await s.t.rows('select refund_id from refunds where invoice_id = $1 and amount = 1000', [invoiceId]);
  return String(row?.refund_id);
};
const refund = async ({ invoiceId }: Invoice, refundAmount: number) =>
  (await s.t.call(refundInvoice, { invoiceId, refundAmount, reason: '' })).ok;
/** Moves on a paid invoice with an open refund. */
const ofRefunds: Record<string, Move> = {
  'invoice/refund': invoice => refund(invoice, 4000),
  create_mark_refund: async ({ invoiceId }) =>
    (await s.t.call(createMarkRefund, { invoiceId, refundAmount: 6033, reason: '' })).ok,
  mark_refund_success: async ({ invoiceId }) => (await s.t.call(markRefundSuccess, { invoiceId })).ok,
  'payment/refund/cancel': async invoice => (await s.t.call(cancelRefund, { refundId: await refundOf(invoice) })).ok,
};
/** Moves on a paid invoice with an open refund: chargebacks, and what they forbid. */
const ofDisputes: Record<string, Move> = {
  'a chargeback is opened': report('open', 6033n),
  'a chargeback is won': report('won', 6033n),
  'a chargeback of the whole is lost': report('lost', 6033n),
  'invoice/refund': ofRefunds['invoice/refund'] as Move,
  'invoice/refund of credit': invoice => refund(invoice, 6033),
  mark_refund_success: ofRefunds.mark_refund_success as Move,
  'payment/refund/cancel': ofRefunds['payment/refund/cancel'] as Move,
  'invoice/cancel': ofOpen['invoice/cancel'] as Move,
  'main credit is spent': spend,
};
async function withRefund(): Promise<Invoice> {
  const { invoiceId, paymentId } = await credited({ finish: true });
  await s.moves.receive(invoiceId);
  await s.t.rows(`update payments set gateway_payment_id = 'ch_' || payment_id where payment_id = $1`, [paymentId]);
  const invoice = await s.detail(invoiceId);
  await refund(invoice, 1000);
  return invoice;
}
/** A paid invoice with an open chargeback. */
async function disputed(): Promise<Invoice> {
  const invoice = await withRefund();
  await report('open', 6033n)(invoice);
  return invoice;
}

/** All pairs of moves, with a maker of their invoices. Payment terms are over, so that any invoice may expire. */
const races = [
  { of: 'open', moves: ofOpen, make: (): Promise<Invoice> => credited({ finish: true }) },
  { of: 'draft', moves: ofDrafts, make: (): Promise<Invoice> => credited() },
  { of: 'cleared', moves: ofCleared, make: (): Promise<Invoice> => s.inState('cleared') },
  { of: 'paid', moves: ofRefunds, make: withRefund },
  { of: 'paid', moves: ofDisputes, make: withRefund },
  { of: 'disputed', moves: ofDisputes, make: disputed },
].flatMap(({ of, moves, make }) => {
  const all = Object.entries(moves);
  return all.flatMap(([one, first], at) =>
    all.slice(at).map(([other, second]) => ({ of, one, first, other, second, make })),
  );
});

async function overdue(make: () => Promise<Invoice>, count: number): Promise<Invoice[]> {
  const made = await Promise.all(Array.from({ length: count }, make));
  s.clock.advance(s.term);
  return made;
}

/** Outcome of a race: the moves that succeeded, and the final states of the invoice and its payments. */
async function outcome({ invoiceId }: Invoice, done: readonly boolean[]): Promise<string> {
  const [row] = await s.t.rows(
    `select i.status, i.deleted_time > 0 as deleted, i.version, i.total_amount as total, i.number <> '' as numbered,
       (select sum(amount) from invoice_lines l where l.invoice_id = i.invoice_id) as lines,
       (select string_agg(p.status || p.version || (p.payment_id = i.payment_id), ' ' order by p.payment_id = i.payment_id)
        from payments p where p.invoice_id = i.invoice_id) as payments, i.refunded_amount as refunded,
       (select string_agg(r.amount || r.status || r.version || n.status || n.version, ' ' order by r.amount, r.status)
        from refunds r join invoices n on n.invoice_id = r.credit_note_id where r.invoice_id = i.invoice_id) as refunds,
       (select a.balance from credit_accounts a where a.user_id = i.user_id and a.type = 'main') as credit,
       (select string_agg(p.dispute, '') from payments p where p.invoice_id = i.invoice_id) as dispute
     from invoices i where i.invoice_id = $1`,
    [invoiceId],
  );
  return JSON.stringify({ done, ...row });
}

const swapped = (text: string) => {
  const { done, ...rest } = JSON.parse(text);
  return JSON.stringify({ done: done.toReversed(), ...rest });
};

describe('two moves at once end as if one had come after the other', () => {
  it.each(races)('$of: $one and $other', async ({ first, second, make }) => {
    const inTurn = async (one: Move, other: Move) => {
      const [invoice] = (await overdue(make, 1)) as [Invoice];
      return outcome(invoice, [await one(invoice), await other(invoice)]);
    };
    const sequential = [await inTurn(first, second), swapped(await inTurn(second, first))];
    const invoices = await overdue(make, ATTEMPTS);
    await s.t.emitted();
    const seen = await Promise.all(
      invoices.map(async (invoice, at) => {
        if (at % 2 === 0) return outcome(invoice, await Promise.all([first(invoice), second(invoice)]));
        return swapped(await outcome(invoice, await Promise.all([second(invoice), first(invoice)])));
      }),
    );
    expect(sequential).toEqual(expect.arrayContaining([...new Set(seen)]));
    const logs = (await s.t.emitted()).filter(({ type }) => type === 'operation.logged');
    expect(new Set(logs.map(({ requestId }) => requestId)).size).toBe(logs.length);
    await s.drain();
  });

  it('leave no number out, and none twice', async () => {
    const rows = await s.t.rows(
      `select counter::integer as number from invoices where number <> '' and kind = 'invoice' order by 1`,
    );
    expect(rows.map(({ number }) => number)).toEqual(rows.map((_, at) => at + 1));
  });
});
