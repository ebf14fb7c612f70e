import { useEffect, useMemo, useRef } from 'react';
import { Frame } from '../parts/frame.js';
import { lookOf, useLook } from '../parts/look.js';
import { OwnInvoice } from '../parts/open-invoice.js';
import { Whole } from '../parts/whole.js';
import { BillingDetails } from '../portal/billing.js';
import { ChangePlan } from '../portal/change-plan.js';
import { Credits } from '../portal/credits.js';
import { Invoices } from '../portal/invoices.js';
import { Methods } from '../portal/methods.js';
import { Subscriptions } from '../portal/subscriptions.js';
import { GoContext, useView, type View } from '../portal/view.js';
import { useGet, useVisit } from '../session/calls.js';
import { useText } from '../text/text.js';

/** The pages of a client session: the portal, and the change of a plan that a link may lead to at once. */
export default function VisitPage() {
  const { t } = useText();
  const { session } = useVisit();
  const template = useGet('/portal/look/detail', {});
  const look = lookOf(template.data?.checkout?.data);
  useLook(look);
  const first = useMemo<View>(() => {
    const isChange = session?.purpose === 'change_plan' && session.subscriptionId !== '';
    return isChange ? { kind: 'change', subscriptionId: session.subscriptionId } : { kind: 'portal' };
  }, [session]);
  const [view, go] = useView(first);
  const titles = { portal: t('portal.title'), change: t('change.title'), invoice: t('invoice.title') };
  const opened = JSON.stringify(view);
  return (
    <GoContext value={go}>
      <Frame title={titles[view.kind]} seller={session?.merchant} logo={look.logo}>
        <Arrival key={opened} />
        {view.kind !== 'portal' && (
          <p>
            <button type="button" className="plain" onClick={() => go({ kind: 'portal' })}>
              {t('back')}
            </button>
          </p>
        )}
        <Whole key={opened}>
          {view.kind === 'portal' && (
            <>
              <Subscriptions />
              <Invoices />
              <Methods />
              <Credits />
              <BillingDetails />
            </>
          )}
          {view.kind === 'change' && <ChangePlan subscriptionId={view.subscriptionId} />}
          {view.kind === 'invoice' && <OwnInvoice invoiceId={view.invoiceId} />}
          {session?.returnUrl && (
            <a className="button plain" href={session.returnUrl}>
              {t('return')}
            </a>
          )}
        </Whole>
      </Frame>
    </GoContext>
  );
}

/** Takes the focus when a view opens, so that a keyboard or a screen reader starts at its beginning. */
function Arrival() {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.focus({ preventScroll: true }), []);
  return <div ref={place} tabIndex={-1} className="arrival" />;
}
