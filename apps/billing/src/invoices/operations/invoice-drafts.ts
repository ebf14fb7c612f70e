import { isDeepStrictEqual } from 'node:util';
import { Controller } from '@nestjs/common';
import { bizType, createFrom, deleteInvoice, editInvoice, finishInvoice, type In, newInvoice } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Appender, type Caller, Db, Handle, type Tx } from '@recur/platform';
import { type PlanCopies, plansById } from '../../customers/catalog.js';
import { assertBuyer, findUser } from '../../customers/users.js';
import { chooseGateway } from '../../gateways/domain/gateway.js';
import { allGateways } from '../../gateways/gateway-index.js';
import type { LineItem } from '../../pricing/price.js';
import { applyPromo, type PromoAccount, type PromoUse, restorePromo } from '../crediting/credit-use.js';
import { editDraft } from '../domain/draft.js';
import * as domain from '../domain/invoice.js';
import { lineRows, linesToPrice, planOfDraft, replaceLines, saveDraft } from '../issuing/draft.js';
import { DAYS_UNTIL_DUE, InvoiceFinalizer } from '../issuing/finalize.js';
import { InvoiceOutcomes } from '../outcomes.js';
import type { InvoiceState } from '../state.js';
import { invoices } from '../tables.js';
import { invoiceAggregate } from '../views.js';

/** Drafts of invoices, until they are finished or deleted. */
@Controller()
export class InvoiceDrafts {
  constructor(
    private readonly db: Db,
    private readonly finalizer: InvoiceFinalizer,
    private readonly outcomes: InvoiceOutcomes,
  ) {}

  @Handle(newInvoice)
  create(input: In<typeof newInvoice>, caller: Caller) {
    if (!input.finish && !input.applyPromoCredit) {
      return this.db.append(caller, async tx => ({ invoice: (await this.draft(tx, input, noPromo)).view }));
    }
    return this.db.write(caller, async tx => {
      const promo = (lines: readonly LineItem[], of: PromoAccount) => applyPromo(tx, of, lines, askedPromo(input));
      const { draft, view } = await this.draft(tx, input, promo);
      if (!input.finish) return { invoice: view };
      const finished = await this.finalizer.finalize(tx, draft, DAYS_UNTIL_DUE);
      return { invoice: finished.view };
    });
  }

  private async draft(
    tx: Tx | Appender,
    input: In<typeof newInvoice>,
    promoOf: (lines: readonly LineItem[], of: PromoAccount) => Promise<PromoUse>,
  ) {
    const { userId, currency } = input;
    const [found, merchantGateways, id, copies] = await Promise.all([
      findUser(tx, { userId }),
      allGateways(tx),
      tx.nextId(invoices),
      plansById(tx, planIds(input.lines)),
    ]);
    const user = assertBuyer(tx, { userId }, found);
    const gateway = chooseGateway(merchantGateways, input.gatewayId, user.gatewayId);
    const lines = linesToPrice(tx, input.lines, currency, copies);
    const invoiceId = tx.newId('in_');
    const given = {
      id,
      userId: user.id,
      bizType: bizType.manualInvoice,
      createFrom: createFrom.admin,
      invoiceName: input.name,
      currency,
      taxBps: input.taxPercentage,
      lines,
      ...(await promoOf(lines, { userId: user.id, currency, invoiceId })),
    };
    return saveDraft(tx, given, gateway, copies, { log: 'New', invoiceId });
  }

  @Handle(editInvoice)
  edit(input: In<typeof editInvoice>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { invoiceId, finish } = input;
      const invoice = await tx.lock(invoiceAggregate, draftWith(invoiceId), 'invoice_not_found');
      const [merchantGateways, copies] = await Promise.all([
        allGateways(tx),
        plansById(tx, planIds(input.lines ?? [])),
      ]);
      domain.assertDraft(invoice);
      assertNotOfSubscription(invoice, 'edit');
      const chosen = chooseGateway(merchantGateways, input.gatewayId, invoice.gatewayId);
      const gatewayId = input.gatewayId || invoice.gatewayId;
      const gateway = merchantGateways.find(known => known.gatewayId === gatewayId);
      const edited = { ...(await editLines(tx, invoice, { ...input, gatewayId }, copies)), gateway };
      const changed = !isDeepStrictEqual({ ...edited, modifyTime: invoice.modifyTime }, invoice);
      const view = changed ? await saveEdited(tx, edited) : invoiceAggregate.view(invoice);
      if (!finish) return { invoice: view };
      const finalized = { ...(changed ? edited : invoice), gateway: chosen };
      const opened = await this.finalizer.finalize(tx, finalized, DAYS_UNTIL_DUE, {
        ...(!changed && { log: { log: 'Finish' } }),
      });
      return { invoice: opened.view };
    });
  }

  @Handle(finishInvoice)
  finish({ invoiceId, daysUtilDue }: In<typeof finishInvoice>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const invoice = await this.outcomes.lock(tx, draftWith(invoiceId), 'invoice_not_found');
      if (invoice.bizType === bizType.subscription) return { invoice: await this.finishOfSubscription(tx, invoice) };
      const gateway = chooseGateway(await allGateways(tx), 0, invoice.gatewayId);
      const log = { log: 'Finish' };
      const { view } = await this.finalizer.finalize(tx, { ...invoice, gateway }, daysUtilDue, { log });
      return { invoice: view };
    });
  }

  /** A draft that waits for usage is calculated again, from what is counted by now. */
  private async finishOfSubscription(tx: Tx, invoice: InvoiceState) {
    domain.assertFinishable(invoice);
    const { invoiceId, userId } = invoice;
    await this.outcomes.finish(tx, invoice);
    tx.log(`Invoice(${invoiceId})`, 'Finish', { invoiceId, userId });
    return invoiceAggregate.view(await tx.lock(invoiceAggregate, invoiceId, 'invoice_not_found'));
  }

  @Handle(deleteInvoice)
  delete({ invoiceId }: In<typeof deleteInvoice>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const invoice = await tx.lock(invoiceAggregate, { invoiceId, kind: 'invoice' }, 'invoice_not_found');
      if (invoice.deletedTime !== 0) return {};
      assertNotOfSubscription(invoice, 'delete');
      const deleted = domain.deleteDraft(invoice, tx.now);
      tx.step(invoiceAggregate, deleted, 'invoice.deleted', { log: 'Delete' });
      await restorePromo(tx, deleted);
      return {};
    });
  }
}

const draftWith = (invoiceId: string) => ({ invoiceId, kind: 'invoice' as const, deletedTime: 0 });

/** A draft that bills a subscription is made of what is to be billed: it can only be finished. */
function assertNotOfSubscription({ invoiceId, bizType: type }: InvoiceState, move: 'edit' | 'delete'): void {
  if (type !== bizType.subscription) return;
  throw new Rejected('invoice_not_draft', `Invoice ${invoiceId} bills a subscription: cannot ${move} it`);
}

const planIds = (lines: readonly { planId: number }[]) => lines.map(({ planId }) => planId);

/** Saves an edited draft with its lines. */
async function saveEdited(tx: Tx, edited: InvoiceState) {
  await replaceLines(tx, edited);
  return tx.step(invoiceAggregate, edited, 'invoice.updated', { log: 'Edit' }).view;
}

/** The draft with the input applied. Lines that the input does not replace keep their snapshot of the plan. */
async function editLines(
  tx: Tx,
  invoice: InvoiceState,
  input: In<typeof editInvoice>,
  copies: PlanCopies,
): Promise<InvoiceState> {
  const { currency = invoice.currency } = input;
  const foreign = input.lines ? undefined : invoice.lines.find(({ plan }) => plan && plan.currency !== currency);
  if (foreign)
    throw invalid('/currency', `Line ${foreign.lineNo} sells a plan that is priced in ${foreign.plan?.currency}`);
  const lines = input.lines ? linesToPrice(tx, input.lines, currency, copies) : invoice.lines;
  const given = {
    ...(await promoAnew(tx, invoice, { ...input, currency }, lines)),
    invoiceName: input.name ?? invoice.invoiceName,
    currency,
    taxBps: input.taxPercentage ?? invoice.taxBps,
    gatewayId: input.gatewayId,
    lines,
  };
  const edited = editDraft(invoice, given, tx.now);
  const kept = (_: domain.InvoiceLine, at: number) => invoice.lines[at]?.plan ?? null;
  const rows = lineRows(edited, input.lines ? planOfDraft(copies) : kept);
  return { ...invoice, ...edited, lines: rows };
}

/** Promo credit of an edited draft: returned and taken again where its base or the wish has changed. */
async function promoAnew(
  tx: Tx,
  invoice: InvoiceState,
  input: In<typeof editInvoice> & { currency: string },
  lines: readonly LineItem[],
): Promise<PromoUse> {
  const { promoApplied, promoCap, promoCredits, promoRate, promoAmount } = invoice;
  const asked = {
    applied: input.applyPromoCredit ?? promoApplied,
    cap: input.applyPromoCreditAmount === undefined ? promoCap : BigInt(input.applyPromoCreditAmount),
  };
  const isSame = !input.lines && input.currency === invoice.currency && asked.applied === promoApplied;
  if (isSame && asked.cap === promoCap) {
    return { promoAmount, promo: { promoApplied, promoCap, promoCredits, promoRate } };
  }
  await restorePromo(tx, invoice);
  const { userId, invoiceId } = invoice;
  return applyPromo(tx, { userId, currency: input.currency, invoiceId }, lines, asked);
}

const askedPromo = ({ applyPromoCredit, applyPromoCreditAmount = 0 }: In<typeof newInvoice>) => ({
  applied: applyPromoCredit,
  cap: BigInt(applyPromoCreditAmount),
});
const noPromo = async (): Promise<PromoUse> => ({});
