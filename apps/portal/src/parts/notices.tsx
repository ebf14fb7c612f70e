import type { Failure } from '@recur/client';
import type { ReactNode } from 'react';
import { useText } from '../text/text.js';

export function Notice({ kind = 'info', children }: { kind?: 'info' | 'good' | 'bad'; children: ReactNode }) {
  return (
    <div className={`notice ${kind}`} role={kind === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}

/** The reason of a failure, in the reader's language where it is a known error, and how to ask about it. */
export function Problem({ error, retry }: { error: Failure | undefined; retry?: () => void }) {
  const { t, find } = useText();
  if (error === undefined || error.type === 'aborted') return null;
  return (
    <Notice kind="bad">
      <p>{find(`error.${error.type}`) ?? error.message}</p>
      {error.issues.length > 0 && (
        <ul>
          {error.issues.map(issue => (
            <li key={issue.path}>{find(`details.${issue.path.slice(1)}`) ?? issue.message}</li>
          ))}
        </ul>
      )}
      {error.requestId && <p className="small">{t('error.reference', { id: error.requestId })}</p>}
      {retry && (
        <button type="button" className="plain" onClick={retry}>
          {t('again')}
        </button>
      )}
    </Notice>
  );
}

export function Waiting() {
  const { t } = useText();
  return (
    <p role="status" className="waiting">
      <span className="spinner" aria-hidden="true" />
      {t('loading')}
    </p>
  );
}

/** A page of a gateway or a bank. It opens beside this one, whose session would end with it. */
export function Elsewhere({ url, text, label }: { url: string; text: string; label: string }) {
  return (
    <Notice>
      <p>{text}</p>
      <a className="button" href={url} target="_blank" rel="noreferrer">
        {label}
      </a>
    </Notice>
  );
}
