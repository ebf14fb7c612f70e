import type { Reader, Tx } from '@recur/platform';
import * as credits from '../../credits/verbs.js';
import { invoiceAggregate } from '../aggregates.js';
import type { PromoUse } from '../credit-use.js';
import { netOf } from '../domain/facts.js';
import type { Invoice } from '../domain/invoice.js';
import { type CreditedShare, withCredited } from '../domain/refund-ledger.js';
import { saveGivenBack } from '../refunds/book.js';
import type { InvoiceState } from '../state.js';
import { discountOf, type Order, promoBaseOf, RETURNED } from './order.js';

// Credit of composed documents: the promo credit that they take, and what their credit lines give back of earlier ones.

/** Takes promo credit, where the order wishes it and the merchant's rules allow it beside its discount. */
export const takePromoFor = (tx: Tx, order: Order, invoiceId: string): Promise<PromoUse> =>
  promoOf(tx, order, of => credits.spendPromo(tx, { ...of, invoiceId }));

/** The promo credit that `takePromoFor` would take; for previews. */
export const previewPromoFor = (reader: Reader, order: Order): Promise<PromoUse> =>
  promoOf(reader, order, of => credits.promoFor(reader, of));

type Asked = Parameters<typeof credits.promoFor>[1];

async function promoOf(
  reader: Reader,
  order: Order,
  take: (asked: Asked) => Promise<credits.PromoTaken | undefined>,
): Promise<PromoUse> {
  const { promo: { applied: wish, cap } = { applied: false, cap: 0n }, userId, currency } = order;
  if (wish === false) return { promoAmount: 0n, promo: { promoApplied: false, promoCap: cap, ...nothing } };
  const { recurring, discountCodeExclusive } = await credits.promoRules(reader, currency);
  const promoApplied = wish === true || recurring;
  const none = { promoApplied, promoCap: cap, ...nothing };
  const isExcluded = discountCodeExclusive && discountOf(order) > 0n;
  if (!promoApplied || isExcluded) return { promoAmount: 0n, promo: none };
  const taken = await take({ userId, currency, base: promoBaseOf(order), ...(cap > 0n && { cap }) });
  if (!taken) return { promoAmount: 0n, promo: none };
  return { promoAmount: taken.money, promo: { ...none, promoCredits: taken.credits, promoRate: taken.rate } };
}
const nothing = { promoCredits: 0n, promoRate: 0n };

/** The invoice that a line is of. */
export const invoiceOfLine = (lineId: string): string => lineId.slice(0, lineId.lastIndexOf('_'));

/**
 * Books what the credit lines of a document give back on the lines that they name, and returns their promo credits: the
 * document is paid, or a credit note. Returns the invoices of those lines as they were before. The database refuses more
 * than is left of a line.
 */
export async function bookCredits(
  tx: Tx,
  document: Pick<Invoice, 'lines' | 'userId' | 'currency'>,
): Promise<InvoiceState[]> {
  const { userId, currency } = document;
  const credited = document.lines.filter(({ sourceLineId }) => sourceLineId !== '');
  const sources = new Set(credited.map(({ sourceLineId }) => invoiceOfLine(sourceLineId)));
  const before: InvoiceState[] = [];
  for (const invoiceId of [...sources].sort()) {
    const source = await tx.lock(invoiceAggregate, invoiceId, 'invoice_not_found');
    before.push(source);
    const own = credited.filter(({ sourceLineId }) => invoiceOfLine(sourceLineId) === invoiceId);
    const shares = own.map((line): CreditedShare => {
      const { sourceLineId: lineId, tax, inputs } = line;
      return { lineId, net: -netOf(line), tax: -tax, promoCredits: BigInt(inputs?.[RETURNED] ?? 0) };
    });
    await saveGivenBack(tx, withCredited(source, source.payment, shares));
    for (const { promoCredits } of shares) {
      await credits.returnPromo(tx, { userId, currency, invoiceId, credits: promoCredits });
    }
  }
  return before;
}
