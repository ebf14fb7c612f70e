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
import { invoicesOf } from './details.js';
import * as domain from './domain/invoice.js';
import { callOff, clear, receiveTransfer, withoutPayment } from './domain/payment.js';
import {
  buyer,
  chooseGateway,
  findUser,
  type Plans,
  planIn,
  plansOf,
  rowsOf,
  type StoredInvoice,
  saveDraft,
  sold,
  withLines,
} from './drafting.js';
import { WIRE_TRANSFER } from './gateways.js';
import { DAYS_UNTIL_DUE, Opening } from './opening.js';
import { gateways, type InvoiceRow, invoiceLines, invoices, payments } from './tables.js';
import { invoiceView, paymentView } from './views.js';

@Controller()
export class Invoices {
  constructor(
    private readonly db: Db,
    private readonly opening: Opening,
  ) {}

  @Handle(newInvoice)
  create(input: In<typeof newInvoice>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { userId, currency } = input;
      const [found, merchantGateways, id, copies] = await Promise.all([
        findUser(tx, { userId }),
        tx.all(gateways, {}),
        tx.nextId(invoices),
        plansOf(tx, input.lines),
      ]);
      const user = buyer(tx, { userId }, found);
      const gateway = chooseGateway(merchantGateways, input.gatewayId, user.gatewayId);
      const given = {
        id,
        userId: user.id,
        bizType: bizType.manualInvoice,
        createFrom: createFrom.admin,
        invoiceName: input.name,
        currency,
        taxBps: input.taxPercentage,
        lines: sold(tx, input.lines, currency, copies),
      };
      const { draft, view } = saveDraft(tx, given, gateway, copies);
      tx.log(`Invoice(${draft.invoiceId})`, 'New', { invoiceId: draft.invoiceId, userId: user.id });
      if (!input.finish) return { invoice: view };
      const opened = await this.opening.open(tx, draft, gateway, DAYS_UNTIL_DUE);
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
        tx.all(gateways, {}),
        plansOf(tx, input.lines ?? []),
      ]);
      domain.checkDraft(invoice);
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
      const opened = finish ? await this.opening.open(tx, edited, chosen, DAYS_UNTIL_DUE) : undefined;
      if (changed || finish)
        tx.log(`Invoice(${invoiceId})`, changed ? 'Edit' : 'Finish', { invoiceId, userId: invoice.userId });
      return { invoice: opened?.view ?? view };
    });
  }

  @Handle(finishInvoice)
  finish({ invoiceId, daysUtilDue }: In<typeof finishInvoice>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const row = await tx.lock(invoices, { invoiceId, deletedTime: 0 }, 'invoice_not_found');
      const [invoice, merchantGateways] = await Promise.all([withLines(tx, row), tx.all(gateways, {})]);
      const gateway = chooseGateway(merchantGateways, 0, invoice.gatewayId);
      const { view } = await this.opening.open(tx, invoice, gateway, daysUtilDue);
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
      domain.checkOpen(row);
      if (row.paymentId === '') throw withoutPayment(row, 'pay');
      const payment = await tx.lock(payments, { paymentId: row.paymentId }, 'payment_not_open');
      const [invoice, gateway] = await Promise.all([
        withLines(tx, row),
        tx.get(gateways, { gatewayId: payment.gatewayId }, 'gateway_not_found'),
      ]);
      if (gateway.gatewayName !== WIRE_TRANSFER) throw new Rejected('gateway_not_wire_transfer');
      const success = { gatewayPaymentId: transferNumber, reason, now: tx.now };
      const [received, paid] = receiveTransfer(payment, invoice, gateway, success);
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
      const { invoice, gateway, payment } = await whole(tx, row);
      const [cancelled, cleared] = clear(invoice, payment, tx.now);
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
      const { invoice, gateway, payment } = await whole(tx, row);
      const [stopped, cancelled] = callOff(invoice, payment, tx.now);
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
      const { invoice, gateway } = await whole(tx, row);
      const deleted = domain.remove(invoice, tx.now);
      tx.save(invoices, deleted);
      tx.emit('invoice.deleted', deleted, invoiceView(deleted, gateway));
      tx.log(`Invoice(${invoiceId})`, 'Delete', { invoiceId, userId: deleted.userId });
      return {};
    });
  }
}

/** The draft as the input wants it; lines that it does not replace keep their plans, as these were. */
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
    lines: input.lines ? sold(tx, input.lines, currency, copies) : invoice.lines,
  };
  const edited = domain.edit(invoice, given, tx.now);
  const kept = (_: domain.InvoiceLine, at: number) => invoice.lines[at]?.plan ?? null;
  return { ...edited, lines: rowsOf(edited, input.lines ? planIn(copies) : kept) };
}

/** An invoice that is locked, with its lines and its gateway, and its current payment, which is locked after it. */
export async function whole(tx: Tx, row: InvoiceRow) {
  const { gatewayId, paymentId } = row;
  const [payment, invoice, gateway] = await Promise.all([
    paymentId ? tx.lockIfAny(payments, { paymentId }) : undefined,
    withLines(tx, row),
    tx.find(gateways, { gatewayId }),
  ]);
  return { payment, invoice, gateway };
}
