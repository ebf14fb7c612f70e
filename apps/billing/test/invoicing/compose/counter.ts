import { bizType, createFrom, creditTransactionType, type Invoice } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { addMain } from '../../../src/credits/verbs.js';
import { allGateways } from '../../../src/gateways/lookup.js';
import { Composer, type Issued, type IssueOptions } from '../../../src/invoicing/compose/composer.js';
import type { Order, OrderLine } from '../../../src/invoicing/compose/order.js';
import type { TaxRate } from '../../../src/pricing/tax.js';
import type { Shop } from '../../shop.js';

/** A line of the plan, with quantity 1. */
export const planLine = (amount: bigint, rate?: TaxRate, over: Partial<OrderLine> = {}): OrderLine => ({
  ...{ kind: 'plan', plan: null, planId: 0, name: 'Plan', description: '', quantity: 1 },
  unitAmountExcludingTax: amount,
  ...(rate && { rate }),
  ...over,
});

/** A credit line for a line of an earlier invoice. */
export const creditLine = (
  sourceLineId: string,
  amount: bigint,
  rate: TaxRate,
  over: Partial<OrderLine> = {},
): OrderLine => planLine(-amount, rate, { kind: 'credit', name: 'Unused time', sourceLineId, ...over });

/** What a wing that sells does with the composer, each in its own transaction. */
export function counter(s: Shop) {
  const composer = s.t.app.get(Composer);
  let users = 300;
  const inTx = async <T>(run: (tx: Tx) => Promise<T>): Promise<T> => {
    const results: T[] = [];
    await s.t.db.write(s.t.callerOf(), async tx => {
      results.push(await run(tx));
      tx.log('Test()', 'Try');
      return {};
    });
    return results.at(-1) as T;
  };
  const orderOf = async (
    tx: Tx,
    userId: number,
    lines: readonly OrderLine[],
    over: Partial<Order> = {},
  ): Promise<Order> => {
    const [gateway] = await allGateways(tx);
    return {
      ...{ userId, currency: 'EUR', bizType: bizType.subscription, createFrom: createFrom.autoRenew },
      ...{ invoiceName: 'Subscription', gateway, lines, belowMinimum: 'carry', ...over },
    };
  };
  return {
    composer,
    inTx,
    orderOf,
    /** A user of billing; without a country nothing is taxed. */
    async buyer(over: object = {}): Promise<number> {
      const userId = ++users;
      s.knowUser(userId, over);
      await s.made({ userId });
      return userId;
    },
    issue: (
      userId: number,
      lines: readonly OrderLine[],
      over: Partial<Order> = {},
      options: IssueOptions = {},
    ): Promise<Issued> => inTx(async tx => composer.issue(tx, await orderOf(tx, userId, lines, over), options)),
    /** Issues an invoice and marks its wire as received. */
    async paid(userId: number, lines: readonly OrderLine[], over: Partial<Order> = {}): Promise<Invoice> {
      const issued = await this.issue(userId, lines, over);
      const { invoiceId } = documentOf(issued);
      await s.moves.receive(invoiceId);
      return s.detail(invoiceId);
    },
    giveMain: (userId: number, amount: bigint, currency = 'EUR') =>
      inTx(tx => addMain(tx, { userId, currency, amount, type: creditTransactionType.recharge, invoiceId: '' })),
    balance: async (userId: number, type: 'main' | 'promo', currency = 'EUR'): Promise<number> => {
      const where = 'where user_id = $1 and type = $2 and currency = $3';
      const [row] = await s.t.rows(`select balance from credit_accounts ${where}`, [userId, type, currency]);
      return Number(row?.balance ?? 0);
    },
  };
}

export function documentOf(issued: Issued): Invoice {
  if (issued.kind === 'carried') throw new Error('no document was made');
  return issued.document;
}
