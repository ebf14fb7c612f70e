import { isDeepStrictEqual } from 'node:util';
import { Controller } from '@nestjs/common';
import {
  bizType,
  cancelInvoice,
  clearInvoicePayment,
  createFrom,
  deleteInvoice,
  editInvoice,
  finishInvoice,
  type In,
  type Invoice,
  invoiceDetail,
  markWireTransferSuccess,
  newInvoice,
} from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { type Plans, plansById } from '../customers/plans.js';
import { assertBuyer, findUser } from '../customers/users.js';
import { chooseGateway, WIRE_TRANSFER } from '../gateways/domain/gateway.js';
import { allGateways, getGateway } from '../gateways/lookup.js';
import { invoicesOf } from './details.js';
import * as collection from './domain/collection.js';
import * as domain from './domain/invoice.js';
import { saveDraft } from './draft.js';
import { DAYS_UNTIL_DUE, InvoiceFinalizer } from './finalize.js';
import { lineRows, linesToPrice, planIn, type StoredInvoice, withLines } from './lines.js';
import { loadInvoiceParts } from './parts.js';
import { invoiceLines, invoices, payments } from './tables.js';
import { invoiceView, paymentView } from './views.js';

@Controller()
export class Invoices {
  constructor(
    private readonly db: Db,
    private readonly finalizer: InvoiceFinalizer,
  ) {}

  @Handle(newInvoice)
  create(input: In<typeof newInvoice>, caller: Caller) {
    return this.db.write(caller, async tx => {
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
      const { draft, view } = saveDraft(tx, given, gateway, copies);
      tx.log(`Invoice(${draft.invoiceId})`, 'New', { invoiceId: draft.invoiceId, userId: user.id });
      if (!input.finish) return { invoice: view };
      const opened = await this.finalizer.finalize(tx, draft, gateway, DAYS_UNTIL_DUE);
      return { invoice: opened.view };
    });
  }

  @Handle(editInvoice)
  edit(input: In<typeof editInvoice>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { invoiceId, finish } = input;
      const row = await tx.lock(invoices, { invoiceId, deletedTime: 0 }, 'invoice_not_found');
      const [invoice, merchantGateways, copies] = await Promise.all([
        withLines(tx, row),
        allGateways(tx),
        plansById(tx, planIds(input.lines ?? [])),
      ]);
      domain.assertDraft(invoice);
      const chosen = chooseGateway(merchantGateways, input.gatewayId, invoice.gatewayId);
      const edited = edit(tx, invoice, { ...input, gatewayId: input.gatewayId || invoice.gatewayId }, copies);
      const changed = !isDeepStrictEqual({ ...edited, modifyTime: invoice.modifyTime }, invoice);
      const gateway = merchantGateways.find(({ gatewayId }) => gatewayId === edited.gatewayId);
      const view = invoiceView(changed ? edited : invoice, gateway);
      if (changed) {
        await tx.run('delete from invoice_lines where merchant_id = $1 and invoice_id = $2', [
          tx.merchantId,
          invoiceId,
        ]);
        for (const line of edited.lines) tx.save(invoiceLines, line);
        tx.save(invoices, edited);
        tx.emit('invoice.updated', edited, view);
      }
      const opened = finish ? await this.finalizer.finalize(tx, edited, chosen, DAYS_UNTIL_DUE) : undefined;
      if (changed || finish)
        tx.log(`Invoice(${invoiceId})`, changed ? 'Edit' : 'Finish', { invoiceId, userId: invoice.userId });
      return { invoice: opened?.view ?? view };
    });
  }

  @Handle(finishInvoice)
  finish({ invoiceId, daysUtilDue }: In<typeof finishInvoice>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const row = await tx.lock(invoices, { invoiceId, deletedTime: 0 }, 'invoice_not_found');
      const [invoice, merchantGateways] = await Promise.all([withLines(tx, row), allGateways(tx)]);
      const gateway = chooseGateway(merchantGateways, 0, invoice.gatewayId);
      const { view } = await this.finalizer.finalize(tx, invoice, gateway, daysUtilDue);
      tx.log(`Invoice(${invoiceId})`, 'Finish', { invoiceId, userId: invoice.userId });
      return { invoice: view };
    });
  }

  @Handle(invoiceDetail)
  detail({ invoiceId }: In<typeof invoiceDetail>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const row = await reader.get(invoices, { invoiceId }, 'invoice_not_found');
      const [invoice] = await invoicesOf(reader, [row]);
      return { creditNotes: [], invoice: invoice as Invoice };
    });
  }

  @Handle(markWireTransferSuccess)
  receive({ invoiceId, transferNumber, reason }: In<typeof markWireTransferSuccess>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const row = await tx.lock(invoices, { invoiceId, deletedTime: 0 }, 'invoice_not_found');
      domain.assertOpen(row);
      if (row.paymentId === '') throw collection.withoutPayment(row, 'pay');
      const payment = await tx.lock(payments, { paymentId: row.paymentId }, 'payment_not_open');
      const [invoice, gateway] = await Promise.all([withLines(tx, row), getGateway(tx, payment.gatewayId)]);
      if (gateway.gatewayName !== WIRE_TRANSFER) throw new Rejected('gateway_not_wire_transfer');
      const success = { gatewayPaymentId: transferNumber, reason, now: tx.now };
      const [received, paid] = collection.receiveTransfer(payment, invoice, gateway, success);
      tx.save(payments, received);
      tx.save(invoices, paid);
      tx.emit('payment.success', received, paymentView(received));
      tx.emit('invoice.paid', paid, invoiceView(paid, gateway, received));
      tx.log(`Invoice(${invoiceId})`, 'MarkWireTransferSuccess', { invoiceId, userId: paid.userId });
      return {};
    });
  }

  @Handle(clearInvoicePayment)
  clearPayment({ invoiceId }: In<typeof clearInvoicePayment>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const row = await tx.lock(invoices, { invoiceId, deletedTime: 0 }, 'invoice_not_found');
      const { invoice, gateway, payment } = await loadInvoiceParts(tx, row);
      const [cancelled, cleared] = collection.clearPayment(invoice, payment, tx.now);
      tx.save(payments, cancelled);
      tx.save(invoices, cleared);
      tx.emit('payment.cancelled', cancelled, paymentView(cancelled));
      tx.emit('invoice.updated', cleared, invoiceView(cleared, gateway));
      tx.log(`Invoice(${invoiceId})`, 'ClearPayment', { invoiceId, userId: cleared.userId });
      return {};
    });
  }

  @Handle(cancelInvoice)
  cancel({ invoiceId }: In<typeof cancelInvoice>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const row = await tx.lock(invoices, { invoiceId, deletedTime: 0 }, 'invoice_not_found');
      const { invoice, gateway, payment } = await loadInvoiceParts(tx, row);
      const [stopped, cancelled] = collection.voidInvoice(invoice, payment, tx.now);
      if (stopped) {
        tx.save(payments, stopped);
        tx.emit('payment.cancelled', stopped, paymentView(stopped));
      }
      tx.save(invoices, cancelled);
      tx.emit('invoice.cancelled', cancelled, invoiceView(cancelled, gateway, stopped ?? payment));
      tx.log(`Invoice(${invoiceId})`, 'Cancel', { invoiceId, userId: cancelled.userId });
      return {};
    });
  }

  @Handle(deleteInvoice)
  delete({ invoiceId }: In<typeof deleteInvoice>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const row = await tx.lock(invoices, { invoiceId }, 'invoice_not_found');
      if (row.deletedTime !== 0) return {};
      const { invoice, gateway } = await loadInvoiceParts(tx, row);
      const deleted = domain.deleteDraft(invoice, tx.now);
      tx.save(invoices, deleted);
      tx.emit('invoice.deleted', deleted, invoiceView(deleted, gateway));
      tx.log(`Invoice(${invoiceId})`, 'Delete', { invoiceId, userId: deleted.userId });
      return {};
    });
  }
}

const planIds = (lines: readonly { planId: number }[]) => lines.map(({ planId }) => planId);

/** The draft with the input applied. Lines that the input does not replace keep their snapshot of the plan. */
function edit(tx: Tx, invoice: StoredInvoice, input: In<typeof editInvoice>, copies: Plans): StoredInvoice {
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
  return { ...edited, lines: lineRows(edited, input.lines ? planIn(copies) : kept) };
}
