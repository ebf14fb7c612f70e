import type { Output } from '@recur/client';
import { type Text, useText } from '../text/text.js';
import { Notice } from './notices.js';
import { UsagePrices } from './usage-prices.js';

export type Offer = Output<'/portal/plan/detail'>['plan'];
export type Plan = Offer['plan'];

/** "per month", "per 3 months"; '' for what is sold once. */
export const perPeriod = ({ t, find, duration }: Text, { intervalCount: count, intervalUnit: unit }: Plan): string =>
  unit === ''
    ? ''
    : ((count === 1 ? find(`plan.per.${unit}`) : undefined) ?? t('plan.per', { duration: duration(count, unit) }));

/** Why a discount code cannot be used; nothing where it can. */
export function CodeRefused({ problem }: { problem: string | undefined }) {
  const { t, find } = useText();
  if (!problem) return null;
  return (
    <Notice kind="bad">
      <p>{find(`code.${problem}`) ?? t('checkout.codeRefused')}</p>
    </Notice>
  );
}

/** "€49.00 per month"; the amount before a reduction is struck through. */
export function Price({ plan }: { plan: Plan }) {
  const text = useText();
  const { amount } = text;
  return (
    <span>
      {plan.compareAtAmount > plan.amount && (
        <>
          <s className="soft">{amount(plan.compareAtAmount, plan.currency)}</s>{' '}
        </>
      )}
      <strong className="amount">{amount(plan.amount, plan.currency)}</strong>{' '}
      <span className="soft">{perPeriod(text, plan)}</span>
    </span>
  );
}

/** Description, trial, limits and prices of usage of a plan. */
export function PlanFacts({ offer }: { offer: Offer }) {
  const { t, duration, number } = useText();
  const { plan } = offer;
  const trialDays = Math.round(plan.trialDurationTime / 86_400);
  return (
    <>
      {plan.description && <p>{plan.description}</p>}
      {trialDays > 0 && <p>{t('plan.trial', { duration: duration(trialDays, 'day') })}</p>}
      {offer.metricPlanLimits.length > 0 && (
        <ul>
          {offer.metricPlanLimits.map(limit => (
            <li key={limit.metricId}>
              {t('plan.limit', {
                name: limit.merchantMetric?.metricName ?? '',
                limit: `${number(limit.metricLimit)} ${limit.merchantMetric?.unit ?? ''}`.trim(),
              })}
            </li>
          ))}
        </ul>
      )}
      <UsagePrices charges={[...offer.metricMeteredCharge, ...offer.metricRecurringCharge]} currency={plan.currency} />
    </>
  );
}

/** Numbers of add-ons by their plan. */
export type Addons = Record<number, number>;

export const addonParams = (addons: Addons) =>
  Object.entries(addons).flatMap(([id, quantity]) => (quantity > 0 ? [{ addonPlanId: Number(id), quantity }] : []));

interface QuantityProps {
  label: string;
  value: number;
  least: number;
  onChange(value: number): void;
}

export function Quantity({ label, value, least, onChange }: QuantityProps) {
  return (
    <label className="field">
      {label}
      <input
        type="number"
        inputMode="numeric"
        min={least}
        value={value}
        onChange={event => onChange(Math.max(least, Math.trunc(Number(event.target.value)) || least))}
      />
    </label>
  );
}

export function AddonFields(props: { addons: readonly Plan[]; chosen: Addons; onChange(chosen: Addons): void }) {
  const { t } = useText();
  const { addons, chosen, onChange } = props;
  if (addons.length === 0) return null;
  return (
    <fieldset>
      <legend>{t('plan.addons')}</legend>
      {addons.map(addon => (
        <div key={addon.id}>
          <label className="choice">
            <input
              type="checkbox"
              checked={(chosen[addon.id] ?? 0) > 0}
              onChange={event => onChange({ ...chosen, [addon.id]: event.target.checked ? 1 : 0 })}
            />
            <span>
              <bdi>{addon.planName}</bdi> · <Price plan={addon} />
            </span>
          </label>
          {(chosen[addon.id] ?? 0) > 0 && (
            <Quantity
              label={t('plan.quantityOf', { name: addon.planName })}
              value={chosen[addon.id] ?? 1}
              least={1}
              onChange={quantity => onChange({ ...chosen, [addon.id]: quantity })}
            />
          )}
        </div>
      ))}
    </fieldset>
  );
}
