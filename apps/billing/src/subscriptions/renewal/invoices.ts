import { Injectable } from '@nestjs/common';
import { createFrom } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { chargesItself, type Gateway } from '../../gateways/domain/gateway.js';
import { renewalDeadline } from '../../invoices/domain/deadlines.js';

import { deleteDraft } from '../../invoices/domain/invoice.js';
import type { Bill } from '../../invoices/domain/items.js';
import { type Composed, compose } from '../../invoices/issuing/calculate.js';
import { InvoiceMaker } from '../../invoices/issuing/issue.js';
import { isTooSmall, settlementOf } from '../../invoices/issuing/preview.js';
import type { InvoiceState } from '../../invoices/state.js';
import { invoiceAggregate } from '../../invoices/views.js';
import { unbilledIds } from '../../usage/rating.js';
import { Arrears, sellsUsage } from '../arrears.js';
import { type NextBill, nextBill } from '../change/next-bill.js';
import { cycleBill } from '../domain/bill.js';
import { carriedItem, carriedLine } from '../domain/carried.js';
import { notBilled, type Period, type PeriodRow } from '../domain/periods.js';
import { type CycleState, periodOf } from '../domain/renewal.js';
import type { Subscription } from '../domain/subscription.js';
import { nextSeq } from '../periods.js';
import type { Scene } from '../renewal-batch.js';
import { chargeTermsOf } from '../settings.js';
import { subscriptionPeriods } from '../tables.js';
import { subscriptionAggregate } from '../views.js';

/** Why a bill with something due cannot become an invoice. */
const NO_GATEWAY = 'It has no gateway by which it could be charged';

/** Makes the invoices of later periods. */
@Injectable()
export class CycleInvoices {
  constructor(
    private readonly maker: InvoiceMaker,
    private readonly arrears: Arrears,
  ) {}

  /** Makes the next period and its invoice, or only the invoice again. Parks what cannot be billed. */
  async make(tx: Tx, scene: Scene, state: CycleState): Promise<CycleState> {
    const { sub, current, ahead } = state;
    if (!ahead && current?.state === 'open') return this.bill(tx, scene, state, current);
    const known = ahead && periodOf(sub, ahead);
    const waits = sellsUsage(sub.planSnapshot);
    if (!waits) await this.arrears.lock(tx, sub, known?.start ?? sub.currentPeriodEnd);
    const { bill, period, sub: billed } = await nextBill(tx, sub, { arrears: this.arrears, moment: tx.now, known });
    if (waits) return this.draft(tx, scene, state, { bill, period, sub: billed });
    const row = ahead ?? (await this.newRow(tx, sub, period));
    if (bill.items.length === 0) return this.free(tx, { sub, current, ahead: row });
    const composed = await composedIn(tx, scene, billed, { bill, seq: row.timesMade + 1 });
    const settlement = await settlementOf(tx, composed);
    if (settlement.due > 0n && !composed.gateway) return this.park(tx, state, NO_GATEWAY);
    if (isTooSmall(settlement, composed)) return this.carry(tx, { sub, current, ahead: row }, composed);
    return this.invoice(tx, scene, { sub, current, ahead: row }, { composed, billed });
  }

  /** The next period, and a draft that waits until the usage of the current one is complete; without lines there is none. */
  private async draft(tx: Tx, scene: Scene, state: CycleState, { bill, period, sub: billed }: NextBill) {
    const finishAt = Math.min(period.start + scene.settings.usageGraceSeconds, period.end);
    const ahead = { ...(await this.newRow(tx, state.sub, period)), finishAt };
    if (bill.items.length === 0) {
      tx.save(subscriptionPeriods, ahead);
      return { ...state, ahead };
    }
    const composed = await composedIn(tx, scene, billed, { bill, seq: 1 });
    const making = { status: 'draft', createFrom: createFrom.autoRenew, deadline: 0 } as const;
    const { invoiceId } = (await this.maker.make(tx, composed, making)).view;
    const sub = { ...state.sub, latestInvoiceId: invoiceId, modifyTime: tx.now };
    tx.step(subscriptionAggregate, sub, 'subscription.updated');
    const row = { ...ahead, invoiceId, timesMade: 1 };
    tx.save(subscriptionPeriods, row);
    return { ...state, sub, ahead: row };
  }

  /**
   * The invoice of the current period `row`, whose draft has waited for usage: fees, and the usage of the period before,
   * which is closed by it. `fees`: the period whose fees it bills, where that is not all of `row`.
   */
  async bill(tx: Tx, scene: Scene, state: CycleState, row: PeriodRow, fees?: Period): Promise<CycleState> {
    const { sub } = state;
    const kept = row.invoiceId ? await tx.lockIfAny(invoiceAggregate, row.invoiceId) : undefined;
    const draft = kept?.status === 'pending' && kept.deletedTime === 0 ? kept : undefined;
    await this.arrears.lock(tx, sub, row.startAt);
    const others = [...sub.carried.map(carriedItem), ...(await this.arrears.items(tx, sub, row.startAt))];
    const bill = cycleBill(sub, fees ?? periodOf(sub, row), others, tx.now);
    const seq = draft ? row.timesMade : row.timesMade + 1;
    const next = { ...state, ahead: { ...row, finishAt: 0 } };
    const composed = bill.items.length > 0 ? await composedIn(tx, scene, sub, { bill, seq }) : undefined;
    const settlement = composed && (await settlementOf(tx, composed));
    if (settlement && settlement.due > 0n && !composed.gateway) return this.park(tx, state, NO_GATEWAY);
    const isUnbilled = !settlement || isTooSmall(settlement, composed);
    if (isUnbilled && draft) tx.step(invoiceAggregate, deleteDraft(draft, tx.now), 'invoice.deleted');
    const billed = !composed
      ? this.free(tx, next)
      : isUnbilled
        ? await this.carry(tx, next, composed)
        : await this.invoice(tx, scene, next, { composed, billed: sub, draft });
    // the period is the current one already
    return { sub: billed.sub, current: billed.ahead, ahead: state.ahead };
  }

  private async newRow(tx: Tx, { subscriptionId, userId }: Subscription, period: Period): Promise<PeriodRow> {
    const { kind, start: startAt, end: endAt } = period;
    const { merchantId, now: createTime } = tx;
    const seq = await nextSeq(tx, subscriptionId);
    const facts = { merchantId, subscriptionId, seq, userId, kind, startAt, endAt, createTime, ...notBilled };
    return { ...facts, invoiceId: '', state: 'open' };
  }

  private async invoice(
    tx: Tx,
    scene: Scene,
    { sub, current, ahead }: CycleState & { ahead: PeriodRow },
    { composed, billed, draft }: Making,
  ): Promise<CycleState> {
    const { deadline, collection } = collecting(tx.now, scene, { sub: billed, ahead, composed });
    const making = { status: 'open', createFrom: createFrom.autoRenew, deadline, collection, draft } as const;
    const made = await this.maker.make(tx, composed, making);
    const { invoiceId } = made.view;
    await this.arrears.close(tx, sub, ahead.startAt, invoiceId);
    const stepped = { latestInvoiceId: invoiceId, carried: [], modifyTime: tx.now };
    const next = { ...sub, ...stepped, ...withoutWaiting(sub, composed) };
    tx.step(subscriptionAggregate, next, made.payment ? 'subscription.updated' : 'subscription.auto_renew.success');
    const timesMade = draft ? ahead.timesMade : ahead.timesMade + 1;
    const row: PeriodRow = {
      ...ahead,
      invoiceId,
      deadline,
      remakeAt: 0,
      timesMade,
      state: made.payment ? 'open' : 'paid',
    };
    tx.save(subscriptionPeriods, row);
    return { sub: next, current, ahead: row };
  }

  /** A period that costs nothing, such as a free step of a trial. */
  private free(tx: Tx, state: CycleState & { ahead: PeriodRow }): CycleState {
    const ahead: PeriodRow = { ...state.ahead, state: 'paid' };
    tx.save(subscriptionPeriods, ahead);
    return { ...state, ahead };
  }

  /** Below the gateway's minimum: the lines stay unbilled, and come first on the next invoice. */
  private async carry(
    tx: Tx,
    state: CycleState & { ahead: PeriodRow },
    { bill, composition }: Composed,
  ): Promise<CycleState> {
    await this.arrears.close(tx, state.sub, state.ahead.startAt, tx.newId(unbilledIds.carried));
    const carried = bill.items.map((item, at) => {
      const line = composition.lines[at];
      return carriedLine(item, (line?.amountExcludingTax ?? 0n) - (line?.discountAmount ?? 0n));
    });
    const sub = { ...state.sub, carried, modifyTime: tx.now };
    tx.step(subscriptionAggregate, sub, 'subscription.updated');
    return { ...this.free(tx, state), sub };
  }

  private park(tx: Tx, state: CycleState, parkedReason: string): CycleState {
    const sub = { ...state.sub, parkedReason, parkedAt: tx.now, modifyTime: tx.now };
    tx.step(subscriptionAggregate, sub, 'subscription.updated');
    return { ...state, sub };
  }
}

/** An invoice, the subscription in its period, and the draft that it was until now. */
interface Making {
  composed: Composed;
  billed: Subscription;
  draft?: InvoiceState | undefined;
}

/** The amounts of a bill that is the `seq`-th of its period. */
const composedIn = (
  tx: Tx,
  { sellerCountryCode, gateways }: Scene,
  { gatewayId }: Subscription,
  { bill, seq }: { bill: Bill; seq: number },
): Promise<Composed> =>
  compose(tx, { ...bill, period: { ...bill.period, seq } }, { sellerCountryCode, gateway: gateways.get(gatewayId) });

/** A one-time code is used up by the first invoice that it reduces. */
function withoutWaiting({ discount }: Subscription, { bill, composition }: Composed): Partial<Subscription> {
  const isUsed = bill.discount?.is === 'waiting' && composition.amounts.discountAmount > 0n;
  return isUsed ? { discount: discount?.recurring ? { ...discount, waitingUseId: 0 } : null } : {};
}

/** True if the invoices of a subscription are charged without anybody's call. */
export const isCharged = (sub: Subscription, gateway: Gateway | undefined): boolean =>
  !sub.manualPayment && sub.planSnapshot.autoCharge && chargesItself(gateway);

/** The deadline of an invoice of the cycle, and how it is charged until then. One that is made again keeps the deadline. */
function collecting(
  now: number,
  { settings }: Scene,
  { sub, ahead, composed }: { sub: Subscription; ahead: PeriodRow; composed: Composed },
) {
  const { leadSeconds, ...terms } = chargeTermsOf(sub, settings);
  const automatic = isCharged(sub, composed.gateway);
  const chargeTime = Math.max(now, ahead.startAt - leadSeconds);
  const first = renewalDeadline(ahead.startAt, automatic ? chargeTime : now, terms);
  return { deadline: ahead.deadline || first, collection: { ...terms, automatic, chargeTime } };
}
