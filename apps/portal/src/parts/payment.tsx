import type { Output } from '@recur/client';
import { lazy, type Ref, Suspense, useId, useRef, useState } from 'react';
import { useText } from '../text/text.js';
import { Boundary } from './boundary.js';
import type { CardReader } from './card-fields.js';
import { Notice, Waiting } from './notices.js';

export type Gateway = Output<'/portal/gateway/list'>['gateways'][number];
export type Method = Output<'/portal/payment_method/list'>['methods'][number];

/** The way to pay: a saved method, a new one, or a gateway that needs none. */
export interface Choice {
  gatewayId: number;
  paymentMethodId?: string;
  data?: Record<string, unknown>;
}

const TEST_CARDS = 'sandbox';
const testCards = ['succeeds', 'needs_action', 'declines_hard'] as const;

/** "Visa •••• 4242", from what the gateway tells of a method. */
export function methodName({ type, data }: Pick<Method, 'type' | 'data'>): string {
  const { brand, last4, scenario } = data as Record<string, unknown>;
  const words = [brand ?? scenario ?? type, last4 && `•••• ${last4}`];
  return words.filter(Boolean).join(' ');
}

/** The choice of the user, unless its gateway is not offered any more; else the first one. */
export const choiceOf = (
  chosen: Choice | undefined,
  gateways: readonly Gateway[],
  methods: readonly Method[],
  preferred = 0,
): Choice | undefined =>
  gateways.some(({ gatewayId }) => gatewayId === chosen?.gatewayId)
    ? chosen
    : firstChoice(gateways, methods, preferred);

/** The choice that is made for the user: the default method of the preferred or first gateway. */
function firstChoice(gateways: readonly Gateway[], methods: readonly Method[], preferred: number): Choice | undefined {
  const gateway =
    gateways.find(({ gatewayId }) => gatewayId === preferred) ?? gateways.find(each => each.isDefault) ?? gateways[0];
  if (gateway === undefined) return undefined;
  const own = methods.filter(({ gatewayId }) => gatewayId === gateway.gatewayId);
  const method = own.find(each => each.isDefault) ?? own[0];
  return method ? { gatewayId: gateway.gatewayId, paymentMethodId: method.id } : newMethod(gateway);
}

function newMethod({ gatewayId, gatewayName, autoChargeEnabled, publicKey }: Gateway): Choice {
  if (gatewayName === TEST_CARDS) return { gatewayId, data: { scenario: testCards[0] } };
  // without fields of its own, a gateway takes the card on a page that it answers
  return autoChargeEnabled && publicKey === '' ? { gatewayId, data: {} } : { gatewayId };
}

/** True for a card that was read from a gateway's fields. */
export const isCardRead = (choice: Choice) => typeof choice.data?.paymentMethodId === 'string';

const isTyped = ({ publicKey }: Gateway, { paymentMethodId, data }: Choice) =>
  publicKey !== '' && paymentMethodId === undefined && data === undefined;

/**
 * The card fields that a form may have. `complete` reads them where the choice is a card to be typed: it answers the choice
 * with that card; undefined where the fields say what is wrong, or are being read.
 */
export function useCardFields(gateways: readonly Gateway[]) {
  const ref = useRef<CardReader>(null);
  const underWay = useRef(false);
  const [isReading, setReading] = useState(false);
  const complete = async (choice: Choice): Promise<Choice | undefined> => {
    const gateway = gateways.find(({ gatewayId }) => gatewayId === choice.gatewayId);
    if (gateway === undefined || !isTyped(gateway, choice)) return choice;
    if (underWay.current) return undefined;
    underWay.current = true;
    setReading(true);
    const paymentMethodId = await ref.current?.read();
    underWay.current = false;
    setReading(false);
    return paymentMethodId ? { ...choice, data: { paymentMethodId } } : undefined;
  };
  return { ref, isReading, complete };
}

interface Props {
  gateways: readonly Gateway[];
  methods?: readonly Method[];
  choice: Choice | undefined;
  onChoose(choice: Choice): void;
  /** A card that was read before, which can be paid by again. */
  entered?: Choice;
  card: Ref<CardReader>;
}

/** Names that gateways have unless their merchant gives them another: these are said in the reader's language. */
const given = new Set(['', 'Wire Transfer', 'Stripe']);

/** Radio buttons over all ways to pay. A card is typed into the gateway's own fields; the sandbox has test cards instead. */
export function PaymentChoice({ gateways, methods = [], choice, onChoose, entered, card }: Props) {
  const { t, find } = useText();
  const group = useId();
  if (gateways.length === 0) return <p>{t('pay.none')}</p>;
  const isChosen = ({ gatewayId }: Gateway, methodId?: string) =>
    choice !== entered && choice?.gatewayId === gatewayId && choice.paymentMethodId === methodId;
  return (
    <fieldset>
      <legend>{t('pay.how')}</legend>
      {gateways.flatMap(gateway => {
        const { displayName, gatewayName } = gateway;
        const name = (given.has(displayName) && find(`gateway.${gatewayName}`)) || displayName || gatewayName;
        const own = methods.filter(({ gatewayId }) => gatewayId === gateway.gatewayId);
        const hasEntered = entered?.gatewayId === gateway.gatewayId;
        const isNew = gateway.autoChargeEnabled && (own.length > 0 || hasEntered);
        return [
          hasEntered && (
            <label className="choice" key={`${gateway.gatewayId} entered`}>
              <input type="radio" name={group} checked={choice === entered} onChange={() => onChoose(entered)} />
              <span>{t('card.entered')}</span>
            </label>
          ),
          ...own.map(method => (
            <label className="choice" key={`${gateway.gatewayId} ${method.id}`}>
              <input
                type="radio"
                name={group}
                checked={isChosen(gateway, method.id)}
                onChange={() => onChoose({ gatewayId: gateway.gatewayId, paymentMethodId: method.id })}
              />
              <span>{methodName(method)}</span>
            </label>
          )),
          <label className="choice" key={gateway.gatewayId}>
            <input
              type="radio"
              name={group}
              checked={isChosen(gateway)}
              onChange={() => onChoose(newMethod(gateway))}
            />
            <span>{isNew ? t('pay.new', { name }) : name}</span>
          </label>,
          isChosen(gateway) && gateway.gatewayName === TEST_CARDS && (
            <TestCard key={`${gateway.gatewayId} card`} choice={choice} onChoose={onChoose} />
          ),
          isChosen(gateway) && gateway.publicKey !== '' && (
            <OwnFields key={`${gateway.gatewayId} fields`} publicKey={gateway.publicKey} card={card} />
          ),
        ];
      })}
    </fieldset>
  );
}

function TestCard({ choice, onChoose }: Pick<Props, 'choice' | 'onChoose'>) {
  const { t } = useText();
  return (
    <label className="field">
      {t('pay.testCard')}
      <select
        value={String(choice?.data?.scenario ?? testCards[0])}
        onChange={event => choice && onChoose({ ...choice, data: { scenario: event.target.value } })}
      >
        {testCards.map(scenario => (
          <option key={scenario} value={scenario}>
            {t(`pay.testCard.${scenario}`)}
          </option>
        ))}
      </select>
    </label>
  );
}

const loadFields = () => lazy(() => import('./card-fields.js'));

/** The gateway's own card fields, whose code and script are loaded once they are shown. */
function OwnFields({ publicKey, card }: { publicKey: string; card: Ref<CardReader> }) {
  const { t } = useText();
  const [{ CardFields, attempt }, setShown] = useState(() => ({ CardFields: loadFields(), attempt: 1 }));
  const failed = (
    <Notice kind="bad">
      <p>{t('card.missing')}</p>
      <button
        type="button"
        className="plain"
        onClick={() => setShown({ CardFields: loadFields(), attempt: attempt + 1 })}
      >
        {t('again')}
      </button>
    </Notice>
  );
  return (
    <Boundary key={attempt} fallback={failed}>
      <Suspense fallback={<Waiting />}>
        <CardFields publicKey={publicKey} ref={card} />
      </Suspense>
    </Boundary>
  );
}
