/** Everything that a page says in words. Placeholders are written `{name}`. */
export const en = {
  connect: 'Connect an automation platform',
  connectWho: 'The platform at {host} asks to be connected with the account of merchant {merchant}. It will be able to',
  connectEndpoints: 'register webhook endpoints of its own, list them and remove them,',
  connectEvents:
    'be sent the events that it chooses for them, with all data of the customers, invoices and payments concerned, ' +
    'and read recent ones as examples.',
  connectNoMore: 'It can change nothing else. The connection can be ended at any time.',
  allow: 'Allow',
  deny: 'Do not allow',
  refused: 'This cannot be connected',
  refusedStale: 'This link is no longer valid. Request a new one where you found it.',
  refusedElsewhere: 'The return address does not match the one this link was created for.',
  code: 'Copy the code',
  codeUse: 'Give this code to the platform. It holds for five minutes.',
  notConnected: 'Not connected',
  notConnectedDenied: 'The connection was not allowed.',
  notConnectedNoCode: 'No code came. Begin again at the platform.',
  payment: 'Confirm the payment',
  paymentAsked: 'The sandbox gateway asks, in place of a bank: may {amount} be charged? No money moves.',
  approve: 'Approve',
  decline: 'Decline',
  approved: 'The payment is approved. You may close this page.',
  declined: 'The payment is declined. You may close this page.',
  unknownPayment: 'There is no payment to confirm at this link.',
};
export type Words = typeof en;
