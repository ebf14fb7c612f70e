import { Controller } from '@nestjs/common';
import { bizType, createFrom, type In, newPayment, paymentStatus } from '@recur/contracts';
import { type Issue, invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { type Opening as OpeningOf, openAnother, type Payment } from './domain/payment.js';
import {
  buyer,
  findUser,
  type Plans,
  plansOf,
  type StoredInvoice,
  saveDraft,
  sold,
  usableGateway,
  type Who,
} from './drafting.js';
import { whole } from './invoices.js';
import { DAYS_UNTIL_DUE, Opening } from './opening.js';
import { gateways, invoices, payments } from './tables.js';
import { invoiceView, paymentView } from './views.js';

type Input = In<typeof newPayment>;

/** Payments that a merchant asks for: of an invoice that is open, or of something that is sold once. */
@Controller()
export class Purchases {
  constructor(
    private readonly db: Db,
    private readonly opening: Opening,
  ) {}

  @Handle(newPayment)
  create(input: Input, caller: Caller) {
    return this.db.write(caller, async tx => {
      const taken = () => invalid('/externalPaymentId', 'is the externalPaymentId of another payment');
      tx.onConflict('payments_external', taken);
      const payment = input.invoiceId === '' ? await this.purchase(tx, input) : await this.payOpen(tx, input);
      const { paymentId, invoiceId, externalPaymentId, link, userId } = payment;
      tx.log(`Payment(${paymentId})`, 'New', { invoiceId, userId, ...(input.planId && { planId: input.planId }) });
      return { action: {}, externalPaymentId, invoiceId, link, paymentId, status: paymentStatus.created };
    });
  }

  /** Another payment for an open invoice. */
  private async payOpen(tx: Tx, input: Input): Promise<Payment> {
    const row = await tx.lock(invoices, { invoiceId: input.invoiceId, deletedTime: 0 }, 'invoice_not_found');
    const [{ invoice, payment: current }, all] = await Promise.all([whole(tx, row), tx.all(gateways, {})]);
    const gateway = usableGateway(all, input.gatewayId);
    const { gatewayId } = gateway;
    const opening = {
      ...askedOf(input),
      paymentId: tx.newId('pay_'),
      gatewayId,
      link: this.opening.newLink(),
      now: tx.now,
    };
    const [payment, opened] = openAnother(invoice, current, opening);
    refuse([...userOf(input, invoice), ...currencyOf(input, invoice), ...totalOf(input, invoice)]);
    tx.onConflict('payments_one_live', () => new Rejected('payment_exists'));
    tx.save(invoices, opened);
    tx.save(payments, payment);
    tx.emit('invoice.updated', opened, invoiceView(opened, gateway, payment));
    tx.emit('payment.created', payment, paymentView(payment));
    return payment;
  }

  /** An invoice for something that is sold once, opened with its payment. */
  private async purchase(tx: Tx, input: Input): Promise<Payment> {
    const who = whoOf(input);
    const [found, all, id, copies] = await Promise.all([
      findUser(tx, who),
      tx.all(gateways, {}),
      tx.nextId(invoices),
      plansOf(tx, [input]),
    ]);
    const user = buyer(tx, who, found);
    const gateway = usableGateway(all, input.gatewayId);
    const { draft } = renamed(input, () =>
      saveDraft(
        tx,
        {
          id,
          userId: user.id,
          bizType: bizType.onetime,
          createFrom: createFrom.api,
          invoiceName: input.name,
          ...orderOf(tx, input, copies),
        },
        gateway,
        copies,
      ),
    );
    refuse([...itemsOf(input, draft), ...totalOf(input, draft)]);
    if (draft.totalAmount === 0n) throw invalid(sourceOf(input), 'comes to 0: there is nothing to pay');
    const { payment } = await this.opening.open(tx, draft, gateway, DAYS_UNTIL_DUE, askedOf(input));
    if (!payment) throw new Error(`invoice ${draft.invoiceId} of ${draft.totalAmount} was opened without a payment`);
    return payment;
  }
}

const whoOf = ({ userId, externalUserId, email }: Input): Who =>
  userId === 0 ? { externalUserId, email } : { userId };

/** The field that says what is sold. */
const sourceOf = ({ items, planId }: Input) =>
  items.length > 0 ? '/items' : planId === 0 ? '/totalAmount' : '/planId';

/** What is sold, in which currency, at which tax: by items, by a plan, or for an amount. */
function orderOf(tx: Tx, input: Input, copies: Plans) {
  const { items, planId, quantity, name, description, totalAmount } = input;
  if (items.length > 0) {
    const currency = input.currency || items.find(item => item.currency)?.currency || '';
    const taxBps = items[0]?.taxPercentage ?? 0;
    refuse(items.flatMap((item, at) => oddities(item, at, currency, taxBps)));
    const lines = items.map(({ unitAmountExcludingTax, amount, ...item }) =>
      unitAmountExcludingTax === undefined
        ? { ...item, planId: 0, unitAmountExcludingTax: amount, quantity: 1 }
        : { ...item, planId: 0, unitAmountExcludingTax },
    );
    return { currency, taxBps, lines: sold(tx, lines, currency, copies) };
  }
  if (planId === 0) {
    const line = { planId, name, description, quantity: 1, unitAmountExcludingTax: totalAmount };
    return { currency: input.currency, taxBps: 0, lines: sold(tx, [line], input.currency, copies) };
  }
  const currency = copies.get(planId)?.data.currency ?? '';
  const lines = sold(tx, [{ planId, name: '', description, quantity }], currency, copies, () => '/planId');
  if (input.currency && input.currency !== currency) {
    throw invalid('/currency', `is ${input.currency}: the plan is priced in ${currency}`);
  }
  return { currency, taxBps: 0, lines };
}

/** One invoice has one currency and one tax. */
function oddities(item: Input['items'][number], at: number, currency: string, taxBps: number): Issue[] {
  const issue = (field: string, message: string): Issue => ({ path: `/items/${at}/${field}`, message });
  return [
    ...(currency === '' ? [issue('currency', 'is required where the payment has no currency')] : []),
    ...(item.currency && item.currency !== currency
      ? [issue('currency', `is ${item.currency}: the payment is in ${currency}`)]
      : []),
    ...(item.taxPercentage === taxBps
      ? []
      : [
          issue(
            'taxPercentage',
            `is ${item.taxPercentage}: that of the first item is ${taxBps}, and an invoice has one`,
          ),
        ]),
  ];
}

/** What pricing has to say of lines, told of the fields that they were made from. */
function renamed<T>(input: Input, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    const source = sourceOf(input);
    const name = (path: string) => (source === '/items' ? path.replace('/lines', source) : source);
    const issues = error.issues.map(({ path, message }) => ({
      path: path.startsWith('/lines') ? name(path) : path,
      message,
    }));
    throw new Rejected(error.slug, error.message, issues);
  }
}

/** Amounts that were said beforehand have to be what recur computes. */
const itemsOf = ({ items }: Input, { lines }: StoredInvoice): Issue[] =>
  items.flatMap((item, at) =>
    (['amount', 'amountExcludingTax', 'tax'] as const).flatMap(field => {
      // clients that send every field send 0 where they say nothing
      const { [field]: said = 0 } = item;
      return said === 0 ? [] : differing(`/items/${at}/${field}`, said, lines[at]?.[field] ?? 0n);
    }),
  );
const totalOf = (input: Input, invoice: StoredInvoice): Issue[] =>
  input.totalAmount === 0 ? [] : differing('/totalAmount', input.totalAmount, invoice.totalAmount);
const differing = (path: string, said: number, computed: bigint): Issue[] =>
  BigInt(said) === computed ? [] : [{ path, message: `is ${said}, and comes to ${computed}` }];

const userOf = ({ userId }: Input, invoice: StoredInvoice): Issue[] =>
  userId === 0 || userId === invoice.userId
    ? []
    : [{ path: '/userId', message: `is ${userId}: the invoice is of user ${invoice.userId}` }];

const currencyOf = ({ currency }: Input, invoice: StoredInvoice): Issue[] =>
  currency === '' || currency === invoice.currency
    ? []
    : [{ path: '/currency', message: `is ${currency}: the invoice is in ${invoice.currency}` }];

function refuse(issues: readonly Issue[]): void {
  if (issues.length > 0) throw new Rejected('invalid_parameters', undefined, issues);
}

/** What the merchant said about the payment itself. */
function askedOf(input: Input): Omit<OpeningOf, 'paymentId' | 'now'> {
  const { externalPaymentId, countryCode, gatewayPaymentType, paymentUIMode, gasPayer, redirectUrl, cancelUrl } = input;
  const { metadata } = input;
  const checkout = { gatewayPaymentType, paymentUIMode, gasPayer, returnUrl: redirectUrl, cancelUrl, metadata };
  return { externalPaymentId, countryCode, checkout };
}
