const race = 'only another command between two statements of this one could cause it';
const invariant = 'only rows that contradict an invariant of the database could cause it';
const otherPath = 'tested through another operation that shares the code; to be provoked by this one, too';

/** Declared errors and events that no test provokes through its service, each with the reason. The list only shrinks. */
export const notProvoked: Readonly<Record<string, string>> = {
  'error auth.login totp_locked': otherPath,
  'error member.confirm_totp_key totp_locked': otherPath,
  'error plan.copy metric_not_found': race,
  'error invoice.cancel payment_not_open': invariant,
  'error invoice.clear_payment payment_not_open': invariant,
  'error payment.method_delete gateway_not_found': invariant,
};
