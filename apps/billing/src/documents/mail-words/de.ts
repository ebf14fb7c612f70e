import type { MailWords } from './en.js';

export const de: MailWords = {
  greeting: 'Guten Tag {buyer},',
  regards: 'Mit freundlichen Grüßen\n{seller}',
  pay: 'Hier bezahlen: {link}',
  view: 'Ihr Dokument als PDF: {document}',
  method: 'Zahlungsart: {method}',
  invoiceTitle: 'Rechnung {number} von {seller}',
  invoiceText: 'anbei erhalten Sie die Rechnung {number} über {amount}. Sie ist fällig am {due}.',
  receiptTitle: 'Rechnung {number} von {seller} ist bezahlt',
  receiptText: 'anbei erhalten Sie die Rechnung {number} über {amount}. Es ist nichts mehr zu zahlen.',
  creditNoteTitle: 'Rechnungskorrektur {number} von {seller}',
  creditNoteText: 'anbei erhalten Sie die Rechnungskorrektur {number} über {amount}.',
  paymentFailedTitle: 'Zahlung der Rechnung {number} fehlgeschlagen',
  paymentFailedText:
    'die Zahlung von {amount} für die Rechnung {number} ist fehlgeschlagen. Bitte prüfen Sie Ihre Zahlungsart oder zahlen Sie bis {due}.',
  lastNoticeTitle: 'Letzte Erinnerung: Rechnung {number} ist noch offen',
  lastNoticeText: 'die Rechnung {number} über {amount} ist noch nicht bezahlt. Bitte zahlen Sie bis {due}.',
  needsActionTitle: 'Bitte bestätigen Sie die Zahlung der Rechnung {number}',
  needsActionText: 'Ihre Bank bittet Sie, die Zahlung von {amount} für die Rechnung {number} zu bestätigen.',
  priceChangeTitle: 'Der Preis von {plan} ändert sich am {due}',
  priceChangeText: 'der Preis von {plan} ändert sich von {old} auf {amount}, und zwar ab dem {due}.',
  priceKeptTitle: 'Der Preis von {plan} bleibt gleich',
  priceKeptText:
    'die Preisänderung von {plan}, die wir für den {due} angekündigt haben, findet nicht statt: Es bleibt bei {amount}.',
};
