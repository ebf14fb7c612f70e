import type { Words } from './en.js';

export const de: Words = {
  connect: 'Plattform zur Automatisierung verbinden',
  connectWho:
    'Die Plattform unter {host} möchte mit dem Konto des Händlers {merchant} verbunden werden. Sie kann danach',
  connectEndpoints: 'eigene Webhook-Endpunkte registrieren, auflisten und entfernen,',
  connectEvents:
    'die dafür gewählten Ereignisse erhalten, mit allen Daten der betroffenen Kunden, Rechnungen und Zahlungen, ' +
    'und neuere davon als Beispiele lesen.',
  connectNoMore: 'Sonst kann sie nichts ändern. Die Verbindung lässt sich jederzeit beenden.',
  allow: 'Erlauben',
  deny: 'Nicht erlauben',
  refused: 'Diese Verbindung ist nicht möglich',
  refusedStale: 'Dieser Link gilt nicht mehr. Fordern Sie dort, wo Sie ihn gefunden haben, einen neuen an.',
  refusedElsewhere: 'Die Rücksprungadresse ist nicht die, für die dieser Link erstellt wurde.',
  code: 'Code kopieren',
  codeUse: 'Geben Sie diesen Code bei der Plattform ein. Er gilt fünf Minuten.',
  notConnected: 'Nicht verbunden',
  notConnectedDenied: 'Die Verbindung wurde nicht erlaubt.',
  notConnectedNoCode: 'Es kam kein Code an. Beginnen Sie bei der Plattform von vorn.',
  payment: 'Zahlung bestätigen',
  paymentAsked: 'Das Sandbox-Gateway fragt anstelle einer Bank: Dürfen {amount} abgebucht werden? Es fließt kein Geld.',
  approve: 'Bestätigen',
  decline: 'Ablehnen',
  approved: 'Die Zahlung ist bestätigt. Sie können diese Seite schließen.',
  declined: 'Die Zahlung ist abgelehnt. Sie können diese Seite schließen.',
  unknownPayment: 'Unter diesem Link ist keine Zahlung zu bestätigen.',
};
