import type { MailWords } from './en.js';

export const fr: MailWords = {
  greeting: 'Bonjour {buyer},',
  regards: 'Cordialement,\n{seller}',
  pay: 'Payer ici : {link}',
  view: 'Votre document en PDF : {document}',
  method: 'Moyen de paiement : {method}',
  invoiceTitle: 'Facture {number} de {seller}',
  invoiceText: 'Veuillez trouver ci-joint la facture {number} de {amount}, à payer au plus tard le {due}.',
  receiptTitle: 'La facture {number} de {seller} est payée',
  receiptText: 'Veuillez trouver ci-joint la facture {number} de {amount}. Il ne reste rien à payer.',
  creditNoteTitle: 'Avoir {number} de {seller}',
  creditNoteText: 'Veuillez trouver ci-joint l’avoir {number} de {amount}.',
  paymentFailedTitle: 'Le paiement de la facture {number} a échoué',
  paymentFailedText:
    'Le paiement de {amount} pour la facture {number} a échoué. Vérifiez votre moyen de paiement, ou payez avant le {due}.',
  lastNoticeTitle: 'Dernier rappel : la facture {number} reste impayée',
  lastNoticeText: 'La facture {number} de {amount} reste impayée. Merci de la régler avant le {due}.',
  needsActionTitle: 'Confirmez le paiement de la facture {number}',
  needsActionText: 'Votre banque vous demande de confirmer le paiement de {amount} pour la facture {number}.',
  priceChangeTitle: 'Le prix de {plan} change le {due}',
  priceChangeText: 'Le prix de {plan} passe de {old} à {amount} à partir du {due}.',
  priceKeptTitle: 'Le prix de {plan} reste inchangé',
  priceKeptText:
    'Le changement de prix de {plan} que nous avions annoncé pour le {due} n’a pas lieu : le prix reste de {amount}.',
};
