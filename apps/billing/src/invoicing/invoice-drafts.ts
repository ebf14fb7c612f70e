import { isDeepStrictEqual } from 'node:util';
import { Controller } from '@nestjs/common';
import { bizType, createFrom, deleteInvoice, editInvoice, finishInvoice, type In, newInvoice } from '@recur/contracts';
import { invalid } from '@recur/kernel';
import { type Appender, type Caller, Db, Handle, type Tx } from '@recur/platform';
import { type Plans, plansById } from '../customers/plans.js';
import { assertBuyer, findUser } from '../customers/users.js';
import { chooseGateway } from '../gateways/domain/gateway.js';
import { allGateways } from '../gateways/lookup.js';
import { invoiceAggregate } from './aggregates.js';
import * as domain from './domain/invoice.js';
import { saveDraft } from './draft.js';
import { DAYS_UNTIL_DUE, InvoiceFinalizer } from './finalize.js';
import { lineRows, linesToPrice, planIn } from './lines.js';
import type { InvoiceState } from './state.js';
import { invoiceLines, invoices } from './tables.js';

/** Drafts of invoices, until they are finished or deleted. */
@Controller()
export class InvoiceDrafts {
  constructor(
    private readonly db: Db,
    private readonly finalizer: InvoiceFinalizer,
  ) {}

  @Handle(newInvoice)
  create(input: In<typeof newInvoice>, caller: Caller) {
    if (!input.finish) {
      return this.db.append(caller, async tx => ({ invoice: (await this.draft(tx, input)).view }));
    }
    return this.db.write(caller, async tx => {
      const { draft } = await this.draft(tx, input);
      const { view } = await this.finalizer.finalize(tx, draft, DAYS_UNTIL_DUE);
      return { invoice: view };
    });
  }

  private async draft(tx: Tx | Appender, input: In<typeof newInvoice>) {
    const { userId, currency } = input;
    const [found, merchantGateways, id, copies] = await Promise.all([
      findUser(tx, { userId }),
      allGateways(tx),
      tx.nextId(invoices),
      plansById(tx, planIds(input.lines)),
    ]);
    const user = assertBuyer(tx, { userId }, found);
    const gateway = chooseGateway(merchantGateways, input.gatewayId, user.gatewayId);
    const given = {
      id,
      userId: user.id,
      bizType: bizType.manualInvoice,
      createFrom: createFrom.admin,
      invoiceName: input.name,
      currency,
      taxBps: input.taxPercentage,
      lines: linesToPrice(tx, input.lines, currency, copies),
    };
    return saveDraft(tx, given, gateway, copies, 'New');
  }

  @Handle(editInvoice)
  edit(input: In<typeof editInvoice>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { invoiceId, finish } = input;
      const invoice = await tx.lock(invoiceAggregate, { invoiceId, deletedTime: 0 }, 'invoice_not_found');
      const [merchantGateways, copies] = await Promise.all([
        allGateways(tx),
        plansById(tx, planIds(input.lines ?? [])),
      ]);
      domain.assertDraft(invoice);
      const chosen = chooseGateway(merchantGateways, input.gatewayId, invoice.gatewayId);
      const gatewayId = input.gatewayId || invoice.gatewayId;
      const gateway = merchantGateways.find(known => known.gatewayId === gatewayId);
      const edited = { ...edit(tx, invoice, { ...input, gatewayId }, copies), gateway };
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
      const invoice = await tx.lock(invoiceAggregate, { invoiceId, deletedTime: 0 }, 'invoice_not_found');
      const gateway = chooseGateway(await allGateways(tx), 0, invoice.gatewayId);
      const log = { log: 'Finish' };
      const { view } = await this.finalizer.finalize(tx, { ...invoice, gateway }, daysUtilDue, { log });
      return { invoice: view };
    });
  }

  @Handle(deleteInvoice)
  delete({ invoiceId }: In<typeof deleteInvoice>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const invoice = await tx.lock(invoiceAggregate, invoiceId, 'invoice_not_found');
      if (invoice.deletedTime !== 0) return {};
      tx.step(invoiceAggregate, domain.deleteDraft(invoice, tx.now), 'invoice.deleted', { log: 'Delete' });
      return {};
    });
  }
}

const planIds = (lines: readonly { planId: number }[]) => lines.map(({ planId }) => planId);

/** Replaces the lines of a draft and saves it. */
async function saveEdited(tx: Tx, edited: InvoiceState) {
  const { invoiceId, lines } = edited;
  await tx.run('delete from invoice_lines where merchant_id = $1 and invoice_id = $2', [tx.merchantId, invoiceId]);
  for (const line of lines) tx.save(invoiceLines, line);
  return tx.step(invoiceAggregate, edited, 'invoice.updated', { log: 'Edit' });
}

/** The draft with the input applied. Lines that the input does not replace keep their snapshot of the plan. */
function edit(tx: Tx, invoice: InvoiceState, input: In<typeof editInvoice>, copies: Plans): InvoiceState {
  const { currency = invoice.currency } = input;
  const foreign = input.lines ? undefined : invoice.lines.find(({ plan }) => plan && plan.currency !== currency);
  if (foreign)
    throw invalid('/currency', `Line ${foreign.lineNo} sells a plan that is priced in ${foreign.plan?.currency}`);
  const given = {
    invoiceName: input.name ?? invoice.invoiceName,
    currency,
    taxBps: input.taxPercentage ?? invoice.taxBps,
    gatewayId: input.gatewayId,
    lines: input.lines ? linesToPrice(tx, input.lines, currency, copies) : invoice.lines,
  };
  const edited = domain.edit(invoice, given, tx.now);
  const kept = (_: domain.InvoiceLine, at: number) => invoice.lines[at]?.plan ?? null;
  const { gateway, payment } = invoice;
  return { ...edited, lines: lineRows(edited, input.lines ? planIn(copies) : kept), gateway, payment };
}
