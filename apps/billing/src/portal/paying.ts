import { Controller } from '@nestjs/common';
import { type In, portalInvoiceOpen, portalInvoicePay, portalInvoicePayLink, portalWireSent } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { usualLook } from '../customers/checkouts.js';
import type { UserAtGateway } from '../gateways/chargeable.js';
import { Gateways } from '../gateways/gateways.js';
import { keepAnswer, makeDefault, PaymentMethods, type SavedAnswer } from '../gateways/payment-methods.js';
import { assertOpen } from '../invoicing/domain/invoice.js';
import { InvoiceOwners } from '../invoicing/owners.js';
import { invoiceOfLink } from '../invoicing/paying/links.js';
import { InvoicePaying } from '../invoicing/paying/pay.js';
import { WireTransfers } from '../invoicing/payments/wire-transfers.js';
import type { InvoiceState } from '../invoicing/state.js';
import { userOf } from './caller.js';
import { Handlers } from './handlers.js';
import { ShownInvoices } from './shown-invoice.js';

type Means = Omit<In<typeof portalInvoicePay>, 'invoiceId'>;

/** Open invoices are paid by their users, and by whoever has the payment link. */
@Controller()
export class Paying {
  constructor(
    private readonly db: Db,
    private readonly handlers: Handlers,
    private readonly invoices: ShownInvoices,
    private readonly paying: InvoicePaying,
    private readonly transfers: WireTransfers,
    private readonly owners: InvoiceOwners,
  ) {}

  @Handle(portalInvoiceOpen)
  async open({ token }: In<typeof portalInvoiceOpen>, caller: Caller) {
    const { invoiceId, merchantId } = await this.behind(token);
    const as = { ...caller, merchantId };
    const gateways = await this.handlers.of(Gateways).offered(as);
    return this.db.read(as, async reader => {
      const [checkout, state] = await Promise.all([usualLook(reader), this.invoices.state(reader, invoiceId)]);
      return portalInvoiceOpen.output.parse({ ...(await this.invoices.shown(reader, state)), gateways, checkout });
    });
  }

  @Handle(portalInvoicePay)
  async pay({ invoiceId, ...means }: In<typeof portalInvoicePay>, caller: Caller) {
    const invoice = await this.db.read(caller, reader => this.invoices.ownState(reader, invoiceId, userOf(caller)));
    return this.paid(invoice, means, caller);
  }

  @Handle(portalInvoicePayLink)
  async payByLink({ token, ...means }: In<typeof portalInvoicePayLink>, caller: Caller) {
    const { invoiceId, merchantId } = await this.behind(token);
    const invoice = await this.db.read({ ...caller, merchantId }, reader => this.invoices.state(reader, invoiceId));
    return this.paid(invoice, { ...means, paymentMethodId: '' }, actingAs(caller, invoice));
  }

  @Handle(portalWireSent)
  wireSent({ invoiceId }: In<typeof portalWireSent>, caller: Caller) {
    return this.db.write(caller, async tx => {
      await this.invoices.ownState(tx, invoiceId, userOf(caller));
      await this.transfers.markSent(tx, await this.owners.lock(tx, { invoiceId }, 'invoice_not_found'));
      return {};
    });
  }

  private async behind(token: string): Promise<{ merchantId: number; invoiceId: string }> {
    const found = await invoiceOfLink(this.db, token);
    if (!found) throw new Rejected('invoice_not_found');
    return found;
  }

  /**
   * The gateway saves a new method outside of the transaction that pays, which keeps it too: a method kept before would
   * have the invoice charged by itself meanwhile.
   */
  private async paid(invoice: InvoiceState, { gatewayId, paymentMethodId, data }: Means, caller: Caller) {
    await this.db.replay(caller);
    const { invoiceId, userId } = invoice;
    const at = { gatewayId, userId };
    if (data) assertOpen(invoice);
    const answer = data && (await this.handlers.of(PaymentMethods).saved(at, data, caller));
    return this.db.write(caller, async tx => {
      if (answer?.is === 'page') {
        const { isNew } = await keepAnswer(tx, at, answer);
        if (isNew) tx.log(`User(${userId})`, 'NewPaymentMethod', { userId });
        return { paymentId: '', url: answer.url };
      }
      const method = () => preferred(tx, at, answer ?? paymentMethodId);
      const { paymentId } = await this.paying.pay(tx, invoiceId, { gatewayId, method });
      return { paymentId, url: '' };
    });
  }
}

/** The id of the method to charge, '' for the default one: another one, new or named by its id, becomes the default. */
async function preferred(tx: Tx, at: UserAtGateway, chosen: SavedAnswer | string): Promise<string> {
  if (typeof chosen !== 'string') return (await keepAnswer(tx, at, chosen, { asDefault: true })).method.methodId;
  if (chosen !== '') await makeDefault(tx, { ...at, methodId: chosen });
  return chosen;
}

/** The caller as the user of the invoice. Its Idempotency-Key is apart from those of the merchant. */
const actingAs = (caller: Caller, { merchantId, userId, buyer }: InvoiceState): Caller => ({
  ...caller,
  merchantId,
  actor: { kind: 'user', id: String(userId), display: buyer?.email ?? '' },
  ...(caller.idempotencyKey !== undefined && { idempotencyKey: `user ${userId} ${caller.idempotencyKey}` }),
});
