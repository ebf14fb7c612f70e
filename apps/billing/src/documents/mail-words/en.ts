/** The e-mails to a user: subject and text of each kind. Placeholders are written `{name}`. */
export const en = {
  greeting: 'Hello {buyer},',
  regards: 'Kind regards,\n{seller}',
  pay: 'Pay here: {link}',
  view: 'Your document as a PDF: {document}',
  method: 'Payment method: {method}',
  invoiceTitle: 'Invoice {number} from {seller}',
  invoiceText: 'Attached is invoice {number} over {amount}. It is due on {due}.',
  receiptTitle: 'Invoice {number} from {seller} is paid',
  receiptText: 'Attached is invoice {number} over {amount}. Nothing is left to pay.',
  creditNoteTitle: 'Credit note {number} from {seller}',
  creditNoteText: 'Attached is credit note {number} over {amount}.',
  paymentFailedTitle: 'Payment of invoice {number} failed',
  paymentFailedText:
    'The payment of {amount} for invoice {number} did not go through. Please check your payment method, or pay by {due}.',
  lastNoticeTitle: 'Last notice: invoice {number} is still open',
  lastNoticeText: 'Invoice {number} over {amount} is still unpaid. Please pay by {due}.',
  needsActionTitle: 'Please confirm your payment of invoice {number}',
  needsActionText: 'Your bank asks you to confirm the payment of {amount} for invoice {number}.',
  priceChangeTitle: 'The price of {plan} changes on {due}',
  priceChangeText: 'The price of {plan} changes from {old} to {amount}. The new price holds from {due} on.',
  priceKeptTitle: 'The price of {plan} stays as it is',
  priceKeptText:
    'The price change of {plan} that we announced for {due} does not take place: the price stays {amount}.',
};
export type MailWords = typeof en;
