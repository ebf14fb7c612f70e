import {
  cancelInvoice,
  clearInvoicePayment,
  creditTransactionType,
  deleteInvoice,
  emptyOf,
  type Invoice,
  incrementPromoCredit,
  invoiceDetail,
  MerchantMetric,
  MerchantState,
  markWireTransferSuccess,
  newInvoice,
  Plan,
  Product,
  paymentDetail,
  planStatus,
  setupWireTransfer,
  User,
} from '@recur/contracts';
import { MovableClock, type TestCaller, testService } from '@recur/platform/testing';
import { addMain } from '../src/credits/spending.js';
import { billing } from '../src/service.js';

/** Every state of an invoice, deleted drafts and cleared payments included. */
export const invoiceStates = [
  'draft',
  'deleted',
  'open',
  'cleared',
  'paid',
  'failed',
  'cancelled',
  'reversed',
] as const;
export type InvoiceState = (typeof invoiceStates)[number];

const seller = { ...emptyOf(MerchantState), name: 'Acme', countryCode: 'DE' };
const item = (merchantId: number, data: object | undefined) => ({
  ok: true as const,
  bytes: JSON.stringify({ item: data ? { merchantId, version: 1, data } : null }),
});

/**
 * A merchant with a wire-transfer gateway and user 1. `knowUser` and `knowPlan` add users and plans to the services that
 * own them, not to billing's copies.
 */
export async function shop(definition = billing, env: Record<string, string> = {}) {
  const clock = new MovableClock();
  const t = await testService(definition, { clock, env });
  const known = new Map<string, Record<string, unknown>>();
  const asked: unknown[] = [];
  const answering = (owner: string) =>
    t.bus.answer(owner, async (_, payload, { merchantId }) => {
      const { aggregate, id, by } = JSON.parse(payload);
      if (aggregate === 'merchant') return item(merchantId, { ...seller, id: merchantId });
      asked.push(id ?? by);
      const named = [...known.values()].filter(one => by && Object.entries(by).every(([of, is]) => one[of] === is));
      const data = by
        ? named.find(one => one.merchantId === merchantId)
        : known.get(`${merchantId} ${aggregate} ${id}`);
      return item(merchantId, data);
    });
  for (const owner of ['identity', 'catalog']) answering(owner);
  const knowUser = (id: number, over: Partial<User> = {}, merchantId = 15) =>
    known.set(`${merchantId} user ${id}`, {
      ...emptyOf(User),
      id,
      merchantId,
      email: `user${id}@example.com`,
      ...over,
    });
  const knowPlan = (id: number, over: Partial<Plan> = {}, merchantId = 15) =>
    known.set(`${merchantId} plan ${id}`, {
      ...emptyOf(Plan),
      id,
      merchantId,
      planName: 'Pro',
      amount: 4900,
      currency: 'EUR',
      status: planStatus.active,
      ...over,
    });
  const knowProduct = (id: number, over: Partial<Product> = {}, merchantId = 15) =>
    known.set(`${merchantId} product ${id}`, { ...emptyOf(Product), id, merchantId, ...over });
  const knowMetric = (id: number, over: Partial<MerchantMetric> = {}, merchantId = 15) =>
    known.set(`${merchantId} metric ${id}`, {
      ...emptyOf(MerchantMetric),
      id,
      merchantId,
      code: `m${id}`,
      metricName: `Metric ${id}`,
      aggregationProperty: 'amount',
      ...over,
    });
  const lines = [
    { name: 'Seats', quantity: 3, unitAmountExcludingTax: 1999 },
    { name: 'Support', quantity: 1, unitAmountExcludingTax: 500 },
  ];
  const order = { userId: 1, currency: 'EUR', taxPercentage: 825, lines };
  const made = async (over: object = {}, caller?: TestCaller) =>
    (await t.done(newInvoice, { ...order, ...over }, caller)).invoice;
  const moves = {
    delete: (invoiceId: string) => t.call(deleteInvoice, { invoiceId }),
    clear: (invoiceId: string) => t.call(clearInvoicePayment, { invoiceId }),
    cancel: (invoiceId: string) => t.call(cancelInvoice, { invoiceId }),
    receive: (invoiceId: string) => t.call(markWireTransferSuccess, { invoiceId, transferNumber: 'T-1' }),
  };
  /** Seconds from finish to expiry: three days and twenty minutes. */
  const term = 3 * 86_400 + 1_200;
  const expiries = { sweep: () => t.work.drain() };
  const into: Record<InvoiceState, (invoiceId: string) => Promise<unknown>> = {
    draft: async () => undefined,
    deleted: moves.delete,
    open: async () => undefined,
    cleared: moves.clear,
    paid: moves.receive,
    cancelled: moves.cancel,
    failed: async () => {
      clock.advance(term);
      await expiries.sweep();
    },
    reversed: async invoiceId => {
      await moves.receive(invoiceId);
      await t.rows(`update invoices set status = 'reversed' where invoice_id = $1`, [invoiceId]);
    },
  };

  let buyers = 1_000;
  /** A new user with credit on its accounts. */
  const buyer = async ({ main = 0n, promo = 0 }: { main?: bigint; promo?: number } = {}): Promise<number> => {
    const userId = ++buyers;
    knowUser(userId);
    if (promo > 0) await t.done(incrementPromoCredit, { userId, currency: 'EUR', amount: promo });
    if (main > 0n) {
      const type = creditTransactionType.recharge;
      await t.db.write(t.callerOf(), async tx => {
        await addMain(tx, { userId, currency: 'EUR', amount: main, type, invoiceId: '' });
        tx.log('CreditAccount', 'Recharge');
        return {};
      });
    }
    return userId;
  };

  const currency = { currency: 'EUR', minimumAmount: 100 };
  knowUser(1);
  const { gateway } = await t.done(setupWireTransfer, currency);
  return {
    t,
    clock,
    expiries,
    term,
    gateway,
    lines,
    order,
    made,
    moves,
    knowUser,
    knowPlan,
    knowProduct,
    knowMetric,
    asked,
    buyer,
    /** Takes a service away; the answer brings it back. */
    away(owner: 'identity' | 'catalog'): () => void {
      t.bus.remove(owner);
      return () => answering(owner);
    },
    /** A second merchant, with a user 1 and a gateway of its own. */
    async stranger(merchantId: number): Promise<TestCaller> {
      knowUser(1, {}, merchantId);
      await t.done(setupWireTransfer, currency, { merchantId });
      return { merchantId };
    },
    /** An invoice in the given state; its `paymentId` is that of the payment it had. */
    async inState(state: InvoiceState): Promise<Invoice> {
      const invoice = await made({ finish: state !== 'draft' && state !== 'deleted' });
      await into[state](invoice.invoiceId);
      return invoice;
    },
    detail: async (invoiceId: string) => (await t.done(invoiceDetail, { invoiceId })).invoice,
    payment: async (paymentId: string) => (await t.done(paymentDetail, { paymentId })).paymentDetail.payment,
    /** Types and versions of the events emitted since the last call. */
    types: async () => (await t.emitted()).map(({ type, version }) => `${type} ${version}`),
    /** Digest of everything that a refused command must leave unchanged. */
    everything: () =>
      t.rows(`select md5(string_agg(row, '|' order by row)) from (
        select i::text as row from invoices i union all select p::text from payments p
        union all select l::text from invoice_lines l union all select o.seq::text from outbox o) rows`),
  };
}
export type Shop = Awaited<ReturnType<typeof shop>>;
