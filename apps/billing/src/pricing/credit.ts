import { clampToZero, invalid, min, ratio } from '@recur/kernel';

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
export function postEntry<A extends CreditAccount>(account: A, move: CreditMove, delta: bigint): [A, CreditEntry] {
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
    const amount = clampToZero(min(rest, refundable));
    rest -= amount;
    return amount === 0n ? [] : [{ invoiceId, amount }];
  });
  return { refunds, toMainCredit: rest };
}

/** A promo credit account as far as one invoice may spend from it. */
export interface PromoTerms {
  /** Credits on the account. */
  balance: bigint;
  /** Most credits to spend; absent for no limit. */
  cap?: bigint;
  /** Value of a credit in hundredths of a major unit: at 100 a credit is one major unit. */
  exchangeRate: bigint;
  /** Decimals of the invoice's currency. */
  decimals: number;
}

/** Promo credit spent on an invoice: minor units of money, and the credits that they cost. */
export interface PromoSpent {
  amount: bigint;
  credits: bigint;
}

/**
 * Promo credit for a base of `base` minor units, which is not negative:
 * amount = floor(min(balance, cap, floor(base × 100 ÷ unit)) × unit ÷ 100) and credits = ceil(amount × 100 ÷ unit),
 * with unit = exchangeRate × 10^decimals. Throws Rejected `invalid_parameters` for an exchange rate below 1.
 */
export function promoOn(base: bigint, { balance, cap, exchangeRate, decimals }: PromoTerms): PromoSpent {
  if (base < 0n) throw new RangeError(`promo credit on ${base}`);
  if (exchangeRate < 1n) throw invalid('/exchangeRate', `is ${exchangeRate}: the smallest exchange rate is 1`);
  const unit = exchangeRate * 10n ** BigInt(decimals);
  const available = cap === undefined ? balance : min(balance, cap);
  const usable = min(available, ratio(base, 100n, unit, 'floor'));
  if (usable <= 0n) return { amount: 0n, credits: 0n };
  const amount = ratio(usable, unit, 100n, 'floor');
  return { amount, credits: -ratio(-amount, 100n, unit, 'floor') };
}

/**
 * Credits to return once `refunded` of `total` minor units have been refunded, cumulatively:
 * floor(credits × refunded ÷ total); all of them at refunded = total.
 */
export const promoReturned = (credits: bigint, refunded: bigint, total: bigint): bigint =>
  total === 0n ? 0n : ratio(credits, refunded, total, 'floor');
