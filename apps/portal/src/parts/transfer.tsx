import type { Output } from '@recur/client';
import { lazy, Suspense } from 'react';
import { useText } from '../text/text.js';

export type Transfer = NonNullable<Output<'/portal/invoice/detail'>['transfer']>;

const Qr = lazy(() => import('./qr.js'));

/** The account that a transfer goes to, with the QR code that banking apps read where there is one. */
export function TransferDetails({ transfer }: { transfer: Transfer }) {
  const { t, amount } = useText();
  const { bank } = transfer;
  const rows: [string, string][] = [
    [t('transfer.amount'), amount(transfer.amount, transfer.currency)],
    [t('transfer.reference'), transfer.reference],
    [t('transfer.holder'), bank.accountHolder],
    ['IBAN', bank.iban],
    ['BIC', bank.bic || bank.swiftCode],
    [t('transfer.account'), bank.accountNumber],
    [t('transfer.bank'), bank.bankName],
    [t('transfer.bankAddress'), bank.address],
    ['ABA', bank.ABARoutingNumber],
    ['BSB', bank.bsbCode],
    ['CNAPS', bank.CNAPS],
    [t('transfer.remarks'), bank.Remarks],
  ];
  return (
    <section className="card">
      <h2>{t('transfer')}</h2>
      <p>{t('transfer.text')}</p>
      <dl>
        {rows
          .filter(([, value]) => value !== '')
          .map(([label, value]) => (
            <div key={label} className="pair">
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      {transfer.qr && (
        <figure>
          <Suspense>
            <Qr content={transfer.qr} label={t('transfer.qr')} />
          </Suspense>
          <figcaption className="small soft">{t('transfer.qr')}</figcaption>
        </figure>
      )}
    </section>
  );
}
