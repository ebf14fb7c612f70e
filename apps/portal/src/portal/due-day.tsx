import { useState } from 'react';
import { Notice, Problem } from '../parts/notices.js';
import { useAction, useVisit } from '../session/calls.js';
import { useText } from '../text/text.js';
import type { Detail } from './subscriptions.js';

interface Props {
  subscription: Detail['subscription'];
  unit: string;
}

/** Days of a month, or weekdays for plans by the week; a daily plan has none to choose. */
const daysOf = (unit: string) => (unit === 'day' ? 0 : unit === 'week' ? 7 : 31);

/** The day on which periods begin. A monday begins the week of ISO 8601. */
export function DueDay({ subscription, unit }: Props) {
  const { t, language, amount } = useText();
  const { client } = useVisit();
  const [day, setDay] = useState('');
  const [done, setDone] = useState('');
  const { subscriptionId } = subscription;
  const action = useAction((dueDay: number, idempotencyKey) =>
    client.post('/portal/subscription/change_due_day', { subscriptionId, dueDay }, { idempotencyKey }),
  );
  const count = daysOf(unit);
  if (count === 0) return null;
  const weekday = (iso: number) =>
    new Intl.DateTimeFormat(language, { weekday: 'long', timeZone: 'UTC' }).format(Date.UTC(2024, 0, iso));
  const submit = async () => {
    const changed = await action.start(Number(day));
    if (changed === undefined) return;
    const { invoice } = changed;
    setDone(invoice ? t('due.invoice', { amount: amount(invoice.totalAmount, invoice.currency) }) : t('due.done'));
  };
  return (
    <details>
      <summary>{t('due')}</summary>
      <form
        onSubmit={event => {
          event.preventDefault();
          void submit();
        }}
      >
        <p className="small soft">{t('due.why')}</p>
        <label className="field">
          {t('due.day')}
          <select
            value={day}
            required
            onChange={event => {
              setDone('');
              setDay(event.target.value);
            }}
          >
            <option value="">–</option>
            {Array.from({ length: count }, (_, at) => String(at + 1)).map(each => (
              <option key={each} value={each}>
                {count === 7 ? weekday(Number(each)) : each}
              </option>
            ))}
          </select>
        </label>
        <Problem error={action.error} />
        {done && <Notice kind="good">{done}</Notice>}
        <button type="submit" className="plain" disabled={action.isBusy || day === ''}>
          {t('save')}
        </button>
      </form>
    </details>
  );
}
