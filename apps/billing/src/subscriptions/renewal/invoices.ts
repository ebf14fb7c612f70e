import { Injectable } from '@nestjs/common';
import { createFrom } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { chargesItself, type Gateway } from '../../gateways/domain/gateway.js';
import { renewalDeadline } from '../../invoices/domain/deadlines.js';
import { deleteDraft } from '../../invoices/domain/invoice.js';
import type { InvoiceInput } from '../../invoices/domain/items.js';
import { type CalculatedInvoice, calculateInvoice } from '../../invoices/issuing/calculate.js';
import { InvoiceIssuer } from '../../invoices/issuing/issue.js';
import { isTooSmall, settlementOf } from '../../invoices/issuing/preview.js';
import type { InvoiceState } from '../../invoices/state.js';
import { invoiceAggregate } from '../../invoices/views.js';
import { unbilledIds } from '../../usage/rating.js';
import { Arrears, sellsUsage } from '../arrears.js';
import { type UpcomingInvoice, upcomingInvoice } from '../change/upcoming-invoice.js';
import { renewalInput } from '../domain/invoice-input.js';
import { pendingInvoiceItem, pendingItem } from '../domain/pending-items.js';
import { notBilled, type Period, type PeriodRow } from '../domain/periods.js';
import { periodOf, type RenewalState } from '../domain/renewal.js';
import type { Subscription } from '../domain/subscription.js';
import { nextSeq } from '../periods.js';
import type { RenewalBatch } from '../renewal-batch.js';
import { chargeTermsOf } from '../settings.js';
import { subscriptionPeriods } from '../tables.js';
import { subscriptionAggregate } from '../views.js';

/** Why an invoice with something due cannot become an invoice. */
const NO_GATEWAY = 'It has no gateway by which it could be charged';

/** Makes the invoices of later periods. */
@Injectable()
export class RenewalInvoices {
  constructor(
    private readonly issuer: InvoiceIssuer,
    private readonly arrears: Arrears,
  ) {}

  /** Makes the next period and its invoice, or only the invoice again. Parks what cannot be billed. */
  async issue(tx: Tx, batch: RenewalBatch, state: RenewalState): Promise<RenewalState> {
    const { sub, current, upcoming } = state;
    if (!upcoming && current?.state === 'open') return this.finishDraft(tx, batch, state, current);
    const known = upcoming && periodOf(sub, upcoming);
    const waits = sellsUsage(sub.planSnapshot);
    if (!waits) await this.arrears.lock(tx, sub, known?.start ?? sub.currentPeriodEnd);
    const {
      input,
      period,
      sub: billed,
    } = await upcomingInvoice(tx, sub, { arrears: this.arrears, moment: tx.now, known });
    if (waits) return this.draft(tx, batch, state, { input, period, sub: billed });
    const row = upcoming ?? (await this.newRow(tx, sub, period));
    if (input.items.length === 0) return this.free(tx, { sub, current, upcoming: row });
    const calculated = await calculatedIn(tx, batch, billed, { input, seq: row.timesMade + 1 });
    const settlement = await settlementOf(tx, calculated);
    if (settlement.due > 0n && !calculated.gateway) return this.park(tx, state, NO_GATEWAY);
    if (isTooSmall(settlement, calculated)) return this.defer(tx, { sub, current, upcoming: row }, calculated);
    return this.invoice(tx, batch, { sub, current, upcoming: row }, { calculated, billed });
  }

  /** The next period, and a draft that waits until the usage of the current one is complete; without lines there is none. */
  private async draft(
    tx: Tx,
    batch: RenewalBatch,
    state: RenewalState,
    { input, period, sub: billed }: UpcomingInvoice,
  ) {
    const finishAt = Math.min(period.start + batch.settings.usageGraceSeconds, period.end);
    const upcoming = { ...(await this.newRow(tx, state.sub, period)), finishAt };
    if (input.items.length === 0) {
      tx.save(subscriptionPeriods, upcoming);
      return { ...state, upcoming };
    }
    const calculated = await calculatedIn(tx, batch, billed, { input, seq: 1 });
    const options = { status: 'draft', createFrom: createFrom.autoRenew, deadline: 0 } as const;
    const { invoiceId } = (await this.issuer.issue(tx, calculated, options)).view;
    const sub = { ...state.sub, latestInvoiceId: invoiceId, modifyTime: tx.now };
    tx.step(subscriptionAggregate, sub, 'subscription.updated');
    const row = { ...upcoming, invoiceId, timesMade: 1 };
    tx.save(subscriptionPeriods, row);
    return { ...state, sub, upcoming: row };
  }

  /**
   * The invoice of the current period `row`, whose draft has waited for usage: fees, and the usage of the period before,
   * which is closed by it. `fees`: the period whose fees it bills, where that is not all of `row`.
   */
  async finishDraft(
    tx: Tx,
    batch: RenewalBatch,
    state: RenewalState,
    row: PeriodRow,
    fees?: Period,
  ): Promise<RenewalState> {
    const { sub } = state;
    const kept = row.invoiceId ? await tx.lockIfAny(invoiceAggregate, row.invoiceId) : undefined;
    const draft = kept?.status === 'pending' && kept.deletedTime === 0 ? kept : undefined;
    await this.arrears.lock(tx, sub, row.startAt);
    const others = [...sub.carried.map(pendingInvoiceItem), ...(await this.arrears.items(tx, sub, row.startAt))];
    const input = renewalInput(sub, fees ?? periodOf(sub, row), others, tx.now);
    const seq = draft ? row.timesMade : row.timesMade + 1;
    const next = { ...state, upcoming: { ...row, finishAt: 0 } };
    const calculated = input.items.length > 0 ? await calculatedIn(tx, batch, sub, { input, seq }) : undefined;
    const settlement = calculated && (await settlementOf(tx, calculated));
    if (settlement && settlement.due > 0n && !calculated.gateway) return this.park(tx, state, NO_GATEWAY);
    const isUnbilled = !settlement || isTooSmall(settlement, calculated);
    if (isUnbilled && draft) tx.step(invoiceAggregate, deleteDraft(draft, tx.now), 'invoice.deleted');
    const billed = !calculated
      ? this.free(tx, next)
      : isUnbilled
        ? await this.defer(tx, next, calculated)
        : await this.invoice(tx, batch, next, { calculated, billed: sub, draft });
    // the period is the current one already
    return { sub: billed.sub, current: billed.upcoming, upcoming: state.upcoming };
  }

  private async newRow(tx: Tx, { subscriptionId, userId }: Subscription, period: Period): Promise<PeriodRow> {
    const { kind, start: startAt, end: endAt } = period;
    const { merchantId, now: createTime } = tx;
    const seq = await nextSeq(tx, subscriptionId);
    const row = { merchantId, subscriptionId, seq, userId, kind, startAt, endAt, createTime, ...notBilled };
    return { ...row, invoiceId: '', state: 'open' };
  }

  private async invoice(
    tx: Tx,
    batch: RenewalBatch,
    { sub, current, upcoming }: RenewalState & { upcoming: PeriodRow },
    { calculated, billed, draft }: CalculatedRenewal,
  ): Promise<RenewalState> {
    const { deadline, collection } = collecting(tx.now, batch, { sub: billed, upcoming, calculated });
    const options = { status: 'open', createFrom: createFrom.autoRenew, deadline, collection, draft } as const;
    const made = await this.issuer.issue(tx, calculated, options);
    const { invoiceId } = made.view;
    await this.arrears.close(tx, sub, upcoming.startAt, invoiceId);
    const stepped = { latestInvoiceId: invoiceId, carried: [], modifyTime: tx.now };
    const next = { ...sub, ...stepped, ...withoutWaiting(sub, calculated) };
    tx.step(subscriptionAggregate, next, made.payment ? 'subscription.track' : 'subscription.auto_renew.success');
    const timesMade = draft ? upcoming.timesMade : upcoming.timesMade + 1;
    const row: PeriodRow = {
      ...upcoming,
      invoiceId,
      deadline,
      remakeAt: 0,
      timesMade,
      state: made.payment ? 'open' : 'paid',
    };
    tx.save(subscriptionPeriods, row);
    return { sub: next, current, upcoming: row };
  }

  /** A period that costs nothing, such as a free step of a trial. */
  private free(tx: Tx, state: RenewalState & { upcoming: PeriodRow }): RenewalState {
    const upcoming: PeriodRow = { ...state.upcoming, state: 'paid' };
    tx.save(subscriptionPeriods, upcoming);
    return { ...state, upcoming };
  }

  /** Below the gateway's minimum: the lines stay unbilled, and come first on the next invoice. */
  private async defer(
    tx: Tx,
    state: RenewalState & { upcoming: PeriodRow },
    { input, composition }: CalculatedInvoice,
  ): Promise<RenewalState> {
    await this.arrears.close(tx, state.sub, state.upcoming.startAt, tx.newId(unbilledIds.carried));
    const carried = input.items.map((item, at) => {
      const line = composition.lines[at];
      return pendingItem(item, (line?.amountExcludingTax ?? 0n) - (line?.discountAmount ?? 0n));
    });
    const sub = { ...state.sub, carried, modifyTime: tx.now };
    tx.step(subscriptionAggregate, sub, 'subscription.updated');
    return { ...this.free(tx, state), sub };
  }

  private park(tx: Tx, state: RenewalState, parkedReason: string): RenewalState {
    const sub = { ...state.sub, parkedReason, parkedAt: tx.now, modifyTime: tx.now };
    tx.step(subscriptionAggregate, sub, 'subscription.updated');
    return { ...state, sub };
  }
}

/** An invoice, the subscription in its period, and the draft that it was until now. */
interface CalculatedRenewal {
  calculated: CalculatedInvoice;
  billed: Subscription;
  draft?: InvoiceState | undefined;
}

/** The amounts of an invoice that is the `seq`-th of its period. */
const calculatedIn = (
  tx: Tx,
  { sellerCountryCode, gateways }: RenewalBatch,
  { gatewayId }: Subscription,
  { input, seq }: { input: InvoiceInput; seq: number },
): Promise<CalculatedInvoice> =>
  calculateInvoice(
    tx,
    { ...input, period: { ...input.period, seq } },
    { sellerCountryCode, gateway: gateways.get(gatewayId) },
  );

/** A one-time code is used up by the first invoice that it reduces. */
function withoutWaiting({ discount }: Subscription, { input, composition }: CalculatedInvoice): Partial<Subscription> {
  const isUsed = input.discount?.is === 'waiting' && composition.amounts.discountAmount > 0n;
  return isUsed ? { discount: discount?.recurring ? { ...discount, waitingUseId: 0 } : null } : {};
}

/** True if the invoices of a subscription are charged without anybody's call. */
export const isChargedByGateway = (sub: Subscription, gateway: Gateway | undefined): boolean =>
  !sub.manualPayment && sub.planSnapshot.autoCharge && chargesItself(gateway);

/** The deadline of an invoice of the cycle, and how it is charged until then. One that is made again keeps the deadline. */
function collecting(
  now: number,
  { settings }: RenewalBatch,
  { sub, upcoming, calculated }: { sub: Subscription; upcoming: PeriodRow; calculated: CalculatedInvoice },
) {
  const { leadSeconds, ...terms } = chargeTermsOf(sub, settings);
  const automatic = isChargedByGateway(sub, calculated.gateway);
  const chargeTime = Math.max(now, upcoming.startAt - leadSeconds);
  const first = renewalDeadline(upcoming.startAt, automatic ? chargeTime : now, terms);
  return { deadline: upcoming.deadline || first, collection: { ...terms, automatic, chargeTime } };
}
