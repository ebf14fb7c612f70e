import type { Failure, Result } from '@recur/client';
import { QueryClientProvider } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useEffect, useState } from 'react';
import type { Address } from './address.js';
import { useKeptFocus } from './focus.js';
import { Expired } from './pages/expired.js';
import { Boundary } from './parts/boundary.js';
import { Frame } from './parts/frame.js';
import { Notice, Problem, Waiting } from './parts/notices.js';
import { queries, useVisit, VisitContext } from './session/calls.js';
import type { Exchanged, Session } from './session/session.js';
import { TextProvider, useText } from './text/text.js';

// a visit loads the code of the page it opens
const CheckoutPage = lazy(() => import('./pages/checkout.js'));
const VisitPage = lazy(() => import('./pages/visit.js'));
const InvoicePage = lazy(() => import('./pages/invoice.js'));

interface Props {
  address: Address;
  session: Session;
  /** Exchanges the address's client session; absent where the address has none. */
  open?: () => Promise<Result<Exchanged>>;
}

export function App(props: Props) {
  const [exchanged, setExchanged] = useState<Result<Exchanged>>();
  const [isOver, setOver] = useState(false);
  const { open, session } = props;
  const start = useCallback(() => {
    setExchanged(undefined);
    open?.().then(setExchanged);
  }, [open]);
  useKeptFocus();
  useEffect(() => {
    session.onOver(() => setOver(true));
    start();
  }, [session, start]);
  const visit = exchanged?.ok ? exchanged.data : undefined;
  return (
    <TextProvider preferred={visit?.user.language ?? ''}>
      <Boundary fallback={<Broken />}>
        {isOver ? (
          <Expired reason="over" seller={visit?.merchant} />
        ) : open !== undefined && exchanged === undefined ? (
          <Opening />
        ) : exchanged?.ok === false ? (
          <Refused error={exchanged.error} retry={start} />
        ) : (
          <VisitContext value={{ client: session.client, session: visit }}>
            <QueryClientProvider client={queries}>
              <Page address={props.address} />
            </QueryClientProvider>
          </VisitContext>
        )}
      </Boundary>
    </TextProvider>
  );
}

function Page({ address }: { address: Address }) {
  const { session } = useVisit();
  if (address.page === 'none' || (address.page === 'checkout' && session === undefined))
    return <Expired reason="none" />;
  return (
    <Suspense fallback={<Opening />}>
      {address.page === 'session' && <VisitPage />}
      {address.page === 'checkout' && <CheckoutPage {...address} />}
      {address.page === 'invoice' && <InvoicePage token={address.token} />}
    </Suspense>
  );
}

function Opening() {
  const { t } = useText();
  return (
    <Frame title={t('opening')}>
      <Waiting />
    </Frame>
  );
}

function Refused({ error, retry }: { error: Failure; retry: () => void }) {
  const { t } = useText();
  if (error.type === 'client_session_used') return <Expired reason="used" />;
  if (error.type === 'client_session_expired' || error.status === 401) return <Expired reason="expired" />;
  return (
    <Frame title={t('opening.failed')}>
      <Problem error={error} retry={retry} />
    </Frame>
  );
}

function Broken() {
  const { t } = useText();
  return (
    <Frame title={t('broken.title')}>
      <Notice kind="bad">{t('broken.text')}</Notice>
    </Frame>
  );
}
