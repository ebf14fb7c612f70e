import { useState } from 'react';
import { changedDetails, type Details, DetailsFields, detailsOf } from '../parts/details.js';
import { Notice, Problem } from '../parts/notices.js';
import { learn, useAction, useGet, useVisit } from '../session/calls.js';
import type { Exchanged } from '../session/session.js';
import { useText } from '../text/text.js';

export function BillingDetails() {
  const { session } = useVisit();
  return session && <DetailsForm session={session} />;
}

/** The details that bills are made out to; what was typed stays when saving fails, and what is typed while it is saved. */
function DetailsForm({ session }: { session: Exchanged }) {
  const { t } = useText();
  const { client } = useVisit();
  const { user } = useGet('/portal/user/detail', {}).data ?? session;
  const [typed, setTyped] = useState<Partial<Details>>({});
  const [isDone, setDone] = useState(false);
  const update = useAction((changed: object, idempotencyKey) =>
    client.post('/portal/user/update', changed, { idempotencyKey }),
  );
  const saved = detailsOf(user);
  const details = { ...saved, ...typed };
  const changed = changedDetails(saved, details);
  const isChanged = Object.keys(changed).length > 0;
  const submit = async () => {
    const answer = await update.start(changed);
    if (answer === undefined) return;
    learn('/portal/user/detail', {}, answer);
    setTyped(now => changedDetails(details, { ...details, ...now }));
    setDone(true);
  };
  return (
    <form
      className="card"
      onSubmit={event => {
        event.preventDefault();
        void submit();
      }}
    >
      <h2>{t('details')}</h2>
      <DetailsFields
        details={details}
        error={update.error}
        onChange={next => {
          setDone(false);
          setTyped({ ...typed, ...changedDetails(details, next) });
        }}
      />
      <Problem error={update.error} />
      {isDone && !isChanged && <Notice kind="good">{t('saved')}</Notice>}
      <button type="submit" disabled={update.isBusy || !isChanged}>
        {t('save')}
      </button>
    </form>
  );
}
