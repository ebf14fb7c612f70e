import { Injectable } from '@nestjs/common';
import type { Invoice } from '@recur/contracts';
import type { Reader, Tx } from '@recur/platform';
import * as credits from '../../credits/verbs.js';
import { invoiceAggregate } from '../aggregates.js';
import { issueComposed } from '../credit-notes/composed.js';
import { type PromoUse, paidFromCredit } from '../credit-use.js';
import { DocumentLinks } from '../document-links.js';
import type { Draft } from '../domain/draft.js';
import { edit } from '../domain/draft.js';
import type { Payment } from '../domain/payment.js';
import { addDraft, draftOf, replaceLines } from '../drafts/draft.js';
import { lineRows, type PlanOf } from '../drafts/lines.js';
import { DAYS_UNTIL_DUE, type Finalization, InvoiceFinalizer, minimumOf } from '../finalize.js';
import { Notices } from '../finish/notices.js';
import { type Taxation, taxationOf } from '../finish/taxes.js';
import type { InvoiceState } from '../state.js';
import { invoices } from '../tables.js';
import { invoiceView } from '../views.js';
import { previewPromoFor, takePromoFor } from './credits.js';
import { discountOf, linesOf, type Order } from './order.js';

/** Outcome of an order. A `carried` one made no document: its amount is below what the gateway collects. */
export type Issued =
  | { kind: 'invoice'; document: Invoice; payment: Payment | undefined }
  | { kind: 'credit_note'; document: Invoice }
  | { kind: 'carried' };

/** Options of an issue, besides those of a finalization. */
export interface IssueOptions extends Omit<Finalization, 'taxation'> {
  daysUntilDue?: number;
  /** Id for a new document, where the use of a discount already names it. */
  invoiceId?: string;
  /** Sends a negative total back through the payments of the invoices that it credits, as far as they go. */
  refund?: boolean;
}

/** The document as it would be issued now, with the tax reason of its first line. */
export interface Preview {
  document: Invoice;
  taxReason: string;
}

/**
 * Composes documents: lines → discount → promo credit → tax → total → main credit → payment for the rest. A negative total
 * is a credit note. Orders come from the wings that sell; uses of discounts are theirs to reserve.
 */
@Injectable()
export class Composer {
  constructor(
    private readonly finalizer: InvoiceFinalizer,
    private readonly documents: DocumentLinks,
    private readonly notices: Notices,
  ) {}

  /** The document that `issue` would make now. Nothing is written or locked. */
  async preview(reader: Reader, order: Order): Promise<Preview> {
    const [taxation, promo] = await Promise.all([taxed(reader, order), previewPromoFor(reader, order)]);
    const context = { merchantId: reader.merchantId, invoiceId: '', now: reader.now };
    const draft = draftOf(given(order, 0, taxation, promo), context, order.gateway, plansOf(order), shownOf(order));
    const { userId, currency, totalAmount: due } = draft;
    const partialCreditPaid = paidFromCredit(order)
      ? await credits.mainFor(reader, { userId, currency, due, minimum: minimumOf(order) })
      : 0n;
    const [line] = draft.lines;
    return { document: invoiceView({ ...draft, partialCreditPaid }), taxReason: line?.taxReason ?? '' };
  }

  /**
   * Issues the document of an order. Throws what `taxationOf` and `finalize` do; Rejected `invalid_parameters` for amounts
   * beyond ±(2^53−1).
   */
  async issue(tx: Tx, order: Order, options: IssueOptions = {}): Promise<Issued> {
    const { invoiceId = tx.newId('in_') } = options;
    const [taxation, promo, id] = await Promise.all([
      taxed(tx, order),
      takePromoFor(tx, order, invoiceId),
      tx.nextId(invoices),
    ]);
    const context = { merchantId: tx.merchantId, invoiceId, now: tx.now };
    const draft = draftOf(given(order, id, taxation, promo), context, order.gateway, plansOf(order), shownOf(order));
    if (await isCarried(tx, order, draft)) {
      await credits.returnPromo(tx, { ...draft, credits: draft.promoCredits });
      return { kind: 'carried' };
    }
    if (draft.totalAmount < 0n) return this.credit(tx, draft, false, options);
    addDraft(tx, draft);
    return this.finalized(tx, draft, taxation, options);
  }

  /** Saves an order as a draft, to be finished later. It takes no promo credit yet. */
  async draft(tx: Tx, order: Order): Promise<{ draft: InvoiceState; view: Invoice }> {
    const [taxation, id] = await Promise.all([taxed(tx, order), tx.nextId(invoices)]);
    const context = { merchantId: tx.merchantId, invoiceId: tx.newId('in_'), now: tx.now };
    const none = { promoAmount: 0n };
    const draft = draftOf(given(order, id, taxation, none), context, order.gateway, plansOf(order), shownOf(order));
    return { draft, view: addDraft(tx, draft) };
  }

  /** Finishes a locked draft as the order is now. Amounts below the gateway's minimum are carried only by `issue`. */
  async finish(tx: Tx, draft: InvoiceState, order: Order, options: IssueOptions = {}): Promise<Issued> {
    const { invoiceId, id } = draft;
    const [taxation, promo] = await Promise.all([taxed(tx, order), takePromoFor(tx, order, invoiceId)]);
    const { gateway } = order;
    const edited = edit(draft, { ...given(order, id, taxation, promo), gatewayId: gateway?.gatewayId ?? 0 }, tx.now);
    const anew = { ...draft, ...edited, lines: lineRows(edited, plansOf(order)), gateway, discount: shownOf(order) };
    await replaceLines(tx, anew);
    if (anew.totalAmount < 0n) return this.credit(tx, anew, true, options);
    tx.step(invoiceAggregate, anew, 'invoice.updated');
    return this.finalized(tx, anew, taxation, options);
  }

  private async finalized(
    tx: Tx,
    draft: InvoiceState,
    taxation: Taxation,
    { daysUntilDue = DAYS_UNTIL_DUE, ...options }: IssueOptions,
  ): Promise<Issued> {
    const { view, payment } = await this.finalizer.finalize(tx, draft, daysUntilDue, { ...options, taxation });
    return { kind: 'invoice', document: view, payment };
  }

  private async credit(
    tx: Tx,
    draft: InvoiceState,
    isSaved: boolean,
    { log, refund = false }: IssueOptions,
  ): Promise<Issued> {
    const pdfLink = this.documents.linkOf(draft.merchantId, draft.invoiceId);
    const { note, view } = await issueComposed(tx, draft, { pdfLink, isSaved, refund, log: log?.log });
    await this.notices.tell(tx, 'credited', note);
    return { kind: 'credit_note', document: view };
  }
}

const taxed = (reader: Reader, { gateway, lines, ...sale }: Order): Promise<Taxation> =>
  taxationOf(reader, { ...sale, gatewayName: gateway?.gatewayName ?? '' }, lines);

const plansOf =
  ({ lines }: Order): PlanOf =>
  (_, at) =>
    lines[at]?.plan ?? null;

const shownOf = ({ discount }: Order) => discount?.shown ?? null;

function given(order: Order, id: number, { rates }: Taxation, promo: PromoUse): Draft {
  const { userId, bizType, createFrom, invoiceName, currency } = order;
  return {
    ...{ id, userId, bizType, createFrom, invoiceName, currency, taxBps: 0 },
    ...{ lines: linesOf(order), rates, discountAmount: discountOf(order) },
    ...promo,
  };
}

/** True for an amount below what the gateway collects, unless main credit covers it. */
async function isCarried(tx: Tx, order: Order, { userId, currency, totalAmount: due }: InvoiceState): Promise<boolean> {
  const minimum = minimumOf(order);
  if (order.belowMinimum !== 'carry' || due <= 0n || due >= minimum) return false;
  return !paidFromCredit(order) || (await credits.mainFor(tx, { userId, currency, due, minimum })) < due;
}
