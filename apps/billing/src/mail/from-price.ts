import type { InvoiceMerchant, User } from '@recur/contracts';
import type { Language } from '@recur/kernel';
import type { MailFacts } from './compose.js';
import { buyerName } from './from-invoice.js';

/** A price change as an e-mail tells it: amounts in minor units, the date from which it holds in unix seconds. */
export interface PriceFacts {
  plan: string;
  currency: string;
  decimals: number;
  oldAmount: bigint;
  amount: bigint;
  from: number;
  timeZone: string;
  language: Language;
}

/** The facts of an e-mail about a price change, or about one that does not take place. */
export const mailAboutPrice = (
  kind: 'price_change' | 'price_kept',
  { from, ...price }: PriceFacts,
  seller: InvoiceMerchant,
  user: User,
): MailFacts => ({
  ...price,
  kind,
  userId: user.id,
  email: user.email,
  buyerName: buyerName(user),
  sellerName: seller.companyName || seller.name,
  sellerEmail: seller.email,
  invoiceId: '',
  number: '',
  method: '',
  link: '',
  documentLink: '',
  dueAt: from,
});
