import { Frame, type Seller } from '../parts/frame.js';
import { useText } from '../text/text.js';

/** A link that cannot be used any more: says why and what to do. */
export function Expired({
  reason,
  seller,
}: {
  reason: 'used' | 'expired' | 'over' | 'none' | 'unknown';
  seller?: Seller;
}) {
  const { t } = useText();
  return (
    <Frame title={t(`expired.title.${reason}`)} seller={seller}>
      <p>{t(`expired.why.${reason}`)}</p>
      <h2>{t('expired.do')}</h2>
      <ul>
        <li>{t('expired.do.account')}</li>
        <li>{t('expired.do.email')}</li>
        {seller?.email && <li>{t('expired.do.ask', { email: seller.email })}</li>}
      </ul>
      {seller?.homeUrl && (
        <a className="button" href={seller.homeUrl}>
          {t('expired.home')}
        </a>
      )}
    </Frame>
  );
}
