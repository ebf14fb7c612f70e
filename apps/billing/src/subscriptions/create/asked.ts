import type { createSubscription, In } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { plansById } from '../../customers/plans.js';
import type { Customer } from '../../customers/users.js';
import { askedText } from '../asked.js';
import type { CreateInput } from './quote.js';

type Submit = Pick<In<typeof createSubscription>, 'startIncomplete' | 'splitPayment'>;

/**
 * The content of a submit, with the facts that its price depends on: the state of the plans, and where the user is taxed. How
 * the user is named, what is confirmed, the method, and where pages lead to make no other order of it.
 */
export async function askedOf(
  tx: Tx,
  { data }: Pick<Customer, 'data'>,
  occasion: string,
  input: CreateInput & Partial<Submit>,
): Promise<string> {
  const { planId, quantity, addonParams, currency, discountCode, discount, productData, gatewayId } = input;
  const { applyPromoCredit, applyPromoCreditAmount, freeInInitialPeriod, freeTimeEnd, trialEnd } = input;
  const { billingAnchorDay, timeZone, taxPercentage, vatNumber, vatCountryCode, manualPayment } = input;
  const copies = await plansById(tx, [planId, ...addonParams.map(({ addonPlanId }) => addonPlanId)]);
  const { countryCode, state, zipCode, vATNumber, type } = data;
  return askedText({
    occasion,
    planId,
    quantity,
    addonParams,
    currency,
    discountCode,
    discount,
    productData,
    gatewayId,
    applyPromoCredit,
    applyPromoCreditAmount,
    freeInInitialPeriod,
    freeTimeEnd,
    trialEnd,
    billingAnchorDay,
    timeZone,
    taxPercentage,
    vatNumber,
    vatCountryCode,
    manualPayment,
    startIncomplete: input.startIncomplete,
    versions: [...copies].map(([id, copy]) => [id, copy?.version]),
    place: { countryCode, state, zipCode, vATNumber, type },
  });
}
