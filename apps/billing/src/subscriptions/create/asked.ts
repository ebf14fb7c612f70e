import { createHash } from 'node:crypto';
import type { createSubscription, In, PlanAddonParam } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { plansById } from '../../customers/catalog.js';
import type { Customer } from '../../customers/users.js';
import type { CreateInput } from './quote.js';

/** A short text for what a submit asks for: equal for submits that ask for the same. */
export function askedText({
  addonParams,
  ...rest
}: {
  addonParams: readonly PlanAddonParam[];
  [field: string]: unknown;
}): string {
  const addons = addonParams.toSorted((a, b) => a.addonPlanId - b.addonPlanId);
  return createHash('sha256')
    .update(JSON.stringify({ ...rest, addons }))
    .digest('base64url');
}

type AskedSubmit = Pick<In<typeof createSubscription>, 'startIncomplete' | 'splitPayment'>;

/**
 * The content of a submit, with what its price depends on: the state of the plans, and where the user is taxed. How
 * the user is named, what is confirmed, the method, and where pages lead to make no other order of it.
 */
export async function askedForCreate(
  tx: Tx,
  { data }: Pick<Customer, 'data'>,
  occasion: string,
  input: CreateInput & Partial<AskedSubmit>,
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
