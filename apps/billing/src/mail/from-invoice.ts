import { exponentOf, type Invoice, type InvoiceMerchant, invoiceStatus, type User } from '@recur/contracts';
import { languageOf } from '@recur/kernel';
import type { MailFacts, MailKind } from './compose.js';

/** Where an e-mail leads, if not to the invoice's payment page. */
export interface MailOptions {
  link?: string;
}

/** The name by which an e-mail calls its user. */
export const buyerName = ({ firstName, lastName, companyName, email }: User): string =>
  [firstName, lastName].filter(Boolean).join(' ') || companyName || email;

/** The facts of an e-mail about an invoice, to its user, in the user's language. */
export function mailAbout(
  kind: MailKind,
  invoice: Invoice,
  seller: InvoiceMerchant,
  user: User,
  { link }: MailOptions = {},
): MailFacts {
  const isOpen = invoice.status === invoiceStatus.processing;
  const left = isOpen ? invoice.totalAmount - invoice.partialCreditPaidAmount : invoice.totalAmount;
  return {
    kind,
    language: languageOf(user.language),
    userId: user.id,
    email: user.email,
    buyerName: buyerName(user),
    plan: '',
    oldAmount: 0n,
    sellerName: seller.companyName || seller.name,
    sellerEmail: seller.email,
    invoiceId: invoice.invoiceId,
    number: invoice.number,
    currency: invoice.currency,
    decimals: exponentOf(invoice.currency),
    amount: BigInt(left),
    dueAt: isOpen ? invoice.deadline : 0,
    timeZone: seller.timeZone,
    link: isOpen ? (link ?? invoice.paymentLink) : '',
    documentLink: invoice.gatewayInvoicePdf,
    // the method of an open invoice has failed, or has to be confirmed
    method: kind === 'credit_note' || kind === 'last_notice' ? '' : (invoice.payment?.paymentMethodName ?? ''),
  };
}
