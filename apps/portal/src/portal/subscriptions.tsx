import type { Output, Result } from '@recur/client';
import { useState } from 'react';
import { Lines } from '../parts/lines.js';
import { Notice, Problem, Waiting } from '../parts/notices.js';
import { perPeriod } from '../parts/plan.js';
import { useAction, useGet, useVisit } from '../session/calls.js';
import { useText } from '../text/text.js';
import { DueDay } from './due-day.js';
import { Usage } from './usage.js';
import { useGo } from './view.js';

export type Detail = Output<'/portal/subscription/detail'>;

const states = {
  0: 'new',
  1: 'new',
  2: 'active',
  4: 'cancelled',
  5: 'expired',
  7: 'incomplete',
  8: 'processing',
  9: 'failed',
} as const;
const ACTIVE = 2;
const INCOMPLETE = 7;
const OPEN_INVOICE = 2;

export function Subscriptions() {
  const { t } = useText();
  const { data, error, reload } = useGet('/portal/subscription/list', {});
  return (
    <section aria-label={t('subscriptions')}>
      <Problem error={error} retry={reload} />
      {data === undefined && error === undefined && <Waiting />}
      {data?.subscriptions.length === 0 && <p>{t('subscriptions.none')}</p>}
      {data?.subscriptions.map(detail => (
        <SubscriptionCard key={detail.subscription.subscriptionId} detail={detail} />
      ))}
    </section>
  );
}

function SubscriptionCard({ detail }: { detail: Detail }) {
  const text = useText();
  const { t, amount, date, number } = text;
  const go = useGo();
  const { subscription, plan, addons, latestInvoice } = detail;
  const { subscriptionId, timeZone: zone } = subscription;
  const state = states[subscription.status as keyof typeof states] ?? 'new';
  const isLive = subscription.status === ACTIVE || subscription.status === INCOMPLETE;
  const mayPay = latestInvoice?.status === OPEN_INVOICE;
  return (
    <article className="card">
      <div className="row">
        <h2>
          <bdi>{plan?.planName ?? subscriptionId}</bdi>
          {subscription.quantity !== 1 && <span className="soft"> × {number(subscription.quantity)}</span>}
        </h2>
        <strong>{t(`subscription.state.${state}`)}</strong>
      </div>
      <p className="row">
        <span>
          <strong className="amount">{amount(subscription.amount, subscription.currency)}</strong>{' '}
          {plan && <span className="soft">{perPeriod(text, plan)}</span>}
        </span>
        {isLive && (
          <span className="soft">{t('subscription.until', { time: date(subscription.currentPeriodEnd, zone) })}</span>
        )}
      </p>
      {addons.length > 0 && (
        <ul>
          {addons.map(({ addonPlan, quantity }) => (
            <li key={addonPlan?.id}>
              <bdi>{addonPlan?.planName}</bdi> × {number(quantity)}
            </li>
          ))}
        </ul>
      )}
      {mayPay && latestInvoice && (
        <Notice kind="bad">
          <p>{t('subscription.unpaid', { amount: amount(latestInvoice.amountDue, latestInvoice.currency) })}</p>
          <button type="button" onClick={() => go({ kind: 'invoice', invoiceId: latestInvoice.invoiceId })}>
            {t('pay.title')}
          </button>
        </Notice>
      )}
      <Ending detail={detail} />
      <Pending detail={detail} />
      {isLive && (
        <>
          <NextInvoice subscriptionId={subscriptionId} />
          <Usage subscriptionId={subscriptionId} currency={subscription.currency} />
          {!subscription.cancelAtPeriodEnd && (
            <div className="actions">
              <button type="button" onClick={() => go({ kind: 'change', subscriptionId })}>
                {t('change.title')}
              </button>
              <Cancel detail={detail} />
            </div>
          )}
          {plan && <DueDay subscription={subscription} unit={plan.intervalUnit} />}
        </>
      )}
    </article>
  );
}

/** A button for an action of one step, with its failure beside it. */
function Doing(props: { label: string; run(key: string): Promise<Result<object>>; isPlain?: boolean }) {
  const action = useAction((_: null, key) => props.run(key));
  return (
    <>
      <Problem error={action.error} />
      <button
        type="button"
        className={props.isPlain ? 'plain' : undefined}
        disabled={action.isBusy}
        onClick={() => void action.start(null)}
      >
        {props.label}
      </button>
    </>
  );
}

function Cancel({ detail: { subscription } }: { detail: Detail }) {
  const { t, date } = useText();
  const { client } = useVisit();
  const [isAsked, setAsked] = useState(false);
  const { subscriptionId } = subscription;
  if (!isAsked)
    return (
      <button type="button" className="plain" onClick={() => setAsked(true)}>
        {t('subscription.cancel')}
      </button>
    );
  const run = (idempotencyKey: string) =>
    client.post('/portal/subscription/cancel_at_period_end', { subscriptionId }, { idempotencyKey });
  return (
    <Notice>
      <p>{t('subscription.cancelWhy', { time: date(subscription.currentPeriodEnd, subscription.timeZone) })}</p>
      <div className="actions">
        <Doing label={t('subscription.cancelNow')} run={run} />
        <button type="button" className="plain" onClick={() => setAsked(false)}>
          {t('subscription.keep')}
        </button>
      </div>
    </Notice>
  );
}

function Ending({ detail: { subscription } }: { detail: Detail }) {
  const { t, date } = useText();
  const { client } = useVisit();
  const { subscriptionId } = subscription;
  if (!subscription.cancelAtPeriodEnd || subscription.status !== ACTIVE) return null;
  return (
    <Notice>
      <p>{t('subscription.ends', { time: date(subscription.currentPeriodEnd, subscription.timeZone) })}</p>
      <Doing
        label={t('subscription.resume')}
        run={idempotencyKey => client.post('/portal/subscription/resume', { subscriptionId }, { idempotencyKey })}
      />
    </Notice>
  );
}

function Pending({ detail }: { detail: Detail }) {
  const { t, date, number } = useText();
  const { client } = useVisit();
  const pending = detail.unfinishedSubscriptionPendingUpdate;
  if (!pending) return null;
  const { subscriptionId, timeZone } = detail.subscription;
  const plan = `${pending.updatePlan?.planName ?? ''}${pending.updateQuantity > 1 ? ` × ${number(pending.updateQuantity)}` : ''}`;
  return (
    <Notice>
      <p>
        {pending.effectImmediate
          ? t('pending.onPayment', { plan })
          : t('pending.later', { plan, time: date(pending.effectTime, timeZone) })}
      </p>
      <Doing
        isPlain
        label={t('pending.cancel')}
        run={idempotencyKey =>
          client.post('/portal/subscription/pending_update_cancel', { subscriptionId }, { idempotencyKey })
        }
      />
    </Notice>
  );
}

function NextInvoice({ subscriptionId }: { subscriptionId: string }) {
  const { t, amount, date } = useText();
  const { data } = useGet('/portal/subscription/next_invoice', { subscriptionId });
  if (data === undefined) return null;
  const { invoice, subscription } = data;
  return (
    <details>
      <summary>
        {t('next', {
          time: date(subscription.currentPeriodEnd, subscription.timeZone),
          amount: amount(invoice.totalAmount, invoice.currency),
        })}
      </summary>
      <Lines invoice={invoice} zone={subscription.timeZone} />
    </details>
  );
}
