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
  const { data, error, reload } = useGet('/portal/invoice/detail', { invoiceId });
  const { data: gateways } = useGet('/portal/gateway/list', {});
  const { data: saved } = useGet('/portal/payment_method/list', {});
  if (data === undefined || gateways === undefined || saved === undefined)
    return error ? <Problem error={error} retry={reload} /> : <Waiting />;
  return (
    <>
      <Problem error={error} retry={reload} />
      {stateOf(data.invoice) === 'paid' && paid}
      <InvoicePanel
        shown={data}
        gateways={gateways.gateways}
        methods={saved.methods}
        begin={begin}
        reload={reload}
        pay={(choice, idempotencyKey) =>
          client.post('/portal/invoice/pay', { invoiceId, ...choice }, { idempotencyKey })
        }
        announce={idempotencyKey => client.post('/portal/invoice/wire_sent', { invoiceId }, { idempotencyKey })}
      />
    </>
  );
}
