import { Controller } from '@nestjs/common';
import { bizType, createFrom, type In, newPayment, paymentStatus } from '@recur/contracts';
import { type Issue, invalid, Rejected } from '@recur/kernel';
import { type Caller, type CommandReader, Db, Handle, type Tx } from '@recur/platform';
import { type PlanCopies, plansById } from '../customers/catalog.js';
import { assertBuyer, findUser, type UserKey } from '../customers/users.js';
import { chargesItself, usableGateway } from '../gateways/domain/gateway.js';
import { allGateways } from '../gateways/gateway-index.js';
import { tryNow } from '../invoices/collecting.js';
import { openAnotherPayment } from '../invoices/domain/collection.js';
import { amountDue, type DraftLine } from '../invoices/domain/invoice.js';
import type { Payment, PaymentDraft } from '../invoices/domain/payment.js';
import { linesToPrice, saveDraft } from '../invoices/issuing/draft.js';
import { DAYS_UNTIL_DUE, InvoiceFinalizer } from '../invoices/issuing/finalize.js';
import { type Taxation, type TaxedLine, type TaxedSale, taxationOf } from '../invoices/parties.js';
import { payments } from '../invoices/payment-tables.js';
import type { InvoiceState } from '../invoices/state.js';
import { invoices } from '../invoices/tables.js';
import { invoiceAggregate, paymentAggregate } from '../invoices/views.js';
import { assertNotNegative } from '../pricing/price.js';
import type { TaxRate } from '../pricing/tax.js';

type Input = In<typeof newPayment>;

/** The payment type that only reserves the amount. */
const MANUAL_CAPTURE = 'manual_capture';

/** payment/new: a payment for an open invoice, or for a one-time sale, which gets its invoice. */
@Controller()
export class NewPayment {
  constructor(
    private readonly db: Db,
    private readonly finalizer: InvoiceFinalizer,
  ) {}

  @Handle(newPayment)
  create(input: Input, caller: Caller) {
    return this.db.write(caller, async tx => {
      const taken = () => invalid('/externalPaymentId', 'is the externalPaymentId of another payment');
      tx.onConflict('payments_external', taken);
      const payment = input.invoiceId === '' ? await this.sellOnce(tx, input) : await this.payOpen(tx, input);
      const { paymentId, invoiceId, externalPaymentId, link } = payment;
      return { action: {}, externalPaymentId, invoiceId, link, paymentId, status: paymentStatus.created };
    });
  }

  /** Another payment for an open invoice. */
  private async payOpen(tx: Tx, input: Input): Promise<Payment> {
    const where = { invoiceId: input.invoiceId, kind: 'invoice' as const, deletedTime: 0 };
    const invoice = await tx.lock(invoiceAggregate, where, 'invoice_not_found');
    const wanted = input.gatewayId || invoice.gatewayId;
    if (wanted === 0) throw invalid('/gatewayId', 'is required: the invoice has no gateway');
    const gateway = usableGateway(await allGateways(tx), wanted);
    const { gatewayId } = gateway;
    const draft = {
      ...paymentDraftOf(input),
      paymentId: tx.newId('pay_'),
      id: await tx.nextId(payments),
      gatewayId,
      link: this.finalizer.newLink(),
      now: tx.now,
    };
    const [payment, opened] = openAnotherPayment(invoice, invoice.payment, draft);
    refuse([
      ...userMismatches(input, invoice),
      ...currencyMismatches(input, invoice),
      ...totalMismatches(input, invoice),
    ]);
    tx.onConflict('payments_one_live', () => new Rejected('payment_exists'));
    tx.step(invoiceAggregate, { ...opened, gateway, payment }, 'invoice.updated');
    tx.step(paymentAggregate, payment, 'payment.created', logOf(input));
    if (chargesItself(gateway)) await tryNow(tx, opened);
    return payment;
  }

  /** An invoice for a one-time sale, finalized with its payment. */
  private async sellOnce(tx: Tx, input: Input): Promise<Payment> {
    const key = buyerKey(input);
    const [found, all, id, copies] = await Promise.all([
      findUser(tx, key),
      allGateways(tx),
      tx.nextId(invoices),
      plansById(tx, [input.planId]),
    ]);
    const user = assertBuyer(tx, key, found);
    const gateway = usableGateway(all, input.gatewayId);
    const order = withInputPaths(input, () => saleOrder(tx, input, copies));
    const taxation = await taxationFor(tx, order, copies, { userId: user.id, gatewayName: gateway.gatewayName });
    const sale = { id, userId: user.id, bizType: bizType.onetime, createFrom: createFrom.api, invoiceName: input.name };
    const priced = { ...sale, ...order, taxBps: order.taxBps ?? 0, ...(taxation && { rates: taxation.rates }) };
    const { draft } = withInputPaths(input, () => saveDraft(tx, priced, gateway, copies));
    refuse([...itemMismatches(input, draft), ...totalMismatches(input, draft)]);
    if (draft.totalAmount === 0n) throw invalid(lineSource(input), 'comes to 0: there is nothing to pay');
    const { payment } = await this.finalizer.finalize(tx, draft, DAYS_UNTIL_DUE, {
      details: paymentDraftOf(input),
      paymentLog: logOf(input),
      ...(taxation && { taxation }),
    });
    if (!payment) throw new Error(`invoice ${draft.invoiceId} of ${draft.totalAmount} was finalized without a payment`);
    return payment;
  }
}

const logOf = ({ planId }: Input) => ({ log: 'New', ids: planId ? { planId } : {} });

const buyerKey = ({ userId, externalUserId, email }: Input): UserKey =>
  userId === 0 ? { externalUserId, email } : { userId };

/** The input field that names what is sold. */
const lineSource = ({ items, planId }: Input) =>
  items.length > 0 ? '/items' : planId === 0 ? '/totalAmount' : '/planId';

/** The order of a sale. Without a stated percentage, the rate of each line is decided, unless it has one. */
interface SaleOrder {
  currency: string;
  lines: (DraftLine & Pick<TaxedLine, 'rate'>)[];
  taxBps?: number;
}

/** An amount that is stated as a whole is what the user pays: no tax is added to it or separated from it. */
const untaxedSale: TaxRate = {
  category: 'O',
  ratePpm: 0,
  jurisdiction: '',
  source: 'request',
  reason: 'The amount is stated as a whole',
};

/** The decided rates of a sale that states none. */
async function taxationFor(
  tx: Tx,
  { lines, taxBps }: SaleOrder,
  copies: PlanCopies,
  sale: TaxedSale,
): Promise<Taxation | undefined> {
  if (taxBps !== undefined) return undefined;
  const taxed = lines.map(
    ({ planId, rate }): TaxedLine => ({
      plan: copies.get(planId)?.data ?? null,
      ...(rate && { rate }),
    }),
  );
  return taxationOf(tx, sale, taxed);
}

/** Currency, tax rate and lines of the sale: from items, from a plan, or from an amount. */
function saleOrder(tx: CommandReader, input: Input, copies: PlanCopies): SaleOrder {
  const { items, planId, quantity, name, description, totalAmount } = input;
  if (items.length > 0) {
    const currency = input.currency || items.find(item => item.currency)?.currency || '';
    const taxBps = items[0]?.taxPercentage;
    refuse(items.flatMap((item, at) => itemIssues(item, at, currency, taxBps)));
    const lines = items.map(({ unitAmountExcludingTax, amount, ...item }) =>
      unitAmountExcludingTax === undefined
        ? { ...item, planId: 0, unitAmountExcludingTax: amount, quantity: 1 }
        : { ...item, planId: 0, unitAmountExcludingTax },
    );
    const priced = linesToPrice(tx, lines, currency, copies).map((line, at) =>
      items[at]?.unitAmountExcludingTax === undefined ? { ...line, rate: untaxedSale } : line,
    );
    assertNotNegative(priced);
    return { currency, ...(taxBps !== undefined && { taxBps }), lines: priced };
  }
  if (planId === 0) {
    const line = { planId, name, description, quantity: 1, unitAmountExcludingTax: totalAmount };
    const lines = linesToPrice(tx, [line], input.currency, copies).map(one => ({ ...one, rate: untaxedSale }));
    return { currency: input.currency, lines };
  }
  const currency = copies.get(planId)?.data.currency ?? '';
  const lines = linesToPrice(tx, [{ planId, name: '', description, quantity }], currency, copies, () => '/planId');
  if (input.currency && input.currency !== currency) {
    throw invalid('/currency', `is ${input.currency}: the plan is priced in ${currency}`);
  }
  return { currency, lines };
}

/** An invoice has a single currency and tax rate, so items that differ are refused. */
function itemIssues(item: Input['items'][number], at: number, currency: string, taxBps: number | undefined): Issue[] {
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
            `is ${item.taxPercentage ?? 'absent'}: that of the first item is ${taxBps ?? 'absent'}, and an invoice has one`,
          ),
        ]),
  ];
}

/** Renames the paths of pricing issues from lines to the input fields that the lines were made from. */
function withInputPaths<T>(input: Input, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    const source = lineSource(input);
    const inputPath = (path: string) => (source === '/items' ? path.replace('/lines', source) : source);
    const issues = error.issues.map(({ path, message }) => ({
      path: path.startsWith('/lines') ? inputPath(path) : path,
      message,
    }));
    throw new Rejected(error.slug, error.message, issues);
  }
}

/** Amounts that the input states must equal the computed ones. */
const itemMismatches = ({ items }: Input, { lines }: InvoiceState): Issue[] =>
  items.flatMap((item, at) =>
    (['amount', 'amountExcludingTax', 'tax'] as const).flatMap(field => {
      // clients that send every field send 0 for a value that they do not state
      const { [field]: stated = 0 } = item;
      return stated === 0 ? [] : mismatchIssues(`/items/${at}/${field}`, stated, lines[at]?.[field] ?? 0n);
    }),
  );
const totalMismatches = (input: Input, invoice: InvoiceState): Issue[] =>
  input.totalAmount === 0 ? [] : mismatchIssues('/totalAmount', input.totalAmount, amountDue(invoice));
const mismatchIssues = (path: string, stated: number, computed: bigint): Issue[] =>
  BigInt(stated) === computed ? [] : [{ path, message: `is ${stated}, and comes to ${computed}` }];

const userMismatches = ({ userId }: Input, invoice: InvoiceState): Issue[] =>
  userId === 0 || userId === invoice.userId
    ? []
    : [{ path: '/userId', message: `is ${userId}: the invoice is of user ${invoice.userId}` }];

const currencyMismatches = ({ currency }: Input, invoice: InvoiceState): Issue[] =>
  currency === '' || currency === invoice.currency
    ? []
    : [{ path: '/currency', message: `is ${currency}: the invoice is in ${invoice.currency}` }];

function refuse(issues: readonly Issue[]): void {
  if (issues.length > 0) throw new Rejected('invalid_parameters', undefined, issues);
}

/** The merchant's details for the payment. */
function paymentDraftOf(input: Input): Omit<PaymentDraft, 'paymentId' | 'now'> {
  const { externalPaymentId, countryCode, gatewayPaymentType, paymentUIMode, gasPayer, redirectUrl, cancelUrl } = input;
  const { metadata } = input;
  const checkout = { gatewayPaymentType, paymentUIMode, gasPayer, returnUrl: redirectUrl, cancelUrl, metadata };
  const manualCapture = input.paymentType === MANUAL_CAPTURE;
  return { externalPaymentId, countryCode, checkout, manualCapture };
}
