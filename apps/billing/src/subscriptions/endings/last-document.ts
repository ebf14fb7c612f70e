import { Injectable } from '@nestjs/common';
import { createFrom } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { sellerCountry } from '../../customers/merchants.js';
import { findGateway } from '../../gateways/lookup.js';
import { compose } from '../../invoicing/composed/compose.js';
import type { BillItem } from '../../invoicing/composed/domain/bill.js';
import { giveBackSources, InvoiceMaker } from '../../invoicing/composed/make.js';
import { isCarried } from '../../invoicing/composed/preview.js';
import { endLines, soldLines } from '../../invoicing/composed/sold-lines.js';
import { firstInvoiceDeadline } from '../../invoicing/domain/dunning.js';
import { Arrears } from '../arrears.js';
import { carriedNet, usedUntil } from '../domain/carried.js';
import { lastBill, lastLines } from '../domain/last-bill.js';
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
  /** The end of that usage, which the document bills. */
  usedUntil?: number;
  /** The second at which it ended, where the document is made later; the present one by default. */
  at?: number;
}

const last = { status: 'open', createFrom: createFrom.autoRenew } as const;

/** Words of the operation log for what was never billed when a subscription ended. */
export type Unbilled = 'UsageDropped' | 'LinesWaived';

/** Makes the last invoice or credit note of a subscription. It is locked, and has no open invoice and no pending change. */
@Injectable()
export class LastDocuments {
  constructor(
    private readonly maker: InvoiceMaker,
    private readonly arrears: Arrears,
  ) {}

  async make(
    tx: Tx,
    sub: Subscription,
    { prorate, invoiceNow, refund = false, usage = [], usedUntil: usageUntil = 0, at = tx.now }: LastTerms,
  ): Promise<Unbilled[]> {
    const { subscriptionId, gatewayId, currentPeriodEnd: periodEnd } = sub;
    const carried = prorate ? usedUntil(sub.carried, at) : sub.carried;
    const sold = await soldLines(tx, subscriptionId, at);
    const { items, ended, dropped } = lastLines({ at, periodEnd, prorate, invoiceNow, sold, usage });
    const usageDropped: Unbilled[] = dropped.length > 0 ? ['UsageDropped'] : [];
    // carried lines alone are waived, unless they are credit
    if (items.length === 0 && carriedNet(carried) >= 0n) {
      return carried.length > 0 ? [...usageDropped, 'LinesWaived'] : usageDropped;
    }
    const [gateway, sellerCountryCode, { firstInvoiceDays }] = await Promise.all([
      findGateway(tx, gatewayId),
      sellerCountry(tx),
      settingsOf(tx),
    ]);
    const composed = await compose(tx, lastBill({ ...sub, carried }, items, at), { sellerCountryCode, gateway });
    const isWaived = await isCarried(tx, composed);
    const deadline = firstInvoiceDeadline(tx.now, firstInvoiceDays);
    let billedOn = tx.newId('in_');
    if (isWaived) await giveBackSources(tx, composed);
    else billedOn = (await this.maker.make(tx, composed, { ...last, deadline, refund })).view.invoiceId;
    if (invoiceNow && usageUntil > 0) await this.arrears.close(tx, sub, usageUntil, billedOn);
    await endLines(
      tx,
      ended.map(({ lineId }) => lineId),
      at,
    );
    return isWaived ? [...usageDropped, 'LinesWaived'] : usageDropped;
  }

  /**
   * Bills the usage of the last period of a subscription that ended with it, or up to the start of one that is not
   * paid; false where there is none.
   */
  async usage(tx: Tx, sub: Subscription, until = sub.currentPeriodEnd): Promise<boolean> {
    await this.arrears.lock(tx, sub, until);
    const usage = await this.arrears.items(tx, sub, until);
    if (usage.length === 0) return false;
    await this.make(tx, sub, { prorate: false, invoiceNow: true, usage, usedUntil: until });
    return true;
  }
}
