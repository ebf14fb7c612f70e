import { bizType } from '@recur/contracts';
import { sum } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import * as credits from '../../credits/spending.js';
import type { LineItem } from '../../pricing/price.js';
import type { Draft } from '../domain/draft.js';
import type { Invoice } from '../domain/invoice.js';
import { promoReturnedBy } from '../domain/items.js';

// Credit that invoices spend, and get back when they end unpaid. Promo credit first, then main credit: the order of locks.

const mainCreditPayment: readonly number[] = [bizType.manualInvoice, bizType.subscription];

/** True for invoices that are paid from main credit before their payment is opened. */
const paidFromCredit = ({ bizType: type }: Pick<Invoice, 'bizType'>): boolean => mainCreditPayment.includes(type);

/** Promo credit as a draft takes it. */
export type PromoUse = Pick<Draft, 'promoAmount' | 'promo'>;
/** The buyer and the invoice that promo credit is taken for. */
export type PromoAccount = Pick<Invoice, 'userId' | 'currency' | 'invoiceId'>;

/** Takes promo credit for a draft, if it was asked for: at most `cap` credits, 0 for no cap. */
export async function applyPromo(
  tx: Tx,
  { userId, currency, invoiceId }: PromoAccount,
  lines: readonly LineItem[],
  asked: { applied: boolean; cap: bigint },
): Promise<PromoUse> {
  const none = { promoApplied: asked.applied, promoCap: asked.cap, promoCredits: 0n, promoRate: 0n };
  if (!asked.applied) return { promoAmount: 0n, promo: none };
  const base = sum(lines.map(({ unitAmountExcludingTax, quantity }) => unitAmountExcludingTax * BigInt(quantity)));
  const limits = asked.cap > 0n ? { cap: asked.cap } : {};
  const taken = await credits.spendPromo(tx, { userId, currency, base, ...limits, invoiceId });
  if (!taken) return { promoAmount: 0n, promo: none };
  return { promoAmount: taken.money, promo: { ...none, promoCredits: taken.credits, promoRate: taken.rate } };
}

/** Returns the promo credit of a draft. */
export const restorePromo = (tx: Tx, { userId, currency, invoiceId, promoCredits }: Invoice): Promise<void> =>
  credits.returnPromo(tx, { userId, currency, invoiceId, credits: promoCredits });

/**
 * Main credit for a document that is finished: its balance, less where the rest would fall below `minimum`. 0 for
 * invoices that sell something once.
 */
export async function applyMain(tx: Tx, invoice: Invoice, minimum: bigint): Promise<bigint> {
  const { userId, currency, invoiceId, totalAmount } = invoice;
  if (!paidFromCredit(invoice)) return 0n;
  return credits.spendMain(tx, { userId, currency, due: totalAmount, minimum, invoiceId });
}

/** Returns the promo credits that come back with the credit lines of a document that is paid. */
export const restorePromoOf = (tx: Tx, { userId, currency, invoiceId, lines }: Invoice): Promise<void> =>
  credits.returnPromo(tx, { userId, currency, invoiceId, credits: promoReturnedBy({ lines }) });

/** Returns all credit of an invoice that ended unpaid. */
export async function restoreCredit(tx: Tx, invoice: Invoice): Promise<void> {
  const { userId, currency, invoiceId, partialCreditPaid } = invoice;
  await restorePromo(tx, invoice);
  if (partialCreditPaid > 0n) {
    await credits.returnMain(tx, { userId, currency, invoiceId, amount: partialCreditPaid });
  }
}
