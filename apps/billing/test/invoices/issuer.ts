import { createFrom, emptyOf, type Invoice, Plan, PlanSnapshot, planType } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { allGateways } from '../../src/gateways/gateway-index.js';
import type { InvoiceInput, InvoiceItem } from '../../src/invoices/domain/items.js';
import { calculateInvoice } from '../../src/invoices/issuing/calculate.js';
import { InvoiceIssuer, type IssueOptions } from '../../src/invoices/issuing/issue.js';
import { isBelowMinimum, previewOf } from '../../src/invoices/issuing/preview.js';
import type { TaxRate } from '../../src/pricing/tax.js';
import type { Shop } from '../world/shop.js';

const mainPlan = {
  ...emptyOf(Plan),
  id: 10,
  type: planType.main,
  currency: 'EUR',
  intervalUnit: 'month',
  intervalCount: 1,
};

/** An item of the plan, with quantity 1; it is taxed by the rules. */
export const item = (unitAmount: bigint, over: Partial<InvoiceItem> = {}): InvoiceItem => ({
  key: 'plan',
  kind: 'plan',
  planId: 10,
  plan: null,
  name: 'Plan',
  description: '',
  unitAmount,
  quantity: 1,
  period: null,
  ...over,
});

/** A credit item for the first line of an earlier invoice. */
export const credit = ({ invoiceId }: Invoice, amount: bigint, rate: TaxRate, promoCredits = 0n): InvoiceItem =>
  item(-amount, { kind: 'credit', source: { invoiceId, lineId: `${invoiceId}_1`, rate, promoCredits } });

/** Invoices as subscriptions issue them, each in its own transaction. No subscription stands behind them. */
export function issuing(s: Shop) {
  const issuer = s.t.app.get(InvoiceIssuer);
  const calculated = async (
    tx: Tx,
    userId: number,
    items: readonly InvoiceItem[],
    over: Partial<InvoiceInput> = {},
  ) => {
    const [gateway] = await allGateways(tx);
    const bill: InvoiceInput = {
      subscriptionId: '',
      userId,
      currency: 'EUR',
      reason: 'create',
      name: 'Subscription',
      items,
      period: { start: 0, end: 0, kind: '' },
      taxPercentage: 0,
      vatNumber: '',
      countryCode: '',
      mainPlan,
      snapshot: emptyOf(PlanSnapshot),
      anchor: tx.now,
      trialEnd: 0,
      moment: tx.now,
      ...over,
    };
    return calculateInvoice(tx, bill, { sellerCountryCode: 'DE', gateway });
  };
  const make = (
    userId: number,
    items: readonly InvoiceItem[],
    over: Partial<InvoiceInput> = {},
    making: Partial<IssueOptions> = {},
  ) =>
    s.inTx(async tx => {
      const deadline = tx.now + 3 * 86_400;
      const terms = { status: 'open', createFrom: createFrom.autoRenew, deadline, ...making } as const;
      return (await issuer.issue(tx, await calculated(tx, userId, items, over), terms)).view;
    });
  return {
    make,
    preview: (userId: number, items: readonly InvoiceItem[], over: Partial<InvoiceInput> = {}) =>
      s.inTx(async tx => previewOf(tx, await calculated(tx, userId, items, over))),
    isCarried: (userId: number, items: readonly InvoiceItem[]) =>
      s.inTx(async tx => isBelowMinimum(tx, await calculated(tx, userId, items))),
    /** A user of billing; without a country nothing is taxed. */
    async buyer(over: object = {}): Promise<number> {
      const userId = s.newUser(over);
      await s.made({ userId });
      return userId;
    },
    /** An invoice whose wire has arrived. */
    async paid(userId: number, items: readonly InvoiceItem[], over: Partial<InvoiceInput> = {}): Promise<Invoice> {
      const { invoiceId } = await make(userId, items, over);
      await s.receive(invoiceId);
      return s.detail(invoiceId);
    },
  };
}
