import type { Output } from '@recur/client';
import { useState } from 'react';
import { Field } from '../parts/details.js';
import { Lines } from '../parts/lines.js';
import { Notice, Problem, Waiting } from '../parts/notices.js';
import { OwnInvoice } from '../parts/open-invoice.js';
import {
  AddonFields,
  type Addons,
  addonParams,
  CodeRefused,
  type Offer,
  type Plan,
  PlanFacts,
  Price,
  Quantity,
} from '../parts/plan.js';
import { useSettled } from '../parts/settled.js';
import { useAction, useGet, usePost, useVisit } from '../session/calls.js';
import { useText } from '../text/text.js';
import type { Detail } from './subscriptions.js';
import { useGo } from './view.js';

type Changed = Output<'/portal/subscription/update_submit'>;

/** Changes the plan, the quantity or the add-ons of a subscription. */
export function ChangePlan({ subscriptionId }: { subscriptionId: string }) {
  const { t } = useText();
  const go = useGo();
  const [changed, setChanged] = useState<Changed>();
  // a choice starts from what the subscription has now
  const detail = useGet('/portal/subscription/detail', { subscriptionId }, { isFresh: true });
  const done = (
    <Notice kind="good">
      <p>{t('change.done')}</p>
      <button type="button" onClick={() => go({ kind: 'portal' })}>
        {t('continue')}
      </button>
    </Notice>
  );
  if (changed) {
    const isSettled = changed.paid || changed.invoiceId === '';
    return isSettled ? done : <OwnInvoice invoiceId={changed.invoiceId} paid={done} />;
  }
  if (detail.data) return <Offered detail={detail.data} onChanged={setChanged} />;
  return detail.error ? <Problem error={detail.error} retry={detail.reload} /> : <Waiting />;
}

/** The plans of the subscription's product. */
function Offered({ detail, onChanged }: { detail: Detail; onChanged(changed: Changed): void }) {
  const { productId } = detail.subscription;
  const plans = useGet('/portal/plan/list', { productId, count: 100 });
  if (plans.data) return <Choosing detail={detail} offers={plans.data.plans} onChanged={onChanged} />;
  return plans.error ? <Problem error={plans.error} retry={plans.reload} /> : <Waiting />;
}

interface ChoosingProps {
  detail: Detail;
  offers: readonly Offer[];
  onChanged(changed: Changed): void;
}

/** Add-ons that can be had with a plan: those that are offered with it, and held ones that are sold no more. */
function addonsWith(planId: number, offer: Offer | undefined, { subscription, addons }: Detail): Plan[] {
  const offered = offer?.addons ?? [];
  const bound = offer?.plan.bindingAddonIds.split(',').map(Number) ?? [];
  const held = addons.flatMap(({ addonPlan }) => addonPlan ?? []);
  const kept = held.filter(({ id }) => planId === subscription.planId || bound.includes(id));
  return [...offered, ...kept.filter(({ id }) => offered.every(other => other.id !== id))];
}

const addonsOf = (detail: Detail): Addons =>
  Object.fromEntries(detail.addonParams.map(({ addonPlanId, quantity }) => [addonPlanId, quantity]));

/** The plans side by side, and what the change costs as update_preview answers it, line by line. */
function Choosing({ detail, offers, onChanged }: ChoosingProps) {
  const { t } = useText();
  const { session } = useVisit();
  const { subscription } = detail;
  // a link may name the plan to change to
  const named = offers.find(({ plan }) => plan.id === session?.planId)?.plan.id;
  const isNamed = session?.subscriptionId === subscription.subscriptionId;
  const [planId, setPlanId] = useState((isNamed && named) || subscription.planId);
  const [quantity, setQuantity] = useState(subscription.quantity);
  const [addons, setAddons] = useState(addonsOf(detail));
  const [discountCode, setDiscountCode] = useState('');
  const offer = offers.find(({ plan }) => plan.id === planId);
  const possible = addonsWith(planId, offer, detail);
  const wanted = {
    subscriptionId: subscription.subscriptionId,
    newPlanId: planId,
    quantity,
    discountCode: discountCode.trim(),
    // an add-on that the plan does not have cannot stay
    addonParams: addonParams(addons).filter(each => possible.some(({ id }) => id === each.addonPlanId)),
  };
  const before = { quantity: subscription.quantity, addons: addonParams(addonsOf(detail)) };
  const isChange =
    planId !== subscription.planId ||
    quantity !== before.quantity ||
    JSON.stringify(wanted.addonParams) !== JSON.stringify(before.addons);
  return (
    <>
      <fieldset>
        <legend>{t('change.plans')}</legend>
        <div className="plans">
          {offers.map(each => (
            <div className="card" key={each.plan.id}>
              <label className="choice">
                <input
                  type="radio"
                  name="plan"
                  checked={each.plan.id === planId}
                  onChange={() => setPlanId(each.plan.id)}
                />
                <span>
                  <strong>
                    <bdi>{each.plan.planName}</bdi>
                  </strong>
                  {each.plan.id === subscription.planId && <span className="soft"> · {t('change.current')}</span>}
                  <br />
                  <Price plan={each.plan} />
                </span>
              </label>
              <PlanFacts offer={each} />
            </div>
          ))}
        </div>
      </fieldset>
      <div className="columns narrow-first">
        <section className="card">
          <Quantity label={t('plan.quantity')} value={quantity} least={1} onChange={setQuantity} />
          <AddonFields addons={possible} chosen={addons} onChange={setAddons} />
          <Field label={t('checkout.code')} value={discountCode} onChange={setDiscountCode} />
        </section>
        {isChange ? (
          <Quote wanted={wanted} zone={subscription.timeZone} onChanged={onChanged} />
        ) : (
          <Notice>{t('change.choose')}</Notice>
        )}
      </div>
    </>
  );
}

interface Wanted {
  subscriptionId: string;
  newPlanId: number;
  quantity: number;
  discountCode: string;
  addonParams: { addonPlanId: number; quantity: number }[];
}

function Quote({ wanted, zone, onChanged }: { wanted: Wanted; zone: string; onChanged(changed: Changed): void }) {
  const { t, amount, moment } = useText();
  const { client } = useVisit();
  const settled = useSettled(wanted);
  const preview = usePost('/portal/subscription/update_preview', settled);
  const quote = preview.data;
  const isCurrent = !preview.isLoading && JSON.stringify(settled) === JSON.stringify(wanted);
  const action = useAction(
    (
      confirmed: Wanted & { prorationDate: number; confirmTotalAmount: number; confirmCurrency: string },
      idempotencyKey,
    ) => client.post('/portal/subscription/update_submit', confirmed, { idempotencyKey }),
    preview.reload,
  );
  const submit = async () => {
    if (quote === undefined || !isCurrent) return;
    // the time of the quote goes along, so that the amounts shown are those that are charged
    const { prorationDate, totalAmount: confirmTotalAmount, currency: confirmCurrency } = quote;
    const changed = await action.start({ ...wanted, prorationDate, confirmTotalAmount, confirmCurrency });
    if (changed) onChanged(changed);
  };
  return (
    <section className="card" aria-live="polite" aria-busy={!isCurrent}>
      <h2>{t('change.quote')}</h2>
      <Problem error={preview.error} retry={preview.reload} />
      {quote === undefined && preview.error === undefined && <Waiting />}
      {quote && (
        <>
          <p>{quote.effectImmediate ? t('change.now') : t('change.later', { time: moment(quote.effectTime, zone) })}</p>
          {(quote.effectImmediate === 1 || quote.invoice.lines.length > 0) && (
            <Lines invoice={quote.invoice} explanation={quote.explanation} zone={zone} isExplained />
          )}
          <CodeRefused problem={quote.discountProblem} />
          {quote.nextPeriodInvoice && (
            <p className="row">
              <span>{t('change.then')}</span>
              <span className="amount">{amount(quote.nextPeriodInvoice.totalAmount, quote.currency)}</span>
            </p>
          )}
          <Problem error={action.error} />
          <button type="button" disabled={action.isBusy || !isCurrent} onClick={() => void submit()}>
            {action.isBusy
              ? t('change.progress')
              : quote.totalAmount > 0
                ? t('change.pay', { amount: amount(quote.totalAmount, quote.currency) })
                : t('change.confirm')}
          </button>
        </>
      )}
    </section>
  );
}
