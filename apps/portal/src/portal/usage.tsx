import { useId } from 'react';
import { useGet } from '../session/calls.js';
import { useText } from '../text/text.js';

/** Usage of the current period: limits as bars, and what charged metrics come to. */
export function Usage({ subscriptionId, currency }: { subscriptionId: string; currency: string }) {
  const { t, number, amount } = useText();
  const { data } = useGet('/portal/usage/list', { subscriptionId });
  if (data === undefined) return null;
  const { limitStats, meteredChargeStats, recurringChargeStats } = data.userMetric;
  const charged = [...meteredChargeStats, ...recurringChargeStats];
  if (limitStats.length + charged.length === 0) return null;
  return (
    <section>
      <h3>{t('usage')}</h3>
      {limitStats.map(({ CurrentUsedValue, metricLimit }) => (
        <Bar
          key={metricLimit?.MetricId}
          name={metricLimit?.metricName ?? ''}
          used={CurrentUsedValue}
          limit={metricLimit?.TotalLimit ?? 0}
        />
      ))}
      {charged.map(({ metricId, merchantMetric, CurrentUsedValue, totalChargeAmount }) => (
        <div className="row" key={metricId}>
          <span>{merchantMetric?.metricName}</span>
          <span className="soft">
            {number(CurrentUsedValue)} {merchantMetric?.unit}
          </span>
          <span className="amount">{amount(totalChargeAmount, currency)}</span>
        </div>
      ))}
    </section>
  );
}

function Bar({ name, used, limit }: { name: string; used: number; limit: number }) {
  const { t, number } = useText();
  const id = useId();
  return (
    <div>
      <div className="row" id={id}>
        <span>{name}</span>
        <span className="soft">{t('usage.of', { used: number(used), limit: number(limit) })}</span>
      </div>
      <progress className="bar" value={Math.min(used, limit)} max={Math.max(limit, 1)} aria-labelledby={id} />
    </div>
  );
}
