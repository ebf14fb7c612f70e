import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import {
  bizType,
  cancelInvoice,
  clearInvoicePayment,
  createFrom,
  deleteInvoice,
  finishInvoice,
  type In,
  invoiceDetail,
  markWireTransferSuccess,
  newInvoice,
  planStatus,
  userStatus,
} from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, CONFIG, Db, Handle, type Reader, type Tx } from '@recur/platform';
import type { Config } from './config.js';
import * as domain from './domain/invoice.js';
import { callOff, clear, open, receiveTransfer } from './domain/payment.js';
import { WIRE_TRANSFER } from './gateways.js';
import {
  expiries,
  type Gateway,
  gateways,
  type InvoiceRow,
  invoiceLines,
  invoices,
  type LineRow,
  type PlanCopy,
  payments,
  plans,
  users,
} from './tables.js';
import { invoiceView, paymentView } from './views.js';

/** An invoice with its lines as they are stored. */
export type StoredInvoice = Omit<domain.Invoice, 'lines'> & { lines: LineRow[] };

const DAYS_UNTIL_DUE = 3;

@Injectable()
export class Invoices {
  constructor(
    private readonly db: Db,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Handle(newInvoice)
  create(input: In<typeof newInvoice>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const planIds = [...new Set(input.lines.map(line => line.planId).filter(id => id !== 0))];
      const [user, merchantGateways, id, ...planCopies] = await Promise.all([
        tx.find(users, { id: input.userId }),
        tx.all(gateways, {}),
        tx.nextId(invoices),
        ...planIds.map(planId => tx.find(plans, { id: planId })),
      ]);
      if (!user) throw tx.stale('users', input.userId, new Rejected('user_not_found'));
      if (user.status !== userStatus.active) throw tx.stale('users', input.userId, new Rejected('user_inactive'));
      const gateway = chooseGateway(merchantGateways, input.gatewayId, user.gatewayId);
      const byId = new Map(planIds.map((planId, at) => [planId, planCopies[at]]));
      const sold = input.lines.map((line, at) => this.line(tx, line, at, input.currency, byId));
      const invoiceId = tx.newId('in_');
      const drafted = domain.draft({
        id,
        invoiceId,
        merchantId: tx.merchantId,
        userId: user.id,
        bizType: bizType.manualInvoice,
        createFrom: createFrom.admin,
        invoiceName: input.name,
        currency: input.currency,
        taxBps: input.taxPercentage,
        gatewayId: gateway?.gatewayId ?? 0,
        lines: sold,
        now: tx.now,
      });
      const lines = drafted.lines.map(
        (line, at): LineRow => ({
          ...line,
          merchantId: tx.merchantId,
          invoiceId,
          lineNo: at + 1,
          plan: byId.get(line.planId)?.data ?? null,
        }),
      );
      for (const line of lines) tx.save(invoiceLines, line);
      const draft = { ...drafted, lines };
      const ids = { invoiceId, userId: user.id };
      tx.log(`Invoice(${invoiceId})`, 'New', ids);
      tx.save(invoices, draft);
      const view = invoiceView(draft, gateway);
      tx.emit('invoice.created', draft, view);
      return { invoice: input.finish ? await this.finishIn(tx, draft, gateway, DAYS_UNTIL_DUE) : view };
    });
  }

  @Handle(finishInvoice)
  finish({ invoiceId, daysUtilDue }: In<typeof finishInvoice>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const row = await tx.lock(invoices, { invoiceId, deletedTime: 0 }, 'invoice_not_found');
      const [invoice, merchantGateways] = await Promise.all([withLines(tx, row), tx.all(gateways, {})]);
      const gateway = chooseGateway(merchantGateways, 0, invoice.gatewayId);
      const view = await this.finishIn(tx, invoice, gateway, daysUtilDue);
      tx.log(`Invoice(${invoiceId})`, 'Finish', { invoiceId, userId: invoice.userId });
      return { invoice: view };
    });
  }

  @Handle(invoiceDetail)
  detail({ invoiceId }: In<typeof invoiceDetail>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const row = await reader.get(invoices, { invoiceId }, 'invoice_not_found');
      const [invoice, gateway, payment, user] = await Promise.all([
        withLines(reader, row),
        reader.find(gateways, { gatewayId: row.gatewayId }),
        reader.find(payments, { paymentId: row.paymentId }),
        reader.find(users, { id: row.userId }),
      ]);
      const more = { payment: payment ? paymentView(payment) : null, userAccount: user?.data ?? null };
      return { creditNotes: [], invoice: invoiceView(invoice, gateway, more) };
    });
  }

  @Handle(markWireTransferSuccess)
  receive({ invoiceId, transferNumber, reason }: In<typeof markWireTransferSuccess>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const row = await tx.lock(invoices, { invoiceId, deletedTime: 0 }, 'invoice_not_found');
      domain.checkOpen(row);
      if (row.paymentId === '') throw new Rejected('invoice_without_payment');
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
      tx.emit('invoice.paid', paid, invoiceView(paid, gateway));
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
      tx.emit('invoice.cancelled', cancelled, invoiceView(cancelled, gateway));
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

  /** Opens a draft within a transaction: number, link, payment. Answers its view. */
  private async finishIn(tx: Tx, draft: StoredInvoice, gateway: Gateway | undefined, daysUntilDue: number) {
    const number = await nextNumber(tx);
    const finished = domain.finish(draft, {
      number,
      gatewayId: gateway?.gatewayId ?? 0,
      link: `${this.config.PORTAL_BASE}/invoice/${randomBytes(32).toString('base64url')}`,
      daysUntilDue,
      now: tx.now,
    });
    if (finished.status === 'paid') {
      const view = invoiceView(finished, gateway);
      tx.save(invoices, finished);
      tx.emit('invoice.paid', finished, view);
      return view;
    }
    const [payment, opened] = open(finished, { paymentId: tx.newId('pay_'), now: tx.now });
    const view = invoiceView(opened, gateway);
    tx.save(invoices, opened);
    tx.save(payments, payment);
    tx.save(expiries, { dueTime: domain.expiryTime(opened), merchantId: tx.merchantId, invoiceId: opened.invoiceId });
    tx.emit('invoice.process', opened, view);
    tx.emit('payment.created', payment, paymentView(payment));
    return view;
  }

  private line(
    tx: Tx,
    { planId, name, description, quantity, unitAmountExcludingTax = 0 }: In<typeof newInvoice>['lines'][number],
    at: number,
    currency: string,
    copies: ReadonlyMap<number, PlanCopy | undefined>,
  ): domain.DraftLine {
    if (planId === 0) {
      return { planId, name, description, quantity, unitAmountExcludingTax: BigInt(unitAmountExcludingTax) };
    }
    const copy = copies.get(planId);
    if (!copy) throw tx.stale('plans', planId, new Rejected('plan_not_found'));
    if (copy.status !== planStatus.active) throw tx.stale('plans', planId, new Rejected('plan_not_active'));
    const plan = copy.data;
    if (plan.currency !== currency) {
      throw invalid(`/lines/${at}/planId`, `The plan is priced in ${plan.currency}, the invoice is in ${currency}`);
    }
    return {
      planId,
      name: plan.planName,
      description: description || plan.description,
      quantity,
      unitAmountExcludingTax: BigInt(plan.amount),
    };
  }
}

/** The gateway that was asked for; else the user's; else the merchant's default; none where there is none. */
function chooseGateway(all: readonly Gateway[], asked: number, usual: number): Gateway | undefined {
  if (asked !== 0) {
    const gateway = all.find(({ gatewayId }) => gatewayId === asked);
    if (!gateway) throw new Rejected('gateway_not_found');
    if (gateway.archived) throw new Rejected('gateway_archived');
    return gateway;
  }
  const usable = all.filter(({ archived }) => !archived);
  return usable.find(({ gatewayId }) => gatewayId === usual) ?? usable.find(({ isDefault }) => isDefault);
}

export async function withLines(reader: Reader, row: InvoiceRow): Promise<StoredInvoice> {
  const lines = await reader.all(invoiceLines, { invoiceId: row.invoiceId }, 'order by line_no');
  return { ...row, lines };
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

/** The merchant's next invoice number; its row stays locked until the commit, so a rollback leaves no gap. */
async function nextNumber(tx: Tx): Promise<string> {
  const [row] = await tx.run(
    `insert into numberings (merchant_id, last_number) values ($1, 1)
     on conflict (merchant_id) do update set last_number = numberings.last_number + 1 returning last_number`,
    [tx.merchantId],
  );
  return String(row?.last_number);
}
