import { integer, table, text } from '@recur/platform';

/** The picture at a URL that a merchant has had as its logo. */
export interface SellerLogo {
  merchantId: number;
  url: string;
  /** Base64; '' where there was no picture. */
  image: string;
  /** Unix seconds on the merchant's clock. */
  fetchTime: number;
}

export const sellerLogos = table<SellerLogo>('seller_logos', {
  columns: { merchantId: integer(), url: text(), image: text(), fetchTime: integer() },
  key: ['merchantId', 'url'],
  replaced: true,
});
