import type { Output } from '@recur/client';
import { useId } from 'react';
import { useText } from '../text/text.js';

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

/** The choice that is made for the user: the default method of the preferred or first gateway. */
export function firstChoice(
  gateways: readonly Gateway[],
  methods: readonly Method[],
  preferred = 0,
): Choice | undefined {
  const gateway =
    gateways.find(({ gatewayId }) => gatewayId === preferred) ?? gateways.find(each => each.isDefault) ?? gateways[0];
  if (gateway === undefined) return undefined;
  const own = methods.filter(({ gatewayId }) => gatewayId === gateway.gatewayId);
  const method = own.find(each => each.isDefault) ?? own[0];
  return method ? { gatewayId: gateway.gatewayId, paymentMethodId: method.id } : newMethod(gateway);
}

const newMethod = ({ gatewayId, gatewayName }: Gateway): Choice =>
  gatewayName === TEST_CARDS ? { gatewayId, data: { scenario: testCards[0] } } : { gatewayId };

interface Props {
  gateways: readonly Gateway[];
  methods?: readonly Method[];
  choice: Choice | undefined;
  onChoose(choice: Choice): void;
}

/** Names that gateways have unless their merchant gives them another: these are said in the reader's language. */
const given = new Set(['', 'Wire Transfer', 'Stripe']);

/** Radio buttons over all ways to pay. The sandbox has test cards instead of a card form. */
export function PaymentChoice({ gateways, methods = [], choice, onChoose }: Props) {
  const { t, find } = useText();
  const group = useId();
  if (gateways.length === 0) return <p>{t('pay.none')}</p>;
  const isChosen = ({ gatewayId }: Gateway, methodId?: string) =>
    choice?.gatewayId === gatewayId && choice.paymentMethodId === methodId;
  return (
    <fieldset>
      <legend>{t('pay.how')}</legend>
      {gateways.flatMap(gateway => {
        const { displayName, gatewayName } = gateway;
        const name = (given.has(displayName) && find(`gateway.${gatewayName}`)) || displayName || gatewayName;
        const own = methods.filter(({ gatewayId }) => gatewayId === gateway.gatewayId);
        const label = gateway.autoChargeEnabled && own.length > 0 ? t('pay.new', { name }) : name;
        return [
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
            <span>{label}</span>
          </label>,
          isChosen(gateway) && gateway.gatewayName === TEST_CARDS && (
            <TestCard key={`${gateway.gatewayId} card`} choice={choice} onChoose={onChoose} />
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
