import {
  activateDiscount,
  cancelInvoice,
  clearInvoicePayment,
  creditTransactionType,
  deleteInvoice,
  discountBillingType,
  discountType,
  emptyOf,
  type In,
  type Invoice,
  incrementPromoCredit,
  invoiceDetail,
  MerchantMetric,
  MerchantState,
  markWireTransferSuccess,
  newDiscount,
  newInvoice,
  Plan,
  Product,
  paymentDetail,
  planStatus,
  setupGateway,
  setupWireTransfer,
  User,
} from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { MovableClock, type TestCaller, type TestService, testService } from '@recur/platform/testing';
import { addMain } from '../../src/credits/spending.js';
import { billing } from '../../src/service.js';

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
  /** Does what is due, at the present time. */
  const drain = () => t.work.drain();
  const into: Record<InvoiceState, (invoiceId: string) => Promise<unknown>> = {
    draft: async () => undefined,
    deleted: moves.delete,
    open: async () => undefined,
    cleared: moves.clear,
    paid: moves.receive,
    cancelled: moves.cancel,
    failed: async () => {
      clock.advance(term);
      await drain();
    },
    reversed: async invoiceId => {
      await moves.receive(invoiceId);
      await t.rows(`update invoices set status = 'reversed' where invoice_id = $1`, [invoiceId]);
    },
  };

  let users = 100;
  /** A user of its own for a test. */
  const newUser = (over: Partial<User> = {}, merchantId = 15): number => {
    knowUser(++users, over, merchantId);
    return users;
  };
  const inTx = <T>(run: (tx: Tx) => Promise<T>) => within(t, run);
  const giveMain = (userId: number, amount: bigint) =>
    inTx(tx => addMain(tx, { userId, currency: 'EUR', amount, type: creditTransactionType.recharge, invoiceId: '' }));
  /** A user with credit on its accounts. */
  const userWithCredit = async ({ main = 0n, promo = 0 }: { main?: bigint; promo?: number } = {}): Promise<number> => {
    const userId = newUser();
    if (promo > 0) await t.done(incrementPromoCredit, { userId, currency: 'EUR', amount: promo });
    if (main > 0n) await giveMain(userId, main);
    return userId;
  };

  const currency = { currency: 'EUR', minimumAmount: 100 };
  knowUser(1);
  const { gateway } = await t.done(setupWireTransfer, currency);
  return {
    t,
    clock,
    drain,
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
    newUser,
    inTx,
    giveMain,
    userWithCredit,
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
    /** The wire of an invoice arrives. */
    receive: (invoiceId: string) => t.done(markWireTransferSuccess, { invoiceId, transferNumber: 'T-1' }),
    /** The sandbox, which charges test cards. */
    sandbox: async (over: Partial<In<typeof setupGateway>> = {}, caller?: TestCaller) =>
      (await t.done(setupGateway, { gatewayName: 'sandbox', ...over }, caller)).gateway,
    balance: async (userId: number, type: 'main' | 'promo' = 'main', of = 'EUR'): Promise<number> => {
      const where = 'where user_id = $1 and type = $2 and currency = $3';
      const [row] = await t.rows(`select balance from credit_accounts ${where}`, [userId, type, of]);
      return Number(row?.balance ?? 0);
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

/** Runs in a transaction of its own, as a command does, and answers what it answered. */
export async function within<T>(t: TestService, run: (tx: Tx) => Promise<T>): Promise<T> {
  const results: T[] = [];
  await t.db.write(t.callerOf(), async tx => {
    results.push(await run(tx));
    tx.log('Test()', 'Try');
    return {};
  });
  return results.at(-1) as T;
}

/** An active code of 10 %, once, or of other settings. */
export async function activeCode(
  t: TestService,
  code: string,
  settings: Partial<In<typeof newDiscount>> = {},
  caller?: TestCaller,
) {
  const { discount } = await t.done(
    newDiscount,
    {
      code,
      billingType: discountBillingType.onetime,
      discountType: discountType.percentage,
      discountPercentage: 1000,
      startTime: 0,
      endTime: 0,
      ...settings,
    },
    caller,
  );
  await t.done(activateDiscount, { id: discount.id }, caller);
  return discount;
}

/** The gateway's caller for a user of the hosted pages. */
export const visitor = (userId: number, merchantId = 15): TestCaller => ({
  merchantId,
  actor: { kind: 'user', id: String(userId), display: `user${userId}@example.com` },
});
