import type { Tx } from '@recur/platform';
import * as discounts from '../../discounts/redemption.js';
import { paidSubscriptionInvoices } from '../discount-preview.js';
import type { Composed } from './compose.js';

/** A discount that a submit used. */
export interface UsedDiscount {
  discountId: number;
  /** '' where the request gave the terms. */
  code: string;
  recurring: boolean;
  /** Use of a one-time code that took nothing off yet and waits for the first invoice that it can reduce; else 0. */
  waitingUseId: number;
}

/**
 * Records the use of a bill's discount by an invoice; '' for a bill that makes none. Returns the discount of a submit.
 * Throws Rejected `invalid_parameters` for a code that cannot be used.
 */
export async function useDiscount(tx: Tx, composed: Composed, invoiceId: string): Promise<UsedDiscount | undefined> {
  const { bill, composition } = composed;
  const { discount, userId, currency, subscriptionId, mainPlan: plan, moment, reason } = bill;
  const amount = composition.amounts.discountAmount;
  const isCycle = reason === 'create' || reason === 'renew' || reason === 'cycle' || reason === 'trialStep';
  const use = { userId, planId: plan.id, currency, subscriptionId, amount, cycle: isCycle };
  const reduced = amount > 0n ? invoiceId : '';
  switch (discount?.is) {
    case 'code': {
      const { code, operation } = discount;
      const paidInvoices = await paidSubscriptionInvoices(tx, userId);
      const granted = await discounts.reserve(tx, {
        ...use,
        code,
        operation,
        plan,
        moment,
        paidInvoices,
        invoiceId: reduced,
      });
      const { discountId, recurring, useId } = granted;
      return { discountId, code, recurring, waitingUseId: recurring || reduced !== '' ? 0 : useId };
    }
    case 'external': {
      const { discountId, recurring } = await discounts.addBound(tx, discount.settings, { ...use, invoiceId: reduced });
      return { discountId, code: '', recurring, waitingUseId: 0 };
    }
    case 'bound':
      if (composed.discount && reduced !== '') {
        const { discountId, code } = composed.discount;
        await discounts.useCycle(tx, { ...use, discountId, code, invoiceId });
      }
      return undefined;
    case 'waiting':
      if (reduced !== '') await discounts.attach(tx, discount.useId, { invoiceId, amount });
      return undefined;
    default:
      return undefined;
  }
}
