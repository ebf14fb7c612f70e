import { useEffect, useState } from 'react';
import type { Checkout, Filled } from '../address.js';
import { changedDetails, DetailsFields, detailsOf, Field } from '../parts/details.js';
import { Frame } from '../parts/frame.js';
import { Lines } from '../parts/lines.js';
import { type Look, lookOf, useLook } from '../parts/look.js';
import { Elsewhere, Notice, Problem, Waiting } from '../parts/notices.js';
import { OwnInvoice } from '../parts/open-invoice.js';
import { type Choice, choiceOf, type Gateway, PaymentChoice, useCardFields } from '../parts/payment.js';
import {
  AddonFields,
  type Addons,
  addonParams,
  CodeRefused,
  type Offer,
  PlanFacts,
  Price,
  Quantity,
} from '../parts/plan.js';
import { useSettled } from '../parts/settled.js';
import { Whole } from '../parts/whole.js';
import { useAction, useGet, usePost, useVisit } from '../session/calls.js';
import { useMethods } from '../session/methods.js';
import type { Exchanged } from '../session/session.js';
import { useText } from '../text/text.js';

interface Bought {
  invoiceId: string;
  isPaid: boolean;
  /** How it is to be paid, where the order alone did not begin that. */
  begin?: Choice;
}

/** The page that sells a plan. */
export default function CheckoutPage({
  planId,
  checkoutId,
  filled,
}: Pick<Checkout, 'planId' | 'checkoutId' | 'filled'>) {
  const { t } = useText();
  const { session } = useVisit();
  const plan = useGet('/portal/plan/detail', { planId, checkoutId });
  const gateways = useGet('/portal/gateway/list', {});
  const [bought, setBought] = useState<Bought>();
  const look = lookOf(plan.data?.checkout?.data);
  useLook(look);
  const failed = [plan, gateways].find(({ error }) => error);
  return (
    <Frame title={plan.data?.plan.plan.planName ?? t('checkout.title')} seller={session?.merchant} logo={look.logo}>
      <Whole>
        {failed && <Problem error={failed.error} retry={failed.reload} />}
        {!failed && !(plan.data && gateways.data) && <Waiting />}
        {plan.data && gateways.data && session && !bought && (
          <Order
            {...{ filled, session, look }}
            offer={plan.data.plan}
            gateways={gateways.data.gateways}
            onBought={setBought}
          />
        )}
      </Whole>
      {bought && session && (bought.isPaid || bought.invoiceId === '') && <Done session={session} />}
      {bought && session && !bought.isPaid && bought.invoiceId !== '' && (
        <OwnInvoice invoiceId={bought.invoiceId} begin={bought.begin} paid={<Done session={session} />} />
      )}
    </Frame>
  );
}

/** Time in which the success is shown before the page leads on by itself. */
const readingMs = 4_000;

function Done({ session: { returnUrl } }: { session: Exchanged }) {
  const { t } = useText();
  useEffect(() => {
    if (returnUrl === '') return;
    const timer = setTimeout(() => location.assign(returnUrl), readingMs);
    return () => clearTimeout(timer);
  }, [returnUrl]);
  return (
    <Notice kind="good">
      <p>{t('checkout.done')}</p>
      {returnUrl && (
        <a className="button" href={returnUrl}>
          {t('continue')}
        </a>
      )}
    </Notice>
  );
}

interface OrderProps {
  offer: Offer;
  gateways: readonly Gateway[];
  filled: Filled;
  session: Exchanged;
  look: Look;
  onBought(bought: Bought): void;
}

/** The order: everything chosen, the amounts as create_preview answers them, and the button that buys. */
function Order({ offer, gateways, filled, session, look, onBought }: OrderProps) {
  const { t, amount, date } = useText();
  const { client } = useVisit();
  const { plan } = offer;
  const [quantity, setQuantity] = useState(filled.quantity);
  const [addons, setAddons] = useState<Addons>({});
  const [discountCode, setDiscountCode] = useState(filled.discountCode);
  const [currency, setCurrency] = useState('');
  const [saved, setSaved] = useState(detailsOf(session.user));
  const [details, setDetails] = useState({ ...saved, countryCode: saved.countryCode || session.vatCountryCode });
  const [chosen, setChosen] = useState<Choice>();
  const { methods, page, setPage } = useMethods();
  const usable = gateways.filter(each => each.currency === '' || each.currency === (currency || plan.currency));
  const choice = choiceOf(chosen, usable, methods.data?.methods ?? []);
  const ordered = {
    planId: plan.id,
    quantity,
    addonParams: addonParams(addons),
    discountCode: discountCode.trim(),
    currency,
    gatewayId: choice?.gatewayId ?? 0,
    vatCountryCode: details.countryCode,
    vatNumber: details.vATNumber.trim(),
  };
  const settled = useSettled(ordered);
  const preview = usePost('/portal/subscription/create_preview', settled);
  const isCurrent = !preview.isLoading && JSON.stringify(settled) === JSON.stringify(ordered);
  const quote = preview.data;

  const update = useAction((changed: object, idempotencyKey) =>
    client.post('/portal/user/update', changed, { idempotencyKey }),
  );
  const submit = useAction(
    (confirmed: typeof ordered & { confirmTotalAmount: number; paymentMethodId?: string }, idempotencyKey) =>
      client.post(
        '/portal/subscription/create_submit',
        {
          ...confirmed,
          confirmCurrency: quote?.currency,
          returnUrl: session.returnUrl,
          cancelUrl: session.cancelUrl,
        },
        { idempotencyKey },
      ),
    // the amounts may have changed meanwhile: show them, and let the user confirm again
    preview.reload,
  );
  const card = useCardFields(usable);
  const save = useAction(({ gatewayId, data }: Choice, idempotencyKey) =>
    client.post('/portal/payment_method/new', { gatewayId, data }, { idempotencyKey }),
  );
  const isBusy = update.isBusy || submit.isBusy || card.isReading || save.isBusy;
  const buy = async () => {
    if (quote === undefined || choice === undefined || !isCurrent || isBusy) return;
    // first: a card that is none leaves no order behind
    const whole = await card.complete(choice);
    if (whole === undefined) return;
    const changed = changedDetails(saved, details);
    if (Object.keys(changed).length > 0 && (await update.start(changed)) === undefined) return;
    setSaved(details);
    let { paymentMethodId } = whole;
    if (quote.totalAmount === 0 && whole.data) {
      // no payment follows by which the card would be kept, and a trial may demand one
      const kept = await save.start(whole);
      setPage(kept?.url ?? '');
      if (!kept?.method) return;
      paymentMethodId = kept.method.id;
    }
    const made = await submit.start({ ...ordered, confirmTotalAmount: quote.totalAmount, paymentMethodId });
    if (made === undefined) return;
    const isCard = usable.find(({ gatewayId }) => gatewayId === choice.gatewayId)?.autoChargeEnabled;
    const begin = isCard && !paymentMethodId ? whole : undefined;
    onBought({ invoiceId: made.invoiceId, isPaid: made.paid, begin });
  };
  return (
    <form
      onSubmit={event => {
        event.preventDefault();
        void buy();
      }}
    >
      {look.note && <p>{look.note}</p>}
      <div className="columns">
        <div>
          <section className="card">
            <p className="price">
              <Price plan={plan} />
            </p>
            <PlanFacts offer={offer} />
            <Quantity label={t('plan.quantity')} value={quantity} least={1} onChange={setQuantity} />
            <AddonFields addons={offer.addons} chosen={addons} onChange={setAddons} />
            <CurrencyField plan={plan} currency={currency} onChange={setCurrency} />
            <Field label={t('checkout.code')} value={discountCode} onChange={setDiscountCode} />
            <CodeRefused problem={quote?.discountProblem} />
          </section>
          <section className="card">
            <h2>{t('details')}</h2>
            <DetailsFields details={details} onChange={setDetails} error={update.error} />
            {quote?.vatNumberValidate && (
              <Notice>{t(quote.vatNumberValidate.valid ? 'details.vatValid' : 'details.vatInvalid')}</Notice>
            )}
          </section>
        </div>
        <div>
          <section className="card" aria-live="polite" aria-busy={!isCurrent}>
            <h2>{t('checkout.order')}</h2>
            <Problem error={preview.error} retry={preview.reload} />
            {quote && <Lines invoice={quote.invoice} explanation={quote.explanation} zone={quote.timeZone} />}
            {quote && quote.trialEnd > 0 && (
              <p>{t('checkout.trialEnd', { time: date(quote.trialEnd, quote.timeZone) })}</p>
            )}
            {quote?.otherActiveSubscriptionId && <Notice kind="bad">{t('checkout.other')}</Notice>}
          </section>
          <section className="card">
            <Problem error={methods.error} retry={methods.reload} />
            <PaymentChoice
              {...{ gateways: usable, methods: methods.data?.methods, choice }}
              onChoose={setChosen}
              card={card.ref}
            />
            <Problem error={update.error ?? save.error ?? submit.error} />
            {page && <Elsewhere url={page} text={t('checkout.page')} label={t('pay.open')} />}
            <div className="actions">
              {quote && choice && (
                <button type="submit" disabled={isBusy || !isCurrent}>
                  {isBusy
                    ? t('checkout.progress')
                    : t('checkout.buy', { amount: amount(quote.totalAmount, quote.currency) })}
                </button>
              )}
              {session.cancelUrl && (
                <a className="button plain" href={session.cancelUrl}>
                  {t('cancel')}
                </a>
              )}
            </div>
          </section>
        </div>
      </div>
    </form>
  );
}

function CurrencyField(props: { plan: Offer['plan']; currency: string; onChange(currency: string): void }) {
  const { t } = useText();
  const { plan, currency, onChange } = props;
  const others = plan.multiCurrencies.filter(each => !each.disable && each.currency !== plan.currency);
  if (others.length === 0) return null;
  return (
    <label className="field">
      {t('checkout.currency')}
      <select value={currency || plan.currency} onChange={event => onChange(event.target.value)}>
        {[plan, ...others].map(each => (
          <option key={each.currency} value={each.currency}>
            {each.currency}
          </option>
        ))}
      </select>
    </label>
  );
}
