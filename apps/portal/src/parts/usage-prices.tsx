import { useText } from '../text/text.js';
import { firstUnitOf } from './formula.js';
import type { Offer } from './plan.js';

type Charge = Offer['metricMeteredCharge'][number];

/** What usage costs beside a plan: its price per unit, or by tiers. */
export function UsagePrices({ charges, currency }: { charges: readonly Charge[]; currency: string }) {
  if (charges.length === 0) return null;
  return (
    <ul>
      {charges.map(charge => (
        <li key={charge.metricId}>
          {charge.chargeType === 0 ? (
            <Standard charge={charge} currency={currency} />
          ) : (
            <Tiers charge={charge} currency={currency} />
          )}
        </li>
      ))}
    </ul>
  );
}

interface Props {
  charge: Charge;
  currency: string;
}

function Standard({ charge, currency }: Props) {
  const { t, unitPrice, number } = useText();
  const { merchantMetric, standardAmount, standardAmountDecimal, standardStartValue: count } = charge;
  const name = merchantMetric?.metricName ?? '';
  const price = unitPrice(standardAmountDecimal || String(standardAmount), currency);
  return count > 0 ? t('plan.usageAfter', { name, price, count: number(count) }) : t('plan.usage', { name, price });
}

function Tiers({ charge, currency }: Props) {
  const { t, unitPrice, amount, number } = useText();
  const { merchantMetric, graduatedAmounts: tiers } = charge;
  return (
    <>
      {t('plan.usageTiers', { name: merchantMetric?.metricName ?? '' })}
      <ul>
        {tiers.map((tier, at) => {
          const first = firstUnitOf(tier.startValue, tiers[at - 1]?.endValue ?? 0);
          const units = tier.endValue < 0 ? `${number(first)}+` : `${number(first)}–${number(tier.endValue)}`;
          const price = unitPrice(tier.perAmountDecimal || String(tier.perAmount), currency);
          const flat = amount(tier.flatAmount, currency);
          return (
            <li key={units}>
              {tier.flatAmount === 0 ? t('plan.tier', { units, price }) : t('plan.tierFlat', { units, price, flat })}
            </li>
          );
        })}
      </ul>
    </>
  );
}
