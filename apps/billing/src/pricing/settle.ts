import { clampToZero, invalid, max, min } from '@recur/kernel';

/** Payment of a document: minor units taken from main credit, credited to it, and due through the gateway. */
export interface DueSplit {
  /** Main credit spent. */
  creditSpent: bigint;
  /** Main credit given for a negative total. */
  creditGiven: bigint;
  /** Amount of the payment; 0 for none. */
  due: bigint;
  /** total − creditSpent, as the API shows it: negative for credit. */
  amountDue: bigint;
}

/**
 * Settles a finished document's total. `balance` is the main credit that it may use in its currency: 0 if the user or the
 * config says no. `minimum` is the gateway's smallest amount, 0 for none: credit is held back so that a payment is not
 * below it.
 */
export function settle(total: bigint, balance: bigint, minimum: bigint): DueSplit {
  if (total <= 0n) return { creditSpent: 0n, creditGiven: -total, due: 0n, amountDue: total };
  const most = min(clampToZero(balance), total);
  const rest = total - most;
  const creditSpent = rest > 0n && rest < minimum ? max(0n, min(most, total - minimum)) : most;
  const due = total - creditSpent;
  return { creditSpent, creditGiven: 0n, due, amountDue: due };
}

/**
 * Treatment of an amount due below the gateway's minimum, in the gateway's own currency: `defer` leaves the lines unbilled
 * on the subscription, where they come first on its next invoice; `refuse` is error 52.
 */
export function belowMinimum(
  due: bigint,
  minimum: bigint,
  document: 'subscription' | 'firstInvoice' | 'other',
): 'collect' | 'defer' | 'refuse' {
  if (due <= 0n || due >= minimum) return 'collect';
  return document === 'subscription' ? 'defer' : 'refuse';
}

/** Money that arrived, compared with what is due; minor units. */
export interface Receipt {
  /** More than due: kept as a surplus beside the payment. */
  overpayment: bigint;
  /** Less than due, accepted: a credit note for bank charges. */
  underpayment: bigint;
}

/** Compares a received transfer with the amount due. Throws Rejected `invalid_parameters` for less, unless accepted. */
export function reconcileAmount(due: bigint, received: bigint, acceptShort: boolean): Receipt {
  const difference = received - due;
  if (received <= 0n || (difference < 0n && !acceptShort)) {
    throw invalid('/amountReceived', `is ${received}: ${-difference} less than the ${due} due`);
  }
  return { overpayment: clampToZero(difference), underpayment: clampToZero(-difference) };
}
