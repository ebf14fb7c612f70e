import { Injectable } from '@nestjs/common';
import { createFrom } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { sellerCountry } from '../../customers/merchants.js';
import { findGateway } from '../../gateways/gateway-index.js';
import { endLines, soldLines } from '../../invoices/crediting/creditable-lines.js';
import { daysAfter } from '../../invoices/domain/deadlines.js';

import type { BillItem } from '../../invoices/domain/items.js';
import { compose } from '../../invoices/issuing/calculate.js';
import { giveBackSources, InvoiceMaker } from '../../invoices/issuing/issue.js';
import { isCarried } from '../../invoices/issuing/preview.js';
import { unbilledIds } from '../../usage/rating.js';
import { Arrears } from '../arrears.js';
import { type LastKind, lastBill, lastLines } from '../domain/bill.js';
import { carriedNet, usedUntil } from '../domain/carried.js';
import type { Subscription } from '../domain/subscription.js';
import { settingsOf } from '../settings.js';

/** Terms of the last document of a subscription. */
export interface LastTerms {
  /** True to credit the unused time of the current period; a paid next one is credited in any case. */
  prorate: boolean;
  /** True to bill the usage since the period's start. */
  invoiceNow: boolean;
  /** True to send a negative total back through the payments, as far as they go. */
  refund?: boolean;
  usage?: readonly BillItem[];
  /** The end of that usage, which is billed or dropped. */
  usedUntil?: number;
  /** The second at which it ended, where the document is made later; the present one by default. */
  at?: number;
  kind?: LastKind;
  /** True where the subscription is not over: what is too little to bill is neither closed nor waived. */
  goesOn?: boolean;
}

const last = { status: 'open', createFrom: createFrom.autoRenew } as const;

/** Words of the operation log for what was never billed when a subscription ended. */
type Unbilled = 'UsageDropped' | 'LinesWaived';

/** Makes the last invoice or credit note of a subscription. It is locked, and has no open invoice and no pending change. */
@Injectable()
export class LastDocuments {
  constructor(
    private readonly maker: InvoiceMaker,
    private readonly arrears: Arrears,
  ) {}

  /** Makes it, and tells in the operation log of what is never billed. False where nothing is billed. */
  async make(tx: Tx, sub: Subscription, terms: LastTerms): Promise<boolean> {
    const { subscriptionId, userId, planId } = sub;
    const { isBilled, unbilled } = await this.outcome(tx, sub, terms);
    if (unbilled.length > 0) {
      tx.logAlso(`Subscription(${subscriptionId})`, unbilled.join(', '), { subscriptionId, userId, planId });
    }
    return isBilled;
  }

  /**
   * Bills by itself, with carried lines, the usage up to a time of an invoice that was cancelled, and what came since. With
   * `goesOn` the subscription is not over: what is too little to bill stays unbilled.
   */
  async usage(tx: Tx, sub: Subscription, until: number, { goesOn = false } = {}): Promise<boolean> {
    await this.arrears.lock(tx, sub, until);
    const usage = await this.arrears.items(tx, sub, until);
    if (goesOn && usage.length === 0) return false;
    const terms = { prorate: false, invoiceNow: true, usage, usedUntil: until, kind: 'usage', goesOn } as const;
    return this.make(tx, sub, terms);
  }

  private async outcome(
    tx: Tx,
    sub: Subscription,
    { prorate, invoiceNow, refund = false, usage = [], usedUntil: until = 0, at = tx.now, ...of }: LastTerms,
  ): Promise<{ isBilled: boolean; unbilled: Unbilled[] }> {
    const { kind = 'last', goesOn = false } = of;
    const { subscriptionId, gatewayId, currentPeriodEnd: periodEnd } = sub;
    const carried = prorate ? usedUntil(sub.carried, at) : sub.carried;
    const sold = await soldLines(tx, subscriptionId, at);
    const { items, ended, dropped } = lastLines({ at, periodEnd, prorate, invoiceNow, sold, usage });
    const unbilled: Unbilled[] = dropped.length > 0 ? ['UsageDropped'] : [];
    // carried lines alone are waived, unless they are credit
    const isEmpty = items.length === 0 && carriedNet(carried) >= 0n;
    // also without usage: what is on its way comes too late
    if (until > 0 && (isEmpty || !invoiceNow)) await this.arrears.close(tx, sub, until, tx.newId(unbilledIds.dropped));
    if (isEmpty) return { isBilled: false, unbilled: carried.length > 0 ? [...unbilled, 'LinesWaived'] : unbilled };
    const [gateway, sellerCountryCode, { firstInvoiceDays }] = await Promise.all([
      findGateway(tx, gatewayId),
      sellerCountry(tx),
      settingsOf(tx),
    ]);
    const bill = lastBill({ ...sub, carried }, items, at, kind);
    const composed = await compose(tx, bill, { sellerCountryCode, gateway });
    const isWaived = await isCarried(tx, composed);
    if (isWaived && goesOn) return { isBilled: false, unbilled: [] };
    const deadline = daysAfter(tx.now, firstInvoiceDays);
    let billedOn = tx.newId(unbilledIds.dropped);
    if (isWaived) await giveBackSources(tx, composed);
    else billedOn = (await this.maker.make(tx, composed, { ...last, deadline, refund })).view.invoiceId;
    if (invoiceNow && until > 0) await this.arrears.close(tx, sub, until, billedOn);
    await endLines(
      tx,
      ended.map(({ lineId }) => lineId),
      at,
    );
    return { isBilled: !isWaived, unbilled: isWaived ? [...unbilled, 'LinesWaived'] : unbilled };
  }
}
