import { useGet, useVisit } from '../session/calls.js';
import { useText } from '../text/text.js';

const PROMO = 2;

/** Credit accounts with their changes; nothing where there is no credit. */
export function Credits() {
  const { t, find, amount, date } = useText();
  const { session } = useVisit();
  const { data } = useGet('/portal/credit/detail', {});
  if (data === undefined || data.creditAccounts.length === 0) return null;
  return (
    <section className="card">
      <h2>{t('credits')}</h2>
      {data.creditAccounts.map(account => (
        <div className="row" key={account.id}>
          <span>{t(account.type === PROMO ? 'credits.promo' : 'credits.money')}</span>
          <strong className="amount">{amount(account.currencyAmount, account.currency)}</strong>
        </div>
      ))}
      {data.creditTransactions.length > 0 && (
        <details>
          <summary>{t('credits.changes')}</summary>
          <table>
            <caption className="hidden">{t('credits.changes')}</caption>
            <tbody>
              {data.creditTransactions.map(change => (
                <tr key={change.id}>
                  <td>
                    {change.name || change.description || find(`credits.kind.${change.transactionType}`)}
                    <div className="small soft">{date(change.createTime, session?.merchant.timeZone)}</div>
                  </td>
                  <td className="amount">{amount(change.deltaCurrencyAmount, change.currency)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </section>
  );
}
