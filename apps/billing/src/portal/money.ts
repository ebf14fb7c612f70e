import { Controller } from '@nestjs/common';
import {
  type In,
  listCreditAccounts,
  listCreditTransactions,
  portalCreditDetail,
  portalInvoiceOpen,
  portalInvoicePay,
  portalInvoicePayLink,
  portalMethodDelete,
  portalMethodList,
  portalMethodNew,
  portalMethodSetDefault,
  portalUsageList,
  portalWireSent,
} from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { invoiceOfLink, PayInvoice } from '../collection/pay.js';
import { WireTransfers } from '../collection/wire-transfers.js';
import { CreditAccounts } from '../credits/accounts.js';
import { usualLook } from '../customers/catalog.js';
import type { UserAtGateway } from '../gateways/chargeable.js';
import { Gateways } from '../gateways/gateways.js';
import {
  keepAnswer,
  makeDefault,
  methodsOfUser,
  PaymentMethods,
  type SavedAnswer,
} from '../gateways/payment-methods.js';
import { assertOpen } from '../invoices/domain/invoice.js';
import { InvoiceOutcomes } from '../invoices/outcomes.js';
import type { InvoiceState } from '../invoices/state.js';
import { assertOwnSubscription } from '../subscriptions/find.js';
import { UserUsage } from '../usage/user-usage.js';
import { callingUser, Handlers } from './handlers.js';
import { ShownInvoices } from './invoices.js';

/** Changes of credit accounts that are shown. */
const CHANGES = 100;

/** Payment methods, usage and credits of the calling user. */
@Controller()
export class OwnMoney {
  constructor(
    private readonly db: Db,
    private readonly handlers: Handlers,
  ) {}

  @Handle(portalMethodList)
  methodList(_input: In<typeof portalMethodList>, caller: Caller) {
    return this.db.read(caller, async reader => ({ methods: await methodsOfUser(reader, callingUser(caller)) }));
  }

  @Handle(portalMethodNew)
  newMethod(input: In<typeof portalMethodNew>, caller: Caller) {
    return this.handlers.of(PaymentMethods).create({ ...input, userId: callingUser(caller) }, caller);
  }

  @Handle(portalMethodDelete)
  deleteMethod(which: In<typeof portalMethodDelete>, caller: Caller) {
    return this.handlers.of(PaymentMethods).remove({ ...which, userId: callingUser(caller) }, caller);
  }

  @Handle(portalMethodSetDefault)
  setDefaultMethod({ gatewayId, paymentMethodId: methodId }: In<typeof portalMethodSetDefault>, caller: Caller) {
    const userId = callingUser(caller);
    return this.db.write(caller, async tx => {
      if (await makeDefault(tx, { gatewayId, userId, methodId })) tx.log(`User(${userId})`, 'SetDefaultPaymentMethod');
      return {};
    });
  }

  @Handle(portalUsageList)
  async usage({ subscriptionId }: In<typeof portalUsageList>, caller: Caller) {
    await this.db.read(caller, reader => assertOwnSubscription(reader, subscriptionId, callingUser(caller)));
    return portalUsageList.output.parse(await this.handlers.of(UserUsage).ofSubscription({ subscriptionId }, caller));
  }

  @Handle(portalCreditDetail)
  async credits(_input: In<typeof portalCreditDetail>, caller: Caller) {
    const mine = { userId: callingUser(caller), count: CHANGES };
    const accounts = this.handlers.of(CreditAccounts);
    const [{ creditAccounts }, main, promo] = await Promise.all([
      accounts.list(listCreditAccounts.input.parse(mine), caller),
      accounts.transactions(listCreditTransactions.input.parse({ ...mine, accountType: 1 }), caller),
      accounts.transactions(listCreditTransactions.input.parse({ ...mine, accountType: 2 }), caller),
    ]);
    const creditTransactions = [...main.creditTransactions, ...promo.creditTransactions]
      .sort((a, b) => b.createTime - a.createTime || b.id - a.id)
      .slice(0, CHANGES);
    return portalCreditDetail.output.parse({ creditAccounts, creditTransactions });
  }
}

type PortalMeans = Omit<In<typeof portalInvoicePay>, 'invoiceId'>;

/** Open invoices are paid by their users, and by whoever has the payment link. */
@Controller()
export class PortalPayments {
  constructor(
    private readonly db: Db,
    private readonly handlers: Handlers,
    private readonly invoices: ShownInvoices,
    private readonly paying: PayInvoice,
    private readonly transfers: WireTransfers,
    private readonly outcomes: InvoiceOutcomes,
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
    const invoice = await this.db.read(caller, reader =>
      this.invoices.ownState(reader, invoiceId, callingUser(caller)),
    );
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
      await this.invoices.ownState(tx, invoiceId, callingUser(caller));
      await this.transfers.markSent(tx, await this.outcomes.lock(tx, { invoiceId }, 'invoice_not_found'));
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
  private async paid(invoice: InvoiceState, { gatewayId, paymentMethodId, data }: PortalMeans, caller: Caller) {
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
