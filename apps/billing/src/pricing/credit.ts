import { lesser, positive } from './shares.js';

/** Kinds of transactions on a credit account; the names are those of `creditTransactionType`. */
export type CreditMove =
  | 'recharge'
  | 'payout'
  | 'refund'
  | 'withdraw'
  | 'withdrawFailed'
  | 'adminChange'
  | 'rechargeRefunded';

/** Sign of each kind's delta; 0 for either. */
export const creditMoves: Readonly<Record<CreditMove, 1n | -1n | 0n>> = {
  recharge: 1n,
  payout: -1n,
  refund: 1n,
  withdraw: -1n,
  withdrawFailed: 1n,
  adminChange: 0n,
  rechargeRefunded: -1n,
};

/** Account of a user, one per type and currency. Balance: minor units for `main`, credits for `promo`; never negative. */
export interface CreditAccount {
  type: 'main' | 'promo';
  currency: string;
  balance: bigint;
}

/** An entry of an account. Entries chain: `before` is the `after` of the previous one. */
export interface CreditEntry {
  move: CreditMove;
  delta: bigint;
  before: bigint;
  after: bigint;
}

/**
 * Books a delta. Throws RangeError for a delta of the wrong sign or 0, or if the balance would become negative: callers
 * cap what they spend.
 */
export function book<A extends CreditAccount>(account: A, move: CreditMove, delta: bigint): [A, CreditEntry] {
  const sign = creditMoves[move];
  const [before, after] = [account.balance, account.balance + delta];
  if (delta === 0n || delta * sign < 0n) throw new RangeError(`a delta of ${delta} for ${move}`);
  if (after < 0n) throw new RangeError(`a balance of ${after} after ${move}`);
  return [
    { ...account, balance: after },
    { move, delta, before, after },
  ];
}

/** Refunds of invoices, and the rest for the main account; minor units. */
export interface CreditReturn {
  refunds: { invoiceId: string; amount: bigint }[];
  toMainCredit: bigint;
}

/**
 * Distributes the credit of a credit note for a caller that asked for a refund: up to what is refundable of the credited
 * lines' invoices, in the given order (newest first); the rest goes to the main account.
 */
export function distributeCredit(
  credit: bigint,
  invoices: readonly { invoiceId: string; refundable: bigint }[],
): CreditReturn {
  let rest = credit;
  const refunds = invoices.flatMap(({ invoiceId, refundable }) => {
    const amount = positive(lesser(rest, refundable));
    rest -= amount;
    return amount === 0n ? [] : [{ invoiceId, amount }];
  });
  return { refunds, toMainCredit: rest };
}
