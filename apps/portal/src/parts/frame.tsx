import type { ReactNode } from 'react';
import { type Language, languages } from '../text/languages.js';
import { useText } from '../text/text.js';

export interface Seller {
  name: string;
  companyName: string;
  homeUrl: string;
  email: string;
}

interface Props {
  seller?: Seller | null;
  /** A picture as a data:image URL: the pages ask no other host. */
  logo?: string;
  title: string;
  children: ReactNode;
}

/** Head and foot of every page, with the merchant's name and logo. */
export function Frame({ seller, logo, title, children }: Props) {
  const { t, language, setLanguage } = useText();
  const name = seller?.companyName || seller?.name || '';
  return (
    <>
      <title>{name ? `${title} · ${name}` : title}</title>
      <header>
        <div className="seller">
          {logo && <img src={logo} alt="" height={32} />}
          {name && <bdi>{name}</bdi>}
        </div>
        <label className="language">
          <span className="hidden">{t('language')}</span>
          <select value={language} onChange={event => setLanguage(event.target.value as Language)}>
            {Object.entries(languages).map(([code, label]) => (
              <option key={code} value={code} lang={code}>
                {label}
              </option>
            ))}
          </select>
        </label>
      </header>
      <main>
        <h1>
          <bdi>{title}</bdi>
        </h1>
        {children}
      </main>
      <footer>
        {seller?.email && <a href={`mailto:${seller.email}`}>{t('contact', { name: name || seller.email })}</a>}
      </footer>
    </>
  );
}
