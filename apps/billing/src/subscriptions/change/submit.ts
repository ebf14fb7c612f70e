import { Controller } from '@nestjs/common';
import { createFrom, type In, type Invoice, invoiceStatus, submitChange } from '@recur/contracts';
import { invalid, Rejected, sum } from '@recur/kernel';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import * as discounts from '../../discounts/redemption.js';
import { WIRE_TRANSFER } from '../../gateways/domain/gateway.js';
import { InvoiceClosing } from '../../invoices/close.js';
import { assertDecided } from '../../invoices/domain/charge.js';
import { changeDeadline, daysAfter } from '../../invoices/domain/deadlines.js';
import type { CalculatedInvoice } from '../../invoices/issuing/calculate.js';
import { InvoiceIssuer, type IssueOptions, recordCredits, releasePeriod } from '../../invoices/issuing/issue.js';
import { isBelowMinimum, useDiscount } from '../../invoices/issuing/preview.js';
import { InvoiceOutcomes } from '../../invoices/outcomes.js';
import type { InvoiceState } from '../../invoices/state.js';
import { invoiceAggregate } from '../../invoices/views.js';
import { unbilledIds } from '../../usage/rating.js';
import { Arrears, isUsage } from '../arrears.js';
import { lockReserved } from '../codes.js';
import { askedText } from '../create/asked.js';
import { inUnpaidPeriod } from '../domain/apply-change.js';
import type { Subscription } from '../domain/subscription.js';
import { lockNamed } from '../find.js';
import type { PendingUpdate } from '../pending-update.js';
import { updateTermsOf } from '../pending-update.js';
import { reinvoice } from '../periods.js';
import { scheduleNext } from '../schedule.js';
import { addonParamsOf, subscriptionAggregate } from '../views.js';
import { type ChangeQuote, itemsToDefer } from './discount.js';
import { newUpdate, updateTerms } from './new-update.js';
import { PlanChanges } from './plan-changes.js';
import { quoteChange } from './quote.js';
import { pendingUpdateAggregate, pendingUpdateView } from './views.js';

type Input = In<typeof submitChange>;

/** subscription/update_submit. */
@Controller()
export class ChangeSubmit {
  constructor(
    private readonly db: Db,
    private readonly issuer: InvoiceIssuer,
    private readonly planChanges: PlanChanges,
    private readonly closing: InvoiceClosing,
    private readonly outcomes: InvoiceOutcomes,
    private readonly arrears: Arrears,
  ) {}

  @Handle(submitChange)
  submit(input: Input, caller: Caller) {
    return this.db.write(caller, tx => this.submitted(tx, input, caller));
  }

  /** Submits a change within a transaction of the caller. */
  async submitted(tx: Tx, input: Input, caller: Caller) {
    const { subscriptionId, userId } = input;
    const named = await lockNamed(tx, { subscriptionId, userId });
    await lockReserved(tx, named);
    const asked = askedForChange(named, input);
    const again = await this.again(tx, named, asked, input);
    if (again) return again;
    const sub = await this.planChanges.supersede(tx, named);
    const quoted = await quoteChange(tx, this.arrears, sub, { input, caller, locks: true });
    assertChangeConfirmed(input, quoted);
    await assertPeriodsDecided(tx, quoted);
    const terms = { ...(await updateTerms(tx, quoted, input)), asked };
    const update = newUpdate(tx, quoted, terms, input, caller);
    const done = await this.carryOut(tx, quoted, update, input);
    const { invoiceId = '', link = '', status } = done.view ?? {};
    const isOpen = status === invoiceStatus.processing;
    return {
      action: {},
      invoiceId,
      link,
      note: '',
      paid: done.update.status === 'finished' && !isOpen,
      paymentId: done.paymentId ?? '',
      subscriptionPendingUpdate: pendingUpdateView(done.update),
    };
  }

  /** The answer to a submit that was made before, while its change waits. */
  private async again(tx: Tx, sub: Subscription, asked: string, { confirmTotalAmount }: Input) {
    const { pendingUpdateId } = sub;
    const update = pendingUpdateId === '' ? undefined : await tx.lockIfAny(pendingUpdateAggregate, pendingUpdateId);
    if (update?.status !== 'pending' || updateTermsOf(update).asked !== asked) return undefined;
    if (confirmTotalAmount !== undefined && BigInt(confirmTotalAmount) !== update.prorationAmount) return undefined;
    const { invoiceId, link } = update;
    const invoice = invoiceId === '' ? undefined : await tx.get(invoiceAggregate, invoiceId, 'invoice_not_found');
    return {
      action: {},
      invoiceId,
      link,
      note: '',
      paid: false,
      paymentId: invoice?.paymentId ?? '',
      subscriptionPendingUpdate: pendingUpdateView(update),
    };
  }

  /** Carries a change out, or leaves it waiting for its payment or for the end of the period. */
  private async carryOut(tx: Tx, quoted: ChangeQuote, update: PendingUpdate, input: Input): Promise<SubmitResult> {
    const { sub, decision, mode, calculated } = quoted;
    if (decision.effect === 'periodEnd') return { update: awaitPayment(tx, sub, update) };
    if (mode === 'incomplete') return this.replaceOpen(tx, quoted, update, input);
    if (calculated.input.items.length > 0) return this.issueInvoice(tx, quoted, update, input);
    await this.close(tx, quoted);
    tx.step(pendingUpdateAggregate, update, 'subscription.pending_update.create');
    return this.planChanges.apply(tx, sub, update, [], { log: 'Update' });
  }

  /**
   * Bills a change with the lines that it sets off: it takes effect at once where nothing is due, else when its invoice is
   * paid.
   */
  private async issueInvoice(tx: Tx, quoted: ChangeQuote, update: PendingUpdate, input: Input): Promise<SubmitResult> {
    const { calculated, setOff } = quoted;
    const sub = setOff.length > 0 ? await this.withoutPendingItems(tx, quoted) : quoted.sub;
    const sources = calculated.input.items.flatMap(({ source }) => (source ? [source.lineId] : []));
    if (await isBelowMinimum(tx, calculated)) {
      await recordCredits(tx, calculated);
      await this.close(tx, quoted);
      tx.step(pendingUpdateAggregate, update, 'subscription.pending_update.create');
      const carrying = { ...sub, carried: [...sub.carried, ...itemsToDefer(calculated)] };
      return this.planChanges.apply(tx, carrying, update, sources, { log: 'Update' });
    }
    const deadline = deadlineOfChange(tx, quoted);
    const { view, payment, discount } = await this.issuer.issue(tx, calculated, issueOptions(input, deadline));
    const { invoiceId, link } = view;
    await this.close(tx, quoted, invoiceId);
    const bound = discount?.recurring && { discount: { ...discount, waitingUseId: 0 } };
    const terms = { ...update.terms, ...bound, ...(setOff.length > 0 && { carried: setOff }) };
    const billed: PendingUpdate = { ...update, invoiceId, link, terms };
    if (payment) return { update: awaitPayment(tx, sub, billed), view, paymentId: payment.paymentId };
    tx.step(pendingUpdateAggregate, billed, 'subscription.pending_update.create');
    return { ...(await this.planChanges.apply(tx, sub, billed, sources, { log: 'Update' })), view };
  }

  /** The subscription without its pending items; the open invoice of the next period, where it has some, is voided. */
  private async withoutPendingItems(tx: Tx, { sub, setOff }: ChangeQuote): Promise<Subscription> {
    const isOnNext = setOff.length > sub.carried.length;
    const left = isOnNext ? await this.planChanges.voidUpcomingInvoice(tx, sub) : sub;
    if (isOnNext) scheduleNext(tx, left, sub);
    return { ...left, carried: [] };
  }

  /** Ends the count of usage at the old price, which the invoice bills; without one it is billed with its lines. */
  private close(tx: Tx, { sub, at, ended }: ChangeQuote, invoiceId = tx.newId(unbilledIds.carried)): Promise<void> {
    return this.arrears.close(tx, sub, at, invoiceId, ended);
  }

  /** Switches an incomplete subscription: its open invoice is replaced, for the same period and with the same deadline. */
  private async replaceOpen(tx: Tx, quoted: ChangeQuote, update: PendingUpdate, input: Input): Promise<SubmitResult> {
    const { sub, at, calculated, periods, ended } = quoted;
    const [current] = periods;
    const unpaid = current && inUnpaidPeriod(sub, quoted.update, current);
    const where = { invoiceId: current?.invoiceId ?? sub.latestInvoiceId };
    const open = await this.outcomes.lock(tx, where, 'invoice_not_found');
    const [invoiceId, { deadline }] = [tx.newId('in_'), open];
    const billed = { ...update, invoiceId };
    tx.step(pendingUpdateAggregate, billed, 'subscription.pending_update.create');
    await this.arrears.reopen(tx, open.invoiceId);
    if (unpaid) {
      const { kind, start, end } = unpaid.period;
      await this.arrears.close(tx, sub, start, invoiceId);
      await this.arrears.close(tx, sub, at, invoiceId, { ...ended, isLasting: true });
      await reinvoice(tx, { ...current, kind, endAt: end }, invoiceId);
      if (start === sub.currentPeriodStart && end !== sub.currentPeriodEnd)
        await this.arrears.moveEnd(tx, sub, end, { isResold: true });
    }
    const switched = { ...(unpaid?.sub ?? sub), latestInvoiceId: invoiceId };
    const done = await this.planChanges.apply(tx, switched, billed, [], {
      log: 'Update',
      keepsNext: true,
    });
    const period = { ...calculated.input.period, seq: open.periodSeq + 1 };
    const replacing = { ...calculated, input: { ...calculated.input, period } };
    await moveDiscount(tx, open, replacing, invoiceId);
    await releasePeriod(tx, open);
    await this.closing.cancel(tx, open);
    // lines that the open invoice had carried stand on the new one
    const again = await tx.lock(subscriptionAggregate, sub.subscriptionId, 'subscription_not_found');
    if (again.carried.length > sub.carried.length) {
      tx.step(subscriptionAggregate, { ...again, carried: sub.carried, modifyTime: tx.now }, 'subscription.updated');
    }
    const options = { ...issueOptions(input, deadline), invoiceId };
    const { view, payment } = await this.issuer.issue(tx, replacing, options);
    return { ...done, view, ...(payment && { paymentId: payment.paymentId }) };
  }
}

/** The use of a discount by an open invoice goes over to the one that replaces it, where that is reduced by it too. */
async function moveDiscount(
  tx: Tx,
  open: InvoiceState,
  calculated: CalculatedInvoice,
  invoiceId: string,
): Promise<void> {
  const amount = calculated.composition.amounts.discountAmount;
  const use = await discounts.useOf(tx, open);
  if (!use) await useDiscount(tx, calculated, invoiceId);
  else if (amount > 0n) await discounts.attach(tx, use.useId, { invoiceId, amount });
}

/** Outcome of a submit. */
interface SubmitResult {
  update: PendingUpdate;
  view?: Invoice;
  paymentId?: string;
}

/** Lets a change wait: the subscription names it. */
function awaitPayment(tx: Tx, sub: Subscription, update: PendingUpdate): PendingUpdate {
  const { pendingUpdateId } = update;
  const pending = { ...update, status: 'pending' } as const;
  tx.step(pendingUpdateAggregate, pending, 'subscription.pending_update.create');
  const named = { ...sub, pendingUpdateId, modifyTime: tx.now };
  tx.step(subscriptionAggregate, named, 'subscription.updated', { log: 'Update' });
  return pending;
}

/** The content of a submit; the date and total of its preview make no other change of it. */
function askedForChange(sub: Subscription, input: Input): string {
  const { newPlanId, quantity, addonParams = addonParamsOf(sub), currency, effectImmediate } = input;
  const { discountCode, discount, applyPromoCredit, applyPromoCreditAmount, gatewayId, manualPayment } = input;
  const { productData, refund, taxPercentage, vatNumber, vatCountryCode, paymentMethodId } = input;
  const plan = { newPlanId, quantity, addonParams, currency: currency || sub.currency, productData };
  const reductions = { discountCode, discount, applyPromoCredit, applyPromoCreditAmount };
  const taxes = { taxPercentage, vatNumber, vatCountryCode };
  const payment = { gatewayId, paymentMethodId, manualPayment, refund };
  return askedText({ ...plan, ...reductions, ...taxes, ...payment, effectImmediate });
}

function deadlineOfChange({ now }: Tx, { sub, gateway, settings }: ChangeQuote): number {
  const wire = gateway?.gatewayName === WIRE_TRANSFER;
  const wireDue = wire && { wireDue: daysAfter(now, settings.firstInvoiceDays) };
  return changeDeadline({ submitted: now, periodEnd: sub.currentPeriodEnd, ...wireDue });
}

const issueOptions = (input: Input, deadline: number): IssueOptions => ({
  status: 'open',
  createFrom: createFrom.api,
  deadline,
  refund: input.refund,
  details: {
    checkout: {
      gasPayer: '',
      gatewayPaymentType: input.gatewayPaymentType,
      paymentUIMode: input.paymentUIMode,
      returnUrl: input.returnUrl,
      cancelUrl: input.cancelUrl,
      metadata: input.metadata,
      ...(input.paymentMethodId !== '' && { paymentMethodId: input.paymentMethodId }),
    },
  },
});

/** Throws Rejected `payment_under_way` while the payment of an open period may arrive at any moment. */
async function assertPeriodsDecided(tx: Tx, { periods }: ChangeQuote): Promise<void> {
  for (const { state, invoiceId } of periods) {
    if (state !== 'open' || invoiceId === '') continue;
    assertDecided((await tx.get(invoiceAggregate, invoiceId, 'invoice_not_found')).payment);
  }
}

/** The currency and total of the preview that the caller confirms; usage, which goes on meanwhile, may be left out. */
function assertChangeConfirmed(
  { confirmCurrency, confirmTotalAmount }: Input,
  { after, calculated }: ChangeQuote,
): void {
  if (confirmCurrency !== '' && confirmCurrency !== after.currency) {
    throw invalid('/confirmCurrency', `is ${confirmCurrency}: the subscription is in ${after.currency}`);
  }
  if (confirmTotalAmount === undefined) return;
  const { lines, amounts } = calculated.composition;
  const usage = sum(calculated.input.items.map((item, at) => (isUsage(item) ? (lines[at]?.amount ?? 0n) : 0n)));
  const total = amounts.totalAmount;
  const confirmed = BigInt(confirmTotalAmount);
  if (confirmed === total || confirmed === total - usage) return;
  const ofUsage = usage === 0n ? '' : `, ${usage} of it for usage`;
  throw new Rejected('total_changed', `The total is ${total}${ofUsage}, not ${confirmTotalAmount}`);
}
