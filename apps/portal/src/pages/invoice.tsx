import { Frame } from '../parts/frame.js';
import { InvoicePanel } from '../parts/invoice.js';
import { lookOf, useLook } from '../parts/look.js';
import { Problem, Waiting } from '../parts/notices.js';
import { usePost, useVisit } from '../session/calls.js';
import { useText } from '../text/text.js';
import { Expired } from './expired.js';

/** The page of a payment link: the invoice, and how to pay it. */
export default function InvoicePage({ token }: { token: string }) {
  const { t } = useText();
  const { client } = useVisit();
  const { data, error, reload } = usePost('/portal/invoice/open', { token });
  const look = lookOf(data?.checkout?.data);
  useLook(look);
  if (error?.type === 'invoice_not_found') return <Expired reason="unknown" />;
  return (
    <Frame title={t('invoice.title')} seller={data?.invoice.merchant} logo={look.logo}>
      <Problem error={error} retry={reload} />
      {data === undefined && error === undefined && <Waiting />}
      {data && (
        <InvoicePanel
          shown={data}
          gateways={data.gateways}
          reload={reload}
          pay={(choice, idempotencyKey) =>
            client.post('/portal/invoice/pay_link', { token, ...choice }, { idempotencyKey })
          }
        />
      )}
    </Frame>
  );
}
