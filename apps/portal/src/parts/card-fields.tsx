import type { Appearance, Stripe, StripeElements, StripeError } from '@stripe/stripe-js';
import { loadStripe } from '@stripe/stripe-js/pure';
import { type Ref, useEffect, useImperativeHandle, useRef, useState, useSyncExternalStore } from 'react';
import { useText } from '../text/text.js';
import { Notice, Waiting } from './notices.js';

// the script then asks only the hosts that the policy admits
loadStripe.setLoadParameters({ advancedFraudSignals: false });
// a script that failed is removed, for the loader would find it when it tries again, and wait for it without end
const removeFailed = ({ target }: Event) => {
  if (target instanceof HTMLScriptElement && target.src.startsWith('https://js.stripe.com/')) target.remove();
};
document.addEventListener('error', removeFailed, { capture: true });

/** Reads card fields: answers the gateway's id of the card; undefined where the fields say what is wrong or are not there. */
export interface CardReader {
  read(): Promise<string | undefined>;
}

interface Props {
  publicKey: string;
  ref: Ref<CardReader>;
}

/**
 * Card fields of Stripe. A card is typed into frames of Stripe's own, which the page cannot see into. Throws where they
 * cannot be loaded.
 */
export default function CardFields({ publicKey, ref }: Props) {
  const { t, language } = useText();
  const isDark = useIsDark();
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef<{ stripe: Stripe; elements: StripeElements }>(undefined);
  const look = useRef({ language, isDark });
  look.current = { language, isDark };
  const [isReady, setReady] = useState(false);
  const [problem, setProblem] = useState('');
  const [failure, setFailure] = useState<Error>();
  /** Times at which the card may have become another: a whole one pasted over a whole one is no change to Stripe. */
  const edits = useRef(0);
  /** The card as it was last read, after that many edits. */
  const card = useRef({ edits: -1, id: '' });
  useEffect(() => {
    let isLeft = false;
    const show = (stripe: Stripe | null) => {
      if (isLeft || stripe === null || place.current === null) return;
      const elements = stripe.elements({
        mode: 'setup',
        paymentMethodCreation: 'manual',
        allowedPaymentMethodTypes: ['card'],
        locale: look.current.language,
        appearance: appearanceOf(look.current.isDark),
      });
      const fields = elements.create('payment', { wallets: { applePay: 'never', googlePay: 'never', link: 'never' } });
      fields.on('ready', () => setReady(true));
      fields.on('loaderror', ({ error }) => setFailure(new Error(error.message)));
      fields.on('focus', () => {
        edits.current += 1;
      });
      fields.on('change', () => {
        edits.current += 1;
        setProblem('');
      });
      fields.mount(place.current);
      shown.current = { stripe, elements };
    };
    loadStripe(publicKey)
      .then(show)
      .catch(error => isLeft || setFailure(error));
    return () => {
      isLeft = true;
      shown.current?.elements.getElement('payment')?.destroy();
      shown.current = undefined;
    };
  }, [publicKey]);
  useEffect(() => {
    shown.current?.elements.update({ appearance: appearanceOf(isDark) });
  }, [isDark]);
  useEffect(() => {
    shown.current?.elements.update({ locale: language });
    // the message is in the language before
    setProblem('');
  }, [language]);

  const refused = ({ type, message }: StripeError) => {
    // other messages are for the merchant's developers
    const isForReader = type === 'validation_error' || type === 'card_error';
    setProblem((isForReader && message) || t('card.unread'));
    return undefined;
  };
  const read = async () => {
    if (shown.current === undefined || !isReady) return undefined;
    // the same card is the same intent: read again only once it was changed
    if (card.current.edits === edits.current) return card.current.id;
    const { stripe, elements } = shown.current;
    const { error: invalid } = await elements.submit();
    if (invalid) return refused(invalid);
    const before = edits.current;
    const { error, paymentMethod } = await stripe.createPaymentMethod({ elements });
    if (error) return refused(error);
    setProblem('');
    card.current = { edits: before, id: paymentMethod.id };
    return paymentMethod.id;
  };
  useImperativeHandle(ref, () => ({ read: () => read().catch(() => refused({ type: 'api_error' })) }));

  if (failure) throw failure;
  return (
    <fieldset aria-busy={!isReady}>
      <legend>{t('card')}</legend>
      {!isReady && <Waiting />}
      <div ref={place} />
      {problem && <Notice kind="bad">{problem}</Notice>}
    </fieldset>
  );
}

/** The look of the page, as Stripe's fields take it. */
function appearanceOf(isDark: boolean): Appearance {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  return {
    theme: isDark ? 'night' : 'stripe',
    variables: {
      colorPrimary: colour('--brand'),
      colorBackground: colour('--surface'),
      colorText: colour('--ink'),
      colorTextSecondary: colour('--soft'),
      colorTextPlaceholder: colour('--soft'),
      colorDanger: colour('--bad'),
      fontFamily: 'system-ui, sans-serif',
      borderRadius: '6px',
    },
  };
}

const dark = matchMedia('(prefers-color-scheme: dark)');
const onScheme = (changed: () => void) => {
  dark.addEventListener('change', changed);
  return () => dark.removeEventListener('change', changed);
};
const useIsDark = () => useSyncExternalStore(onScheme, () => dark.matches);
