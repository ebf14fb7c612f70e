import { machine, type StateOf, safe } from '@recur/kernel';
import { type CreditMove, postEntry } from '../../pricing/credit.js';
import type { AccountType, CreditTerms } from './config.js';

/**
 * A user's credit account, one per type and currency. Amounts are minor units in `main`, credits in `promo`.
 *
 * Invariants: the balance is never negative; it is the sum of the account's transactions, which are numbered from 1
 * without a gap; each starts at the balance that the previous one left.
 */
export interface AccountRow {
  merchantId: number;
  creditId: number;
  userId: number;
  type: AccountType;
  currency: string;
  balance: bigint;
  /** Sum of the positive deltas. */
  totalIncrement: bigint;
  /** Sum of the negative deltas: a negative number. */
  totalDecrement: bigint;
  /** Number of the last transaction; 0 for none. */
  lastSequence: number;
  createTime: number;
  version: number;
}

/** An account with the terms of its config. */
export interface Account extends AccountRow {
  terms: CreditTerms;
}

/** An entry of an account's ledger. Entries are added, never changed. */
export interface Transaction {
  merchantId: number;
  creditId: number;
  /** From 1, without a gap. */
  sequence: number;
  id: number;
  transactionId: string;
  userId: number;
  accountType: AccountType;
  currency: string;
  move: CreditMove;
  delta: bigint;
  before: bigint;
  after: bigint;
  /** Rate of the transaction, in hundredths of a major unit per credit. */
  exchangeRate: bigint;
  bizId: string;
  invoiceId: string;
  name: string;
  description: string;
  /** Display name of the actor; '' of the system. */
  by: string;
  /** Member who changed the account by hand; 0 for none. */
  memberId: number;
  /** The merchant's key of a change by hand; '' for none. */
  idempotencyKey: string;
  createTime: number;
}

/** Contents of a posting, besides the account. */
export interface Posting
  extends Pick<Transaction, 'move' | 'delta'>,
    Partial<
      Pick<
        Transaction,
        'exchangeRate' | 'bizId' | 'invoiceId' | 'name' | 'description' | 'by' | 'memberId' | 'idempotencyKey'
      >
    > {}

/**
 * Books a posting: the account after it, and its entry. Throws RangeError for a delta of the wrong sign or 0, or one that
 * the balance does not cover; Rejected `invalid_parameters` for an account that would exceed 2^53−1.
 */
export function post(
  account: Account,
  { move, delta, ...given }: Posting,
  { id, transactionId, now }: { id: number; transactionId: string; now: number },
): [Account, Transaction] {
  const { merchantId, creditId, userId, type, currency } = account;
  const [{ balance }, { before, after }] = postEntry(account, move, delta);
  const next: Account = {
    ...account,
    balance,
    totalIncrement: account.totalIncrement + (delta > 0n ? delta : 0n),
    totalDecrement: account.totalDecrement + (delta < 0n ? delta : 0n),
    lastSequence: account.lastSequence + 1,
  };
  for (const total of [next.totalIncrement, next.totalDecrement]) safe(total, '/amount');
  const transaction: Transaction = {
    merchantId,
    creditId,
    sequence: next.lastSequence,
    id,
    transactionId,
    userId,
    accountType: type,
    currency,
    move,
    delta,
    before,
    after,
    exchangeRate: account.terms.exchangeRate,
    createTime: now,
    bizId: '',
    invoiceId: '',
    name: '',
    description: '',
    by: '',
    memberId: 0,
    idempotencyKey: '',
    ...given,
  };
  return [next, transaction];
}

/** Lifecycle of a recharge of a credit account: it follows the invoice that sells the credit. */
export const creditRechargeLifecycle = machine({
  created: { succeed: 'success', fail: 'failed' },
  success: {},
  failed: {},
});
export type CreditRechargeStatus = StateOf<typeof creditRechargeLifecycle>;

/** A purchase of main credit: minor units of `currency`. */
export interface Recharge {
  merchantId: number;
  rechargeId: string;
  id: number;
  status: CreditRechargeStatus;
  creditId: number;
  userId: number;
  currency: string;
  amount: bigint;
  gatewayId: number;
  invoiceId: string;
  paymentId: string;
  name: string;
  description: string;
  createTime: number;
  paidTime: number;
}
