import type { ReactNode } from 'react';
import { useGet, useVisit } from '../session/calls.js';
import { InvoicePanel, stateOf } from './invoice.js';
import { Problem, Waiting } from './notices.js';
import type { Choice } from './payment.js';

interface Props {
  invoiceId: string;
  /** How it is paid at once, without another press. */
  begin?: Choice;
  /** Shown above it once it is paid. */
  paid?: ReactNode;
}

/** An invoice of the visit's user, payable with their saved methods. */
export function OwnInvoice({ invoiceId, begin, paid }: Props) {
  const { client } = useVisit();
  const invoice = useGet('/portal/invoice/detail', { invoiceId });
  const gateways = useGet('/portal/gateway/list', {});
  const methods = useGet('/portal/payment_method/list', {});
  const failed = [invoice, gateways, methods].find(({ error }) => error);
  const problem = failed && <Problem error={failed.error} retry={failed.reload} />;
  if (!invoice.data || !gateways.data || !methods.data) return problem ?? <Waiting />;
  return (
    <>
      {problem}
      {stateOf(invoice.data.invoice) === 'paid' && paid}
      <InvoicePanel
        shown={invoice.data}
        gateways={gateways.data.gateways}
        methods={methods.data.methods}
        begin={begin}
        reload={invoice.reload}
        pay={(choice, idempotencyKey) =>
          client.post('/portal/invoice/pay', { invoiceId, ...choice }, { idempotencyKey })
        }
        announce={idempotencyKey => client.post('/portal/invoice/wire_sent', { invoiceId }, { idempotencyKey })}
      />
    </>
  );
}
