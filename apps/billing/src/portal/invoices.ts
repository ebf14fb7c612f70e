import { Controller, Injectable } from '@nestjs/common';
import {
  type In,
  type Invoice,
  invoiceStatus,
  listInvoices,
  type PortalTransfer,
  portalInvoiceDetail,
  portalInvoiceList,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Reader } from '@recur/platform';
import { sepaPayload } from '../documents/sepa.js';
import { GatewayCredentials } from '../gateways/credentials.js';
import { WIRE_TRANSFER } from '../gateways/domain/gateway.js';
import { findGateway } from '../gateways/gateway-index.js';
import { bankView } from '../gateways/views.js';
import { collectingOf, invoiceWithNotes } from '../invoices/lists/details.js';
import { InvoiceList } from '../invoices/lists/invoice-list.js';
import { explanationOfNote } from '../invoices/operations/credit-notes.js';
import type { InvoiceState } from '../invoices/state.js';
import { explanationView, invoiceAggregate } from '../invoices/views.js';
import { timeZoneOf } from '../subscriptions/find.js';
import { callingUser, Handlers } from './handlers.js';

const { processing, paid, failed, cancelled, reversed } = invoiceStatus;
/** All but drafts. */
const finishedStatuses = [processing, paid, failed, cancelled, reversed];

/** Finished invoices as their users see them. */
@Injectable()
export class ShownInvoices {
  constructor(private readonly answers: GatewayCredentials) {}

  /** A finished invoice. Throws Rejected `invoice_not_found`, for a draft too. */
  async state(reader: Reader, invoiceId: string): Promise<InvoiceState> {
    const where = { invoiceId, kind: 'invoice' as const, deletedTime: 0 };
    const invoice = await reader.get(invoiceAggregate, where, 'invoice_not_found');
    if (invoice.status === 'pending') throw new Rejected('invoice_not_found');
    return invoice;
  }

  /** The user's finished invoice; another's is as unknown. */
  async ownState(reader: Reader, invoiceId: string, userId: number): Promise<InvoiceState> {
    const invoice = await this.state(reader, invoiceId);
    if (invoice.userId !== userId) throw new Rejected('invoice_not_found');
    return invoice;
  }

  /** The invoice with its explanation, credit notes and how it is paid. */
  async shown(reader: Reader, state: InvoiceState) {
    const [{ invoice, creditNotes }, collecting, transfer, zone] = await Promise.all([
      invoiceWithNotes(reader, state.invoiceId),
      collectingOf(reader, state),
      this.transferOf(reader, state),
      state.subscriptionId === '' ? undefined : timeZoneOf(reader, state.subscriptionId),
    ]);
    return {
      invoice,
      creditNotes: creditNotes.filter(({ number }) => number !== ''),
      explanation: explanationView(explanationOfNote(state)),
      collecting,
      transfer: transfer && withQr(transfer, invoice),
      timeZone: zone || state.seller?.timeZone || '',
    };
  }

  /** The account that an open invoice awaits a transfer on; null for none. */
  private async transferOf(reader: Reader, { status, gatewayId, currency, number }: InvoiceState) {
    if (status !== 'processing') return null;
    const gateway = await findGateway(reader, gatewayId);
    if (gateway?.gatewayName !== WIRE_TRANSFER) return null;
    return { bank: bankView(this.answers.bank(gateway)), reference: number, currency };
  }
}

/** Invoices of the calling user. */
@Controller()
export class OwnInvoices {
  constructor(
    private readonly db: Db,
    private readonly handlers: Handlers,
    private readonly invoices: ShownInvoices,
  ) {}

  @Handle(portalInvoiceList)
  async list(input: In<typeof portalInvoiceList>, caller: Caller) {
    const asked = listInvoices.input.parse({ ...input, userId: callingUser(caller), status: finishedStatuses });
    return portalInvoiceList.output.parse(await this.handlers.of(InvoiceList).list(asked, caller));
  }

  @Handle(portalInvoiceDetail)
  detail({ invoiceId }: In<typeof portalInvoiceDetail>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const invoice = await this.invoices.ownState(reader, invoiceId, callingUser(caller));
      return portalInvoiceDetail.output.parse(await this.invoices.shown(reader, invoice));
    });
  }
}

function withQr(transfer: Omit<PortalTransfer, 'amount' | 'qr'>, { amountDue }: Invoice): PortalTransfer {
  const { bank, currency, reference } = transfer;
  const { accountHolder: name, iban, bic } = bank;
  const qr = sepaPayload({ name, iban, bic, currency, amount: BigInt(amountDue), reference });
  return { ...transfer, amount: amountDue, qr: qr ?? '' };
}
