import { Injectable } from '@nestjs/common';
import { type createFrom, creditTransactionType, type Invoice } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import * as credits from '../../credits/spending.js';
import * as discounts from '../../discounts/redemption.js';
import { followUp } from '../../tax/decide.js';
import { type RefundableInvoice, refundableInvoice, refundCreditNote } from '../crediting/credit-refunds.js';
import { restorePromoOf } from '../crediting/credit-use.js';
import { lockSource, saveCreditedAmounts } from '../crediting/creditable-lines.js';
import { DocumentLinks } from '../document-links.js';
import { daysUntil } from '../domain/deadlines.js';
import { netOf } from '../domain/document-data.js';
import { type CollectionTerms } from '../domain/dunning.js';
import type { Payment, PaymentDraft } from '../domain/payment.js';
import { type CreditedShare, withCredited } from '../domain/refund.js';
import { CustomerNotifications } from '../notifications.js';
import { nextNumber } from '../numbers.js';
import { partiesOf } from '../parties.js';
import { invoiceSettingsOf, sendStatusOf } from '../settings.js';
import type { InvoiceState } from '../state.js';
import { invoiceLines, invoices } from '../tables.js';
import { invoiceAggregate } from '../views.js';
import { type CalculatedInvoice, withPromo } from './calculate.js';
import { type DocumentContext, invoiceStateOf } from './composed.js';
import { replaceLines } from './draft.js';
import { DAYS_UNTIL_DUE, InvoiceFinalizer } from './finalize.js';
import { type UsedDiscount, useDiscount } from './preview.js';

/** How a calculated invoice is issued. */
export interface IssueOptions {
  /** A draft waits for usage, and is issued later with `draft`; an open invoice is finalized at once. */
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

/** The document that was issued: an invoice, or a credit note whose total went to main credit. */
export interface IssuedInvoice {
  view: Invoice;
  payment?: Payment;
  /** The discount that it used; its code is '' where the request gave the terms. */
  discount?: UsedDiscount;
}

/**
 * Issues calculated invoices, the only way to an invoice of a subscription. The caller has locked the
 * subscription; locks follow in their order: discount, credited invoices by id, promo and main credit, number.
 */
@Injectable()
export class InvoiceIssuer {
  constructor(
    private readonly finalizer: InvoiceFinalizer,
    private readonly documents: DocumentLinks,
    private readonly notices: CustomerNotifications,
  ) {}

  /** Throws Rejected `invalid_parameters` for a code that cannot be used, and what `finalize` does. */
  async issue(tx: Tx, calculated: CalculatedInvoice, options: IssueOptions): Promise<IssuedInvoice> {
    const context = await documentContext(tx, options);
    if (options.status === 'draft') return { view: await this.draft(tx, calculated, context, options) };
    const discount = options.invoiceId ? undefined : await useDiscount(tx, calculated, context.invoiceId);
    const credited = await recordCredits(tx, calculated);
    const final = await withPromoCredit(tx, calculated, context.invoiceId);
    const document = await saveDocument(tx, await shownDocument(tx, final, context), options);
    await checkVatNumbers(tx, calculated);
    const issued =
      document.kind === 'credit_note'
        ? { view: await this.creditNote(tx, document, options.refund ? credited : [], options.log) }
        : await this.invoice(tx, document, options);
    return { ...issued, ...(discount && { discount }) };
  }

  /** A draft shows what it would bill now; nothing is used or taken for it. */
  private async draft(
    tx: Tx,
    calculated: CalculatedInvoice,
    context: DocumentContext,
    options: IssueOptions,
  ): Promise<Invoice> {
    const document = await saveDocument(tx, await shownDocument(tx, calculated, context), options);
    return tx.step(invoiceAggregate, document, 'invoice.created', { log: options.log }).view;
  }

  private invoice(
    tx: Tx,
    document: InvoiceState,
    { draft, deadline, collection, details, log }: IssueOptions,
  ): Promise<IssuedInvoice> {
    if (!draft) tx.step(invoiceAggregate, document, 'invoice.created', { log });
    const days = deadline === undefined ? DAYS_UNTIL_DUE : daysUntil(deadline, tx.now);
    const terms = { ...collection, ...(deadline !== undefined && { deadline }) };
    return this.finalizer.finalize(tx, document, days, { collection: terms, ...(details && { details }) });
  }

  /** A negative total is a credit note; what the payments of `sources` do not take goes to main credit. */
  private async creditNote(
    tx: Tx,
    note: InvoiceState,
    sources: readonly RefundableInvoice[],
    log?: string,
  ): Promise<Invoice> {
    const { userId, currency, invoiceId } = note;
    const { merchant, seller, buyer } = await partiesOf(tx, note);
    const amount = await refundCreditNote(tx, note, sources);
    const description = 'Credit of a change or cancellation';
    const toMain = { userId, currency, invoiceId, amount, type: creditTransactionType.refund, description };
    if (amount > 0n) await credits.addMain(tx, toMain);
    await restorePromoOf(tx, note);
    const linked = this.documents.keyed(note.merchantId, invoiceId);
    const finished = { status: 'paid', finishTime: tx.now, paidTime: tx.now, ...linked, seller, buyer } as const;
    const settings = await invoiceSettingsOf(tx);
    const numbered = await nextNumber(tx, 'credit_note', merchant);
    const invoice = { ...note, ...finished, ...numbered, sendStatus: sendStatusOf(settings, numbered.number) };
    const { view } = tx.step(invoiceAggregate, invoice, 'invoice.created', { log });
    await this.notices.notify(tx, 'credited', invoice);
    return view;
  }
}

async function shownDocument(tx: Tx, calculated: CalculatedInvoice, context: DocumentContext): Promise<InvoiceState> {
  const discount = calculated.discount ? await discounts.shownDiscount(tx, calculated.discount.code) : null;
  return { ...invoiceStateOf(calculated, context), discount };
}

/** The ids of a document: those of its draft, or new ones. */
async function documentContext(tx: Tx, { draft, invoiceId, createFrom: from }: IssueOptions): Promise<DocumentContext> {
  const { merchantId, now } = tx;
  const id = draft?.id ?? (await tx.nextId(invoices));
  return { merchantId, now, id, invoiceId: draft?.invoiceId ?? invoiceId ?? tx.newId('in_'), createFrom: from };
}

/** Saves the lines; the document itself is saved by its step. It keeps the identity of its draft. */
async function saveDocument(tx: Tx, document: InvoiceState, { draft }: IssueOptions): Promise<InvoiceState> {
  if (!draft) {
    for (const line of document.lines) tx.save(invoiceLines, line);
    return document;
  }
  const { version, createTime, invoiceName } = draft;
  const kept = { ...document, version, createTime, invoiceName };
  await replaceLines(tx, kept);
  return kept;
}

/** VAT numbers that it relies on without an answer are asked about later. */
const checkVatNumbers = (tx: Tx, { tax, rates }: CalculatedInvoice): Promise<void> =>
  followUp(
    tx,
    tax,
    rates.flatMap(rate => ('pending' in rate ? [rate] : [])),
  );

/** Promo credit from the locked account; the amounts are calculated again where its balance has changed meanwhile. */
async function withPromoCredit(tx: Tx, calculated: CalculatedInvoice, invoiceId: string): Promise<CalculatedInvoice> {
  const { input, promo, promoBase, composition } = calculated;
  const { userId, currency } = input;
  if (!promo) return calculated;
  const cap = promo.cap === undefined ? {} : { cap: promo.cap };
  const taken = await credits.spendPromo(tx, { userId, currency, base: promoBase, ...cap, invoiceId });
  if ((taken?.money ?? 0n) === composition.amounts.promoAmount) return calculated;
  const { decimals } = promo;
  return withPromo(calculated, taken && { balance: taken.credits, exchangeRate: taken.rate, decimals });
}

/**
 * Books on the credited lines' invoices, in the order of their ids, what the credit lines credit of them. Returns those
 * invoices as they were before. Throws Rejected `total_changed` where a refund took place meanwhile.
 */
export async function recordCredits(tx: Tx, { input, composition }: CalculatedInvoice): Promise<RefundableInvoice[]> {
  const shares = input.items.flatMap(({ source }, at) => {
    const line = composition.lines[at];
    if (!source || !line) return [];
    const { invoiceId, lineId, promoCredits } = source;
    return [{ invoiceId, share: { lineId, net: -netOf(line), tax: -line.tax, promoCredits } }];
  });
  const ids = [...new Set(shares.map(({ invoiceId }) => invoiceId))].sort();
  const sources: RefundableInvoice[] = [];
  for (const invoiceId of ids) {
    const source = await lockSource(tx, invoiceId);
    sources.push(refundableInvoice(source));
    const own = shares.filter(entry => entry.invoiceId === invoiceId).map(({ share }) => share);
    assertLeft(source, own);
    await saveCreditedAmounts(tx, withCredited(source, source.payment, own));
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
