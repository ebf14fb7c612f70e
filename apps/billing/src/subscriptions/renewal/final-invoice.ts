import { Injectable } from '@nestjs/common';
import { createFrom } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { sellerCountry } from '../../customers/merchants.js';
import { findGateway } from '../../gateways/gateway-index.js';
import { creditableLines, endServicePeriods } from '../../invoices/crediting/creditable-lines.js';
import { daysAfter } from '../../invoices/domain/deadlines.js';
import type { InvoiceItem } from '../../invoices/domain/items.js';
import { calculateInvoice } from '../../invoices/issuing/calculate.js';
import { InvoiceIssuer, recordCredits } from '../../invoices/issuing/issue.js';
import { isBelowMinimum } from '../../invoices/issuing/preview.js';
import { unbilledIds } from '../../usage/rating.js';
import { Arrears } from '../arrears.js';
import { type FinalKind, finalInput } from '../domain/invoice-input.js';
import { finalItems } from '../domain/items-to-bill.js';
import { pendingNet, pendingUntil } from '../domain/pending-items.js';
import type { Subscription } from '../domain/subscription.js';
import { subscriptionSettingsOf } from '../settings.js';

/** Terms of the last document of a subscription. */
export interface FinalTerms {
  /** True to credit the unused time of the current period; a paid next one is credited in any case. */
  prorate: boolean;
  /** True to bill the usage since the period's start. */
  invoiceNow: boolean;
  /** True to send a negative total back through the payments, as far as they go. */
  refund?: boolean;
  usage?: readonly InvoiceItem[];
  /** The end of that usage, which is billed or dropped. */
  usedUntil?: number;
  /** The second at which it ended, where the document is made later; the present one by default. */
  at?: number;
  kind?: FinalKind;
  /** True where the subscription is not over: what is too little to bill is neither closed nor waived. */
  goesOn?: boolean;
}

const finalOptions = { status: 'open', createFrom: createFrom.autoRenew } as const;

/** Words of the operation log for what was never billed when a subscription ended. */
type UnbilledLog = 'UsageDropped' | 'LinesWaived';

/** Makes the last invoice or credit note of a subscription. It is locked, and has no open invoice and no pending change. */
@Injectable()
export class FinalInvoices {
  constructor(
    private readonly issuer: InvoiceIssuer,
    private readonly arrears: Arrears,
  ) {}

  /** Makes it, and tells in the operation log of what is never billed. False where nothing is billed. */
  async issue(tx: Tx, sub: Subscription, terms: FinalTerms): Promise<boolean> {
    const { subscriptionId, userId, planId } = sub;
    const { isBilled, unbilled } = await this.outcome(tx, sub, terms);
    if (unbilled.length > 0) {
      tx.logAlso(`Subscription(${subscriptionId})`, unbilled.join(', '), { subscriptionId, userId, planId });
    }
    return isBilled;
  }

  /**
   * Bills by itself, with pending items, the usage up to a time of an invoice that was cancelled, and what came since. With
   * `goesOn` the subscription is not over: what is too little to bill stays unbilled.
   */
  async usage(tx: Tx, sub: Subscription, until: number, { goesOn = false } = {}): Promise<boolean> {
    await this.arrears.lock(tx, sub, until);
    const usage = await this.arrears.items(tx, sub, until);
    if (goesOn && usage.length === 0) return false;
    const terms = { prorate: false, invoiceNow: true, usage, usedUntil: until, kind: 'usage', goesOn } as const;
    return this.issue(tx, sub, terms);
  }

  private async outcome(
    tx: Tx,
    sub: Subscription,
    { prorate, invoiceNow, refund = false, usage = [], usedUntil: until = 0, at = tx.now, ...of }: FinalTerms,
  ): Promise<{ isBilled: boolean; unbilled: UnbilledLog[] }> {
    const { kind = 'last', goesOn = false } = of;
    const { subscriptionId, gatewayId, currentPeriodEnd: periodEnd } = sub;
    const carried = prorate ? pendingUntil(sub.carried, at) : sub.carried;
    const sold = await creditableLines(tx, subscriptionId, at);
    const { items, ended, dropped } = finalItems({ at, periodEnd, prorate, invoiceNow, sold, usage });
    const unbilled: UnbilledLog[] = dropped.length > 0 ? ['UsageDropped'] : [];
    // pending items alone are waived, unless they are credit
    const isEmpty = items.length === 0 && pendingNet(carried) >= 0n;
    // also without usage: what is on its way comes too late
    if (until > 0 && (isEmpty || !invoiceNow)) await this.arrears.close(tx, sub, until, tx.newId(unbilledIds.dropped));
    if (isEmpty) return { isBilled: false, unbilled: carried.length > 0 ? [...unbilled, 'LinesWaived'] : unbilled };
    const [gateway, sellerCountryCode, { firstInvoiceDays }] = await Promise.all([
      findGateway(tx, gatewayId),
      sellerCountry(tx),
      subscriptionSettingsOf(tx),
    ]);
    const input = finalInput({ ...sub, carried }, items, at, kind);
    const calculated = await calculateInvoice(tx, input, { sellerCountryCode, gateway });
    const isWaived = await isBelowMinimum(tx, calculated);
    if (isWaived && goesOn) return { isBilled: false, unbilled: [] };
    const deadline = daysAfter(tx.now, firstInvoiceDays);
    let billedOn = tx.newId(unbilledIds.dropped);
    if (isWaived) await recordCredits(tx, calculated);
    else billedOn = (await this.issuer.issue(tx, calculated, { ...finalOptions, deadline, refund })).view.invoiceId;
    if (invoiceNow && until > 0) await this.arrears.close(tx, sub, until, billedOn);
    await endServicePeriods(
      tx,
      ended.map(({ lineId }) => lineId),
      at,
    );
    return { isBilled: !isWaived, unbilled: isWaived ? [...unbilled, 'LinesWaived'] : unbilled };
  }
}
