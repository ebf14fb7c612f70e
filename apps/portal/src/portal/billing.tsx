import { useState } from 'react';
import { changedDetails, DetailsFields, detailsOf } from '../parts/details.js';
import { Notice, Problem } from '../parts/notices.js';
import { useAction, useVisit } from '../session/calls.js';
import type { Exchanged } from '../session/session.js';
import { useText } from '../text/text.js';

export function BillingDetails() {
  const { session } = useVisit();
  return session && <DetailsForm user={session.user} />;
}

/** The details that bills are made out to; what was typed stays when saving fails. */
function DetailsForm({ user }: { user: Exchanged['user'] }) {
  const { t } = useText();
  const { client } = useVisit();
  const [saved, setSaved] = useState(detailsOf(user));
  const [details, setDetails] = useState(saved);
  const [isDone, setDone] = useState(false);
  const update = useAction((changed: object, idempotencyKey) =>
    client.post('/portal/user/update', changed, { idempotencyKey }),
  );
  const changed = changedDetails(saved, details);
  const submit = async () => {
    const answer = await update.start(changed);
    if (answer === undefined) return;
    setSaved(detailsOf(answer.user));
    setDetails(detailsOf(answer.user));
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
          setDetails(next);
        }}
      />
      <Problem error={update.error} />
      {isDone && <Notice kind="good">{t('saved')}</Notice>}
      <button type="submit" disabled={update.isBusy || Object.keys(changed).length === 0}>
        {t('save')}
      </button>
    </form>
  );
}
