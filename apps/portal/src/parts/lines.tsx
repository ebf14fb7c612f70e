import type { Output } from '@recur/client';
import { useText } from '../text/text.js';
import { taxReason, Why } from './why.js';

export type Invoice = Output<'/portal/invoice/detail'>['invoice'];
export type Explanation = Output<'/portal/invoice/detail'>['explanation'];

interface Props {
  invoice: Invoice;
  explanation?: Explanation;
  zone?: string;
  /** Shows the reasons at once, as before a change is confirmed. */
  isExplained?: boolean;
}

/** The lines and totals of an invoice, each line with its reason, as the API explains them. */
export function Lines({ invoice, explanation, zone, isExplained = false }: Props) {
  const text = useText();
  const { t, amount, date, number, percent } = text;
  const { currency } = invoice;
  const why = new Map(explanation?.lines.map(line => [line.lineId, line]));
  return (
    <table>
      <caption className="hidden">{t('lines')}</caption>
      <thead>
        <tr>
          <th scope="col">{t('lines.what')}</th>
          <th scope="col" className="amount">
            {t('lines.net')}
          </th>
        </tr>
      </thead>
      <tbody>
        {invoice.lines.map((line, at) => {
          // lines of a preview have no ids
          const reason = line.lineId ? why.get(line.lineId) : explanation?.lines[at];
          return (
            <tr key={line.lineId || `${at} ${line.name}`}>
              <td>
                <div>
                  <bdi>{line.name || line.description}</bdi>
                  {line.quantity !== 1 && <span className="soft"> × {number(line.quantity)}</span>}
                </div>
                {line.periodStart > 0 && (
                  <div className="small soft">
                    {date(line.periodStart, zone)} – {date(line.periodEnd, zone)}
                  </div>
                )}
                {reason && (
                  <details className="small" open={isExplained}>
                    <summary>{t('lines.why')}</summary>
                    <Why reason={reason} taxes={invoice.taxes} currency={currency} />
                  </details>
                )}
              </td>
              <td className="amount">{amount(line.amountExcludingTax, currency)}</td>
            </tr>
          );
        })}
      </tbody>
      <tfoot>
        {invoice.discountAmount !== 0 && (
          <Total label={t('total.discount')} text={amount(-invoice.discountAmount, currency)} />
        )}
        {invoice.promoCreditDiscountAmount !== 0 && (
          <Total label={t('total.credit')} text={amount(-invoice.promoCreditDiscountAmount, currency)} />
        )}
        <Total label={t('total.net')} text={amount(invoice.totalAmountExcludingTax, currency)} />
        {invoice.taxes.length === 0 && invoice.taxAmount !== 0 && (
          <Total
            label={t('total.tax', {
              rate: percent(invoice.taxPercentage),
              net: amount(invoice.totalAmountExcludingTax, currency),
            })}
            text={amount(invoice.taxAmount, currency)}
          />
        )}
        {invoice.taxes.map(tax => (
          <Total
            key={`${tax.category} ${tax.ratePpm} ${tax.jurisdiction}`}
            label={t('total.tax', { rate: percent(tax.ratePpm / 100), net: amount(tax.net, currency) })}
            reason={taxReason(text, tax)}
            text={amount(tax.tax, currency)}
          />
        ))}
        <Total label={t('total.total')} text={amount(invoice.totalAmount, currency)} isTotal />
        {invoice.partialCreditPaidAmount !== 0 && (
          <Total label={t('total.paidByCredit')} text={amount(-invoice.partialCreditPaidAmount, currency)} />
        )}
        {invoice.surplusAmount !== 0 && (
          <Total label={t('total.surplus')} text={amount(invoice.surplusAmount, currency)} />
        )}
      </tfoot>
    </table>
  );
}

function Total(total: { label: string; text: string; reason?: string; isTotal?: boolean }) {
  return (
    <tr className={total.isTotal ? 'total' : undefined}>
      <th scope="row">
        {total.label}
        {total.reason && <div className="small soft">{total.reason}</div>}
      </th>
      <td className="amount">{total.text}</td>
    </tr>
  );
}
