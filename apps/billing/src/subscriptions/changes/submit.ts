import { Controller } from '@nestjs/common';
import { createFrom, type In, pendingUpdateEffect, submitChange } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { WIRE_TRANSFER } from '../../gateways/domain/gateway.js';
import { invoiceAggregate } from '../../invoicing/aggregates.js';
import { type Made, InvoiceMaker, type Making } from '../../invoicing/composed/make.js';
import { InvoiceEndings } from '../../invoicing/endings.js';
import { InvoiceOwners } from '../../invoicing/owners.js';
import { subscriptionAggregate } from '../aggregate.js';
import { lapseTime, wireDueTime } from '../domain/changes.js';
import type { Subscription } from '../domain/subscription.js';
import { named } from '../named.js';
import { takeOver } from '../periods.js';
import { pendingUpdateAggregate } from './aggregate.js';
import { boundAfter } from './discount.js';
import { ChangeEffects, LAPSE, type UpdateTerms } from './effects.js';
import { type ChangeQuote, quoteChange } from './quote.js';
import type { PendingUpdate } from './tables.js';
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
      const subscriptionId = await named(tx, input);
      const locked = await tx.lock(subscriptionAggregate, subscriptionId, 'subscription_not_found');
      const sub = await this.effects.cancelPending(tx, locked);
      const quoted = await quoteChange(tx, sub, input, caller);
      assertConfirmed(input, quoted);
      const terms = await termsOf(tx, quoted, input);
      const update = newUpdate(tx, quoted, terms, input, caller);
      const { state, made } = await this.carryOut(tx, quoted, update, input);
      const { invoiceId = '', link = '', paymentId = '' } = made?.view ?? {};
      return {
        ...{ action: {}, invoiceId, link, note: '', paid: state.status === 'finished', paymentId },
        subscriptionPendingUpdate: pendingUpdateView(state),
      };
    });
  }

  /** Carries a change out, or leaves it waiting for its payment or for the end of the period. */
  private async carryOut(
    tx: Tx,
    quoted: ChangeQuote,
    update: PendingUpdate,
    input: Input,
  ): Promise<{ state: PendingUpdate; made?: Made }> {
    const { sub, plan, mode, composed } = quoted;
    if (plan.effect === 'periodEnd') return { state: this.wait(tx, quoted, update) };
    if (mode === 'incomplete') return this.replaceOpen(tx, quoted, update, input);
    tx.step(pendingUpdateAggregate, update, 'subscription.pending_update.create');
    if (composed.bill.items.length === 0) {
      await this.effects.takeEffect(tx, sub, update, undefined, 'Update');
      return { state: await current(tx, update) };
    }
    return this.bill(tx, quoted, update, input);
  }

  /** Bills a change: it takes effect at once where nothing is due, else when its invoice is paid. */
  private async bill(tx: Tx, { sub, composed, gateway, settings }: ChangeQuote, update: PendingUpdate, input: Input) {
    const wire = gateway?.gatewayName === WIRE_TRANSFER;
    const deadline = lapseTime({
      ...{ submitted: tx.now, periodEnd: sub.currentPeriodEnd },
      ...(wire && { wireDue: wireDueTime(tx.now, settings.firstInvoiceDays) }),
    });
    const { view, payment, discount } = await this.maker.make(tx, composed, makingOf(input, deadline));
    const { invoiceId, link } = view;
    const bound = discount?.recurring ? { discount: { ...discount, waitingUseId: 0 } } : {};
    const terms = { ...update.terms, ...bound };
    const billed: PendingUpdate = { ...update, invoiceId, link, deadline, terms };
    if (payment === undefined) {
      const document = await tx.lock(invoiceAggregate, invoiceId, 'invoice_not_found');
      await this.effects.takeEffect(tx, sub, billed, { invoiceId, lines: document.lines }, 'Update');
      return { state: await current(tx, billed), made: { view } };
    }
    tx.save(pendingUpdates, billed);
    tx.schedule(LAPSE, update.pendingUpdateId, deadline);
    waitingFor(tx, sub, update);
    return { state: billed, made: { view, payment } };
  }
}
