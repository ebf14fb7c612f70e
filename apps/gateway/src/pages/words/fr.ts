import type { Words } from './en.js';

export const fr: Words = {
  connect: 'Connecter une plateforme d’automatisation',
  connectWho: 'La plateforme {host} demande à être connectée au compte du marchand {merchant}. Elle pourra',
  connectEndpoints: 'enregistrer ses propres points de terminaison de webhook, les lister et les supprimer,',
  connectEvents:
    'recevoir les événements qu’elle choisit pour eux, avec toutes les données des clients, factures et paiements ' +
    'concernés, et en lire de récents comme exemples.',
  connectNoMore: 'Elle ne peut rien modifier d’autre. La connexion peut être interrompue à tout moment.',
  allow: 'Autoriser',
  deny: 'Ne pas autoriser',
  refused: 'La connexion est impossible',
  refusedStale: 'Ce lien n’est plus valable. Demandez-en un nouveau là où vous l’avez trouvé.',
  refusedElsewhere: 'L’adresse de retour n’est pas celle pour laquelle ce lien a été créé.',
  code: 'Copier le code',
  codeUse: 'Saisissez ce code sur la plateforme. Il est valable cinq minutes.',
  notConnected: 'Non connecté',
  notConnectedDenied: 'La connexion n’a pas été autorisée.',
  notConnectedNoCode: 'Aucun code n’est arrivé. Recommencez sur la plateforme.',
  payment: 'Confirmer le paiement',
  paymentAsked:
    'La passerelle de test demande, à la place d’une banque : peut-on débiter {amount} ? Aucun argent ne circule.',
  approve: 'Approuver',
  decline: 'Refuser',
  approved: 'Le paiement est approuvé. Vous pouvez fermer cette page.',
  declined: 'Le paiement est refusé. Vous pouvez fermer cette page.',
  unknownPayment: 'Il n’y a aucun paiement à confirmer à cette adresse.',
};
