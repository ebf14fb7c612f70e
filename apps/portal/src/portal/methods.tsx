import { useState } from 'react';
import { Elsewhere, Problem, Waiting } from '../parts/notices.js';
import { type Choice, choiceOf, type Method, methodName, PaymentChoice, useCardFields } from '../parts/payment.js';
import { useAction, useGet, useVisit } from '../session/calls.js';
import { useMethods } from '../session/methods.js';
import { useText } from '../text/text.js';

/** The saved payment methods: add, delete, and the one that is charged. */
export function Methods() {
  const { t } = useText();
  const { methods, page, setPage } = useMethods();
  const { data, error, reload } = methods;
  return (
    <section className="card">
      <h2>{t('methods')}</h2>
      <Problem error={error} retry={reload} />
      {data === undefined && error === undefined && <Waiting />}
      {data?.methods.length === 0 && <p>{t('methods.none')}</p>}
      {data?.methods.map(method => (
        <SavedMethod key={`${method.gatewayId} ${method.id}`} method={method} />
      ))}
      <NewMethod page={page} onPage={setPage} />
    </section>
  );
}

function SavedMethod({ method }: { method: Method }) {
  const { t } = useText();
  const { client } = useVisit();
  const which = { gatewayId: method.gatewayId, paymentMethodId: method.id };
  const prefer = useAction((_: null, idempotencyKey) =>
    client.post('/portal/payment_method/set_default', which, { idempotencyKey }),
  );
  const remove = useAction((_: null, idempotencyKey) =>
    client.post('/portal/payment_method/delete', which, { idempotencyKey }),
  );
  const isBusy = prefer.isBusy || remove.isBusy;
  const name = methodName(method);
  return (
    <div>
      <div className="row middle">
        <span>
          {name} {method.isDefault && <strong>· {t('methods.default')}</strong>}
        </span>
        <span className="actions">
          {!method.isDefault && (
            <button
              type="button"
              className="plain"
              disabled={isBusy}
              aria-label={`${t('methods.prefer')}: ${name}`}
              onClick={() => void prefer.start(null)}
            >
              {t('methods.prefer')}
            </button>
          )}
          <button
            type="button"
            className="plain"
            disabled={isBusy}
            aria-label={`${t('methods.delete')}: ${name}`}
            onClick={() => void remove.start(null)}
          >
            {t('methods.delete')}
          </button>
        </span>
      </div>
      <Problem error={prefer.error ?? remove.error} />
    </div>
  );
}

interface NewMethodProps {
  /** Where the method that was added last has to be confirmed, '' for nowhere. */
  page: string;
  onPage(page: string): void;
}

function NewMethod({ page, onPage }: NewMethodProps) {
  const { t } = useText();
  const { client } = useVisit();
  const [chosen, setChosen] = useState<Choice>();
  const { data, error, reload } = useGet('/portal/gateway/list', {});
  const gateways = data?.gateways.filter(each => each.autoChargeEnabled) ?? [];
  const choice = choiceOf(chosen, gateways, []);
  const [isOpen, setOpen] = useState(false);
  const [added, setAdded] = useState(0);
  const card = useCardFields(gateways);
  const add = useAction(({ gatewayId, data: entered }: Choice, idempotencyKey) =>
    client.post('/portal/payment_method/new', { gatewayId, data: entered }, { idempotencyKey }),
  );
  if (gateways.length === 0) return <Problem error={error} retry={reload} />;
  const submit = async () => {
    const whole = choice && (await card.complete(choice));
    const made = whole && (await add.start(whole));
    if (made === undefined) return;
    onPage(made.url);
    // the fields of the next card are empty
    setAdded(added + 1);
  };
  return (
    <details onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>{t('methods.new')}</summary>
      <form
        onSubmit={event => {
          event.preventDefault();
          void submit();
        }}
      >
        {isOpen && (
          <PaymentChoice key={added} gateways={gateways} choice={choice} onChoose={setChosen} card={card.ref} />
        )}
        <Problem error={add.error} />
        {page && <Elsewhere url={page} text={t('methods.page')} label={t('pay.open')} />}
        <button type="submit" disabled={add.isBusy || card.isReading}>
          {t('methods.add')}
        </button>
      </form>
    </details>
  );
}
