import type { MailWords } from './en.js';

export const es: MailWords = {
  greeting: 'Hola, {buyer}:',
  regards: 'Un cordial saludo,\n{seller}',
  pay: 'Pagar aquí: {link}',
  view: 'Su documento en PDF: {document}',
  method: 'Método de pago: {method}',
  invoiceTitle: 'Factura {number} de {seller}',
  invoiceText: 'Adjuntamos la factura {number} por {amount}. Vence el {due}.',
  receiptTitle: 'La factura {number} de {seller} está pagada',
  receiptText: 'Adjuntamos la factura {number} por {amount}. No queda nada por pagar.',
  creditNoteTitle: 'Factura rectificativa {number} de {seller}',
  creditNoteText: 'Adjuntamos la factura rectificativa {number} por {amount}.',
  paymentFailedTitle: 'El pago de la factura {number} ha fallado',
  paymentFailedText:
    'No se ha podido realizar el pago de {amount} de la factura {number}. Compruebe su método de pago o pague antes del {due}.',
  lastNoticeTitle: 'Último aviso: la factura {number} sigue pendiente',
  lastNoticeText: 'La factura {number} por {amount} sigue sin pagar. Páguela antes del {due}.',
  needsActionTitle: 'Confirme el pago de la factura {number}',
  needsActionText: 'Su banco le pide que confirme el pago de {amount} de la factura {number}.',
  priceChangeTitle: 'El precio de {plan} cambia el {due}',
  priceChangeText: 'El precio de {plan} cambia de {old} a {amount} a partir del {due}.',
  priceKeptTitle: 'El precio de {plan} no cambia',
  priceKeptText:
    'El cambio de precio de {plan} que anunciamos para el {due} no se realizará: el precio sigue siendo {amount}.',
};
