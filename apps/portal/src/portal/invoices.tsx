import { useState } from 'react';
import { stateOf } from '../parts/invoice.js';
import { Problem, Waiting } from '../parts/notices.js';
import { useGet, useVisit } from '../session/calls.js';
import { useText } from '../text/text.js';
import { useGo } from './view.js';

const fewest = 10;
const most = 100;

/** The invoices, newest first, each with its page and its PDF. */
export function Invoices() {
  const { t, amount, date } = useText();
  const { session } = useVisit();
  const go = useGo();
  const [count, setCount] = useState(fewest);
  const { data, error, reload } = useGet('/portal/invoice/list', { page: 0, count });
  return (
    <section className="card">
      <h2>{t('invoices')}</h2>
      <Problem error={error} retry={reload} />
      {data === undefined && error === undefined && <Waiting />}
      {data?.invoices.length === 0 && <p>{t('invoices.none')}</p>}
      {data && data.invoices.length > 0 && (
        <table>
          <caption className="hidden">{t('invoices')}</caption>
          <tbody>
            {data.invoices.map(invoice => (
              <tr key={invoice.invoiceId}>
                <td>
                  <button
                    type="button"
                    className="link"
                    onClick={() => go({ kind: 'invoice', invoiceId: invoice.invoiceId })}
                  >
                    {invoice.number || invoice.invoiceId}
                  </button>
                  <div className="small soft">
                    {date(invoice.finishTime || invoice.createTime, session?.merchant.timeZone)} ·{' '}
                    {t(`invoice.state.${stateOf(invoice)}`)}
                  </div>
                </td>
                <td className="amount">
                  <div>{amount(invoice.totalAmount, invoice.currency)}</div>
                  {invoice.sendPdf && (
                    <a className="small" href={invoice.sendPdf} target="_blank" rel="noreferrer">
                      PDF<span className="hidden"> {invoice.number}</span>
                    </a>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {data && data.total > data.invoices.length && count < most && (
        <button type="button" className="plain" onClick={() => setCount(Math.min(count * 3, most))}>
          {t('more')}
        </button>
      )}
    </section>
  );
}
