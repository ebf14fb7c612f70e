import { Injectable } from '@nestjs/common';
import { createFrom } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { chargesItself } from '../../gateways/domain/kinds.js';
import { type Composed, compose } from '../../invoicing/composed/compose.js';
import { InvoiceMaker } from '../../invoicing/composed/make.js';
import { isCarried, settlementOf } from '../../invoicing/composed/preview.js';
import { cycleDeadline } from '../../invoicing/domain/dunning.js';
import { subscriptionAggregate } from '../aggregate.js';
import { carriedLine } from '../domain/carried.js';
import { type CycleState, periodOf } from '../domain/cycle.js';
import { notBilled, type Period, type PeriodRow } from '../domain/periods.js';
import type { Subscription } from '../domain/subscription.js';
import { nextBill } from '../next-bill.js';
import { nextSeq } from '../periods.js';
import { chargeTermsOf } from '../settings.js';
import { subscriptionPeriods } from '../tables.js';
import type { Scene } from './scene.js';

/** Makes the invoices of later periods. */
@Injectable()
export class CycleInvoices {
  constructor(private readonly maker: InvoiceMaker) {}

  /** Makes the next period and its invoice, or only the invoice again. Parks what cannot be billed. */
  async make(tx: Tx, scene: Scene, state: CycleState): Promise<CycleState> {
    const { sub, current, ahead } = state;
    const { bill, period, sub: billed } = await nextBill(tx, sub, tx.now, ahead && periodOf(sub, ahead));
    const row = ahead ?? (await this.newRow(tx, sub, period));
    if (bill.items.length === 0) return this.free(tx, { sub, current, ahead: row });
    const gateway = scene.gateways.get(billed.gatewayId);
    const seq = row.timesMade + 1;
    const numbered = { ...bill, period: { ...bill.period, seq } };
    const composed = await compose(tx, numbered, { sellerCountryCode: scene.sellerCountryCode, gateway });
    const problem = await problemOf(tx, composed);
    if (problem) return this.park(tx, state, problem);
    if (await isCarried(tx, composed)) return this.carry(tx, { sub, current, ahead: row }, composed);
    return this.invoice(tx, scene, { sub, current, ahead: row }, composed);
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
    composed: Composed,
  ): Promise<CycleState> {
    const { deadline, collection } = collecting(tx.now, scene, { sub, ahead, composed });
    const making = { status: 'open', createFrom: createFrom.autoRenew, deadline, collection } as const;
    const made = await this.maker.make(tx, composed, making);
    const { invoiceId } = made.view;
    const billed = { latestInvoiceId: invoiceId, carried: [], modifyTime: tx.now };
    const next = { ...sub, ...billed, ...withoutWaiting(sub, composed) };
    tx.step(subscriptionAggregate, next, made.payment ? 'subscription.updated' : 'subscription.auto_renew.success');
    const timesMade = ahead.timesMade + 1;
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
  private carry(tx: Tx, state: CycleState & { ahead: PeriodRow }, { bill, composition }: Composed): CycleState {
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

/** Why a bill cannot become an invoice; '' if it can. */
async function problemOf(tx: Tx, composed: Composed): Promise<string> {
  const { due } = await settlementOf(tx, composed);
  if (due <= 0n || composed.gateway) return '';
  return 'It has no gateway by which it could be charged';
}

/** A one-time code is used up by the first invoice that it reduces. */
function withoutWaiting({ discount }: Subscription, { bill, composition }: Composed): Partial<Subscription> {
  const isUsed = bill.discount?.is === 'waiting' && composition.amounts.discountAmount > 0n;
  return isUsed ? { discount: discount?.recurring ? { ...discount, waitingUseId: 0 } : null } : {};
}

/** The deadline of an invoice of the cycle, and how it is charged until then. One that is made again keeps the deadline. */
function collecting(
  now: number,
  { settings }: Scene,
  { sub, ahead, composed }: { sub: Subscription; ahead: PeriodRow; composed: Composed },
) {
  const { leadSeconds, ...terms } = chargeTermsOf(sub, settings);
  const automatic = !sub.manualPayment && sub.planSnapshot.autoCharge && chargesItself(composed.gateway);
  const chargeTime = Math.max(now, ahead.startAt - leadSeconds);
  const first = cycleDeadline(ahead.startAt, automatic ? chargeTime : now, terms);
  return { deadline: ahead.deadline || first, collection: { ...terms, automatic, chargeTime } };
}
