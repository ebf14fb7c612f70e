import { Injectable } from '@nestjs/common';
import { type createFrom, creditTransactionType, type Invoice } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import * as credits from '../../credits/spending.js';
import * as discounts from '../../discounts/redemption.js';
import { followUp } from '../../tax/decide.js';
import { payOut, type Source, sourceOf } from '../crediting/credit-refunds.js';
import { giveBackPromoOf } from '../crediting/credit-use.js';
import { lockSource, saveGivenBack } from '../crediting/creditable-lines.js';
import { DocumentLinks } from '../document-links.js';
import { daysUntil } from '../domain/deadlines.js';
import { type CollectionTerms } from '../domain/dunning.js';
import { netOf } from '../domain/facts.js';
import type { Payment, PaymentDraft } from '../domain/payment.js';
import { type CreditedShare, withCredited } from '../domain/refund.js';
import { CustomerNotices } from '../notices.js';
import { nextNumber } from '../numbers.js';
import { partiesOf } from '../parties.js';
import { sendStatusOf, settingsOf } from '../settings.js';
import type { InvoiceState } from '../state.js';
import { invoiceLines, invoices } from '../tables.js';
import { invoiceAggregate } from '../views.js';
import { type Composed, type DocumentContext, documentOf, withPromo } from './calculate.js';
import { replaceLines } from './draft.js';
import { DAYS_UNTIL_DUE, InvoiceFinalizer } from './finalize.js';
import { type UsedDiscount, useDiscount } from './preview.js';

/** How a composed bill is made. */
export interface Making {
  /** A draft waits for usage, and is made again with `draft`; an open invoice is finalized at once. */
  status: 'draft' | 'open';
  createFrom: (typeof createFrom)[keyof typeof createFrom];
  /** Unix second at which an open one expires; by default that of the usual payment term. */
  deadline?: number;
  /** How it is charged where its gateway charges by itself. */
  collection?: Omit<CollectionTerms, 'deadline'>;
  /** The id, where it was given to the document before, and its discount was used. */
  invoiceId?: string;
  /** The draft that becomes the document, locked. Drafts take neither discount nor credit before. */
  draft?: InvoiceState | undefined;
  /** The merchant's details of the payment. */
  details?: Omit<PaymentDraft, 'paymentId' | 'now'>;
  /** True if the total of a credit note goes back through the payments of what it credits, as far as they go. */
  refund?: boolean;
  log?: string;
}

/** The document that was made: an invoice, or a credit note whose total went to main credit. */
export interface Made {
  view: Invoice;
  payment?: Payment;
  /** The discount that it used; its code is '' where the request gave the terms. */
  discount?: UsedDiscount;
}

/**
 * Makes documents of composed bills, the only way to an invoice of a subscription. The caller has locked the
 * subscription; locks follow in their order: discount, credited invoices by id, promo and main credit, number.
 */
@Injectable()
export class InvoiceMaker {
  constructor(
    private readonly finalizer: InvoiceFinalizer,
    private readonly documents: DocumentLinks,
    private readonly notices: CustomerNotices,
  ) {}

  /** Throws Rejected `invalid_parameters` for a code that cannot be used, and what `finalize` does. */
  async make(tx: Tx, composed: Composed, making: Making): Promise<Made> {
    const { draft, status } = making;
    const id = draft?.id ?? (await tx.nextId(invoices));
    const invoiceId = draft?.invoiceId ?? making.invoiceId ?? tx.newId('in_');
    if (status === 'draft') return { view: await this.draft(tx, composed, { id, invoiceId, ...making }) };
    const discount = making.invoiceId ? undefined : await useDiscount(tx, composed, invoiceId);
    const sources = await giveBackSources(tx, composed);
    const paidWithPromo = await takePromo(tx, composed, invoiceId);
    const { merchantId, now } = tx;
    const context = { merchantId, id, invoiceId, createFrom: making.createFrom, now };
    const document = { ...(await shownDocument(tx, paidWithPromo, context)), ...(draft && identityOf(draft)) };
    if (draft) await replaceLines(tx, document);
    else saveLines(tx, document);
    await followUp(
      tx,
      composed.tax,
      composed.rates.flatMap(rate => ('pending' in rate ? [rate] : [])),
    );
    const used = discount && { discount };
    if (document.kind === 'credit_note') {
      const view = await this.creditNote(tx, document, making.refund ? sources : [], making.log);
      return { view, ...used };
    }
    if (!draft) tx.step(invoiceAggregate, document, 'invoice.created', { log: making.log });
    const { deadline, details } = making;
    const days = deadline === undefined ? DAYS_UNTIL_DUE : daysUntil(deadline, tx.now);
    const collection = { ...making.collection, ...(deadline !== undefined && { deadline }) };
    const options = { collection, ...(details && { details }) };
    return { ...(await this.finalizer.finalize(tx, document, days, options)), ...used };
  }

  /** A draft shows what it would bill now; nothing is used or taken for it. */
  private async draft(
    tx: Tx,
    composed: Composed,
    { id, invoiceId, createFrom, log }: Pick<Making, 'createFrom' | 'log'> & { id: number; invoiceId: string },
  ): Promise<Invoice> {
    const { merchantId, now } = tx;
    const document = await shownDocument(tx, composed, { merchantId, id, invoiceId, createFrom, now });
    saveLines(tx, document);
    return tx.step(invoiceAggregate, document, 'invoice.created', { log }).view;
  }

  /** A negative total is a credit note; what the payments of `sources` do not take goes to main credit. */
  private async creditNote(tx: Tx, note: InvoiceState, sources: readonly Source[], log?: string): Promise<Invoice> {
    const { userId, currency, invoiceId } = note;
    const { merchant, seller, buyer } = await partiesOf(tx, note);
    const amount = await payOut(tx, note, sources);
    const description = 'Credit of a change or cancellation';
    const toMain = { userId, currency, invoiceId, amount, type: creditTransactionType.refund, description };
    if (amount > 0n) await credits.addMain(tx, toMain);
    await giveBackPromoOf(tx, note);
    const linked = this.documents.keyed(note.merchantId, invoiceId);
    const finished = { status: 'paid', finishTime: tx.now, paidTime: tx.now, ...linked, seller, buyer } as const;
    const settings = await settingsOf(tx);
    const numbered = await nextNumber(tx, 'credit_note', merchant);
    const invoice = { ...note, ...finished, ...numbered, sendStatus: sendStatusOf(settings, numbered.number) };
    const { view } = tx.step(invoiceAggregate, invoice, 'invoice.created', { log });
    await this.notices.notify(tx, 'credited', invoice);
    return view;
  }
}

async function shownDocument(tx: Tx, composed: Composed, context: DocumentContext): Promise<InvoiceState> {
  const discount = composed.discount ? await discounts.shown(tx, composed.discount.code) : null;
  return { ...documentOf(composed, context), discount };
}

/** The parts of a draft that its document keeps. */
const identityOf = ({ version, createTime, invoiceName }: InvoiceState) => ({ version, createTime, invoiceName });

const saveLines = (tx: Tx, { lines }: InvoiceState): void => {
  for (const line of lines) tx.save(invoiceLines, line);
};

/** Promo credit from the locked account; the amounts are composed again where its balance has changed meanwhile. */
async function takePromo(tx: Tx, composed: Composed, invoiceId: string): Promise<Composed> {
  const { bill, promo, promoBase, composition } = composed;
  const { userId, currency } = bill;
  if (!promo) return composed;
  const cap = promo.cap === undefined ? {} : { cap: promo.cap };
  const taken = await credits.spendPromo(tx, { userId, currency, base: promoBase, ...cap, invoiceId });
  if ((taken?.money ?? 0n) === composition.amounts.promoAmount) return composed;
  const { decimals } = promo;
  return withPromo(composed, taken && { balance: taken.credits, exchangeRate: taken.rate, decimals });
}

/**
 * Books on the credited lines' invoices, in the order of their ids, what the credit lines give back of them. Returns those
 * invoices as they were before. Throws Rejected `total_changed` where a refund took place meanwhile.
 */
export async function giveBackSources(tx: Tx, { bill, composition }: Composed): Promise<Source[]> {
  const shares = bill.items.flatMap(({ source }, at) => {
    const line = composition.lines[at];
    if (!source || !line) return [];
    const { invoiceId, lineId, promoCredits } = source;
    return [{ invoiceId, share: { lineId, net: -netOf(line), tax: -line.tax, promoCredits } }];
  });
  const ids = [...new Set(shares.map(({ invoiceId }) => invoiceId))].sort();
  const sources: Source[] = [];
  for (const invoiceId of ids) {
    const source = await lockSource(tx, invoiceId);
    sources.push(sourceOf(source));
    const own = shares.filter(entry => entry.invoiceId === invoiceId).map(({ share }) => share);
    assertLeft(source, own);
    await saveGivenBack(tx, withCredited(source, source.payment, own));
  }
  return sources;
}

function assertLeft({ invoiceId, lines }: InvoiceState, shares: readonly CreditedShare[]): void {
  for (const { lineId, net } of shares) {
    const line = lines.find(each => each.lineId === lineId);
    const left = line ? netOf(line) - line.creditedNet - line.refundedNet - line.waivedNet : 0n;
    if (net > left)
      throw new Rejected('total_changed', `Only ${left} of line ${lineId} of invoice ${invoiceId} is left`);
  }
}

/**
 * Frees the period of an open invoice that this transaction cancels: the unique index has to see it before the invoice
 * that replaces it. The caller has locked it.
 */
export const releasePeriod = (tx: Tx, invoice: InvoiceState): Promise<void> =>
  tx.saveNow(invoices, { ...invoice, status: 'cancelled' });
