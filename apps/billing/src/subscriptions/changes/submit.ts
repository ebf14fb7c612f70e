import { Controller } from '@nestjs/common';
import { createFrom, type In, type Invoice, invoiceStatus, pendingUpdateEffect, submitChange } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { WIRE_TRANSFER } from '../../gateways/domain/gateway.js';
import { invoiceAggregate } from '../../invoicing/aggregates.js';
import type { Composed } from '../../invoicing/composed/compose.js';
import { giveBackSources, InvoiceMaker, type Making } from '../../invoicing/composed/make.js';
import { isCarried } from '../../invoicing/composed/preview.js';
import { isUnderWay, releasePeriod } from '../../invoicing/composed/replace.js';
import { InvoiceEndings } from '../../invoicing/endings.js';
import { InvoiceOwners } from '../../invoicing/owners.js';
import { subscriptionAggregate } from '../aggregate.js';
import { type CarriedLine, carriedLine } from '../domain/carried.js';
import { lapseTime, undecided, wireDueTime } from '../domain/changes.js';
import type { Subscription } from '../domain/subscription.js';
import { lockNamed } from '../find.js';
import { reinvoice } from '../periods.js';
import { pendingUpdateAggregate } from './aggregate.js';
import type { ChangeQuote } from './change-quote.js';
import { boundAfter } from './discount.js';
import { ChangeEffects } from './effects.js';
import { quoteChange } from './quote.js';
import type { PendingUpdate } from './tables.js';
import type { UpdateTerms } from './update-terms.js';
import { pendingUpdateView } from './views.js';

type Input = In<typeof submitChange>;

/** subscription/update_submit. */
@Controller()
export class ChangeSubmit {
  constructor(
    private readonly db: Db,
    private readonly maker: InvoiceMaker,
    private readonly effects: ChangeEffects,
    private readonly endings: InvoiceEndings,
    private readonly owners: InvoiceOwners,
  ) {}

  @Handle(submitChange)
  submit(input: Input, caller: Caller) {
    return this.db.write(caller, async tx => {
      const { subscriptionId, userId } = input;
      const sub = await this.effects.cancelPending(tx, await lockNamed(tx, { subscriptionId, userId }));
      const quoted = await quoteChange(tx, sub, input, caller);
      assertConfirmed(input, quoted);
      await assertDecided(tx, quoted);
      const terms = await termsOf(tx, quoted, input);
      const update = newUpdate(tx, quoted, terms, input, caller);
      const carried = await this.carryOut(tx, quoted, update, input);
      const { invoiceId = '', link = '', status } = carried.view ?? {};
      const isOpen = status === invoiceStatus.processing;
      return {
        ...{ action: {}, invoiceId, link, note: '', paid: carried.update.status === 'finished' && !isOpen },
        paymentId: carried.paymentId ?? '',
        subscriptionPendingUpdate: pendingUpdateView(carried.update),
      };
    });
  }

  /** Carries a change out, or leaves it waiting for its payment or for the end of the period. */
  private async carryOut(tx: Tx, quoted: ChangeQuote, update: PendingUpdate, input: Input): Promise<Carried> {
    const { sub, plan, mode, composed } = quoted;
    if (plan.effect === 'periodEnd') return { update: waiting(tx, sub, update) };
    if (mode === 'incomplete') return this.replaceOpen(tx, quoted, update, input);
    if (composed.bill.items.length > 0) return this.bill(tx, quoted, update, input);
    tx.step(pendingUpdateAggregate, update, 'subscription.pending_update.create');
    return this.effects.takeEffect(tx, sub, update, [], { log: 'Update' });
  }

  /** Bills a change: it takes effect at once where nothing is due, else when its invoice is paid. */
  private async bill(tx: Tx, quoted: ChangeQuote, update: PendingUpdate, input: Input): Promise<Carried> {
    const { sub, composed } = quoted;
    const sources = composed.bill.items.flatMap(({ source }) => (source ? [source.lineId] : []));
    if (await isCarried(tx, composed)) {
      await giveBackSources(tx, composed);
      tx.step(pendingUpdateAggregate, update, 'subscription.pending_update.create');
      const carried = [...sub.carried, ...carriedLines(composed)];
      return this.effects.takeEffect(tx, { ...sub, carried }, update, sources, { log: 'Update' });
    }
    const deadline = deadlineOf(tx, quoted);
    const { view, payment, discount } = await this.maker.make(tx, composed, makingOf(input, deadline));
    const { invoiceId, link } = view;
    const bound = discount?.recurring && { discount: { ...discount, waitingUseId: 0 } };
    const billed: PendingUpdate = { ...update, invoiceId, link, terms: { ...update.terms, ...bound } };
    if (payment) return { update: waiting(tx, sub, billed), view, paymentId: payment.paymentId };
    tx.step(pendingUpdateAggregate, billed, 'subscription.pending_update.create');
    return { ...(await this.effects.takeEffect(tx, sub, billed, sources, { log: 'Update' })), view };
  }

  /** Switches an incomplete subscription: its open invoice is replaced, for the same period and with the same deadline. */
  private async replaceOpen(tx: Tx, quoted: ChangeQuote, update: PendingUpdate, input: Input): Promise<Carried> {
    const { sub, composed, periods } = quoted;
    const [current] = periods;
    const where = { invoiceId: current?.invoiceId ?? sub.latestInvoiceId };
    const open = await this.owners.lock(tx, where, 'invoice_not_found');
    const [invoiceId, { billReason, invoiceName: name, deadline }] = [tx.newId('in_'), open];
    const billed = { ...update, invoiceId };
    tx.step(pendingUpdateAggregate, billed, 'subscription.pending_update.create');
    if (current) await reinvoice(tx, current, invoiceId);
    const done = await this.effects.takeEffect(tx, { ...sub, latestInvoiceId: invoiceId }, billed, [], {
      log: 'Update',
      keepsNext: true,
    });
    await releasePeriod(tx, open.invoiceId);
    await this.endings.cancel(tx, open);
    const period = { ...composed.bill.period, seq: open.periodSeq + 1 };
    const bill = { ...composed.bill, name, period, ...(billReason !== '' && { reason: billReason }) };
    const again = { ...makingOf(input, deadline), invoiceId };
    const { view, payment } = await this.maker.make(tx, { ...composed, bill }, again);
    return { ...done, view, ...(payment && { paymentId: payment.paymentId }) };
  }
}

/** Outcome of a submit. */
interface Carried {
  update: PendingUpdate;
  view?: Invoice;
  paymentId?: string;
}

/** Lets a change wait: the subscription names it. */
function waiting(tx: Tx, sub: Subscription, update: PendingUpdate): PendingUpdate {
  const { pendingUpdateId } = update;
  const pending = { ...update, status: 'pending' } as const;
  tx.step(pendingUpdateAggregate, pending, 'subscription.pending_update.create');
  const named = { ...sub, pendingUpdateId, modifyTime: tx.now };
  tx.step(subscriptionAggregate, named, 'subscription.updated', { log: 'Update' });
  return pending;
}

const carriedLines = ({ bill, composition }: Composed): CarriedLine[] =>
  bill.items.map((item, at) => carriedLine(item, composition.lines[at]?.net ?? 0n));

function deadlineOf({ now }: Tx, { sub, gateway, settings }: ChangeQuote): number {
  const wire = gateway?.gatewayName === WIRE_TRANSFER;
  const wireDue = wire && { wireDue: wireDueTime(now, settings.firstInvoiceDays) };
  return lapseTime({ submitted: now, periodEnd: sub.currentPeriodEnd, ...wireDue });
}

const makingOf = (input: Input, deadline: number): Making => ({
  ...{ status: 'open', createFrom: createFrom.api, deadline, refund: input.refund },
  details: {
    checkout: {
      ...{ gasPayer: '', gatewayPaymentType: input.gatewayPaymentType, paymentUIMode: input.paymentUIMode },
      ...{ returnUrl: input.returnUrl, cancelUrl: input.cancelUrl, metadata: input.metadata },
    },
  },
});

/** Throws Rejected `subscription_wrong_state` while the payment of an open period may arrive at any moment. */
async function assertDecided(tx: Tx, { sub, periods }: ChangeQuote): Promise<void> {
  for (const { state, invoiceId } of periods) {
    if (state !== 'open' || invoiceId === '') continue;
    const { payment } = await tx.get(invoiceAggregate, invoiceId, 'invoice_not_found');
    if (payment && isUnderWay(payment)) throw undecided(sub.subscriptionId);
  }
}

/** The currency and total of the preview that the caller confirms. */
function assertConfirmed({ confirmCurrency, confirmTotalAmount }: Input, { after, composed }: ChangeQuote): void {
  if (confirmCurrency !== '' && confirmCurrency !== after.currency) {
    throw invalid('/confirmCurrency', `is ${confirmCurrency}: the subscription is in ${after.currency}`);
  }
  const { totalAmount } = composed.composition.amounts;
  if (confirmTotalAmount === undefined || BigInt(confirmTotalAmount) === totalAmount) return;
  throw new Rejected('total_changed', `The total is ${totalAmount}, not ${confirmTotalAmount}`);
}

async function termsOf(tx: Tx, quoted: ChangeQuote, { gatewayId, manualPayment }: Input): Promise<UpdateTerms> {
  const { newPeriod, after, composed } = quoted;
  const discount = await boundAfter(tx, quoted);
  const terms = { discount, gatewayId, manualPayment, taxPercentage: after.taxPercentage };
  if (composed.discountProblem !== '') throw invalid('/discountCode', composed.discountProblem);
  return newPeriod ? { ...terms, newPeriod } : terms;
}

function newUpdate(
  tx: Tx,
  quoted: ChangeQuote,
  terms: UpdateTerms,
  { metadata }: Input,
  { actor }: Caller,
): PendingUpdate {
  const { merchantId, now } = tx;
  const { sub, update, plan, at, composed, gateway } = quoted;
  const { subscriptionId, userId, planId, quantity, amount, currency, planSnapshot, items, currentPeriodEnd } = sub;
  const isNow = plan.effect === 'now';
  const member = actor.kind === 'member';
  return {
    ...{ merchantId, pendingUpdateId: tx.newId('subup_'), version: 0, subscriptionId, userId, status: 'init' },
    ...{ kind: plan.direction === 'downgrade' ? 'downgrade' : 'upgrade', prorationDate: at },
    effectImmediate: pendingUpdateEffect[isNow ? 'now' : 'periodEnd'],
    effectTime: isNow ? at : currentPeriodEnd,
    ...{ planId, quantity, amount, currency, planSnapshot, items, ...update },
    prorationAmount: composed.composition.amounts.totalAmount,
    ...{ paid: false, invoiceId: '', link: '', gatewayId: gateway?.gatewayId ?? 0, name: composed.bill.name, note: '' },
    ...{ memberId: member ? Number(actor.id) : 0, memberEmail: member ? actor.display : '' },
    ...{ terms: { ...terms }, metadata, createTime: now, modifyTime: now },
  };
}
