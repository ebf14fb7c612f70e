import { creditTransactionType } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import { type Account, creditRechargeLifecycle, type Recharge } from './domain/account.js';
import { addMain, openAccount, postTo } from './spending.js';
import { creditAccounts, creditRecharges } from './tables.js';

// Verbs about recharges for the wing that makes their invoices. They write no log entry.

/** The main account that a recharge names: by its id, or as that of a user in a currency. 0 and '' name nothing. */
export interface RechargeTarget {
  creditAccountId: number;
  userId: number;
  currency: string;
}

/** Owner and currency of the account. Throws Rejected `credit_account_not_found` or `invalid_parameters`. */
export async function rechargeTarget(tx: Tx, target: RechargeTarget): Promise<{ userId: number; currency: string }> {
  const { creditAccountId, userId, currency } = target;
  if (creditAccountId === 0) {
    if (userId === 0) throw invalid('/userId', 'is required where creditAccountId is not given');
    if (currency === '') throw invalid('/currency', 'is required where creditAccountId is not given');
    return { userId, currency };
  }
  const account = await tx.get(creditAccounts, { creditId: creditAccountId }, 'credit_account_not_found');
  if (account.type !== 'main')
    throw invalid('/creditAccountId', 'is a promo account: only main accounts are recharged');
  if (userId !== 0 && userId !== account.userId)
    throw invalid('/userId', `is not ${account.userId}, whose account it is`);
  if (currency !== '' && currency !== account.currency) throw invalid('/currency', `is not ${account.currency}`);
  return { userId: account.userId, currency: account.currency };
}

/** Locks the account of a recharge; adds it at its first use. Throws Rejected `credit_recharge_disabled`. */
export async function rechargeable(
  tx: Tx,
  { userId, currency }: { userId: number; currency: string },
): Promise<Account> {
  const account = await openAccount(tx, { userId, type: 'main', currency });
  if (account.terms.rechargeEnable) return account;
  throw new Rejected('credit_recharge_disabled', `Main accounts in ${currency} cannot be recharged`);
}

type NewRecharge = Pick<Recharge, 'amount' | 'gatewayId' | 'invoiceId' | 'paymentId' | 'name' | 'description'>;

/** Adds a recharge that waits for its invoice to be paid. */
export async function addRecharge(tx: Tx, account: Account, given: NewRecharge): Promise<Recharge> {
  const { creditId, userId, currency } = account;
  const recharge: Recharge = {
    ...given,
    merchantId: tx.merchantId,
    rechargeId: tx.newId('cr_'),
    id: await tx.nextId(creditRecharges),
    status: 'created',
    creditId,
    userId,
    currency,
    createTime: tx.now,
    paidTime: 0,
  };
  tx.save(creditRecharges, recharge);
  return recharge;
}

interface OwnInvoice {
  invoiceId: string;
}

interface PaidInvoice extends OwnInvoice {
  /** The payment that it was paid by, with what was due and what came of it. */
  payment?: { totalAmount: bigint; paymentAmount: bigint } | undefined;
}

/** Credits a recharge whose invoice, which is locked, is paid; at most once. */
export async function rechargePaid(tx: Tx, { invoiceId, payment }: PaidInvoice): Promise<void> {
  const recharge = await waitingRecharge(tx, invoiceId);
  if (!recharge) return;
  const { rechargeId, userId, currency, name, description } = recharge;
  // only what came is credit, where less than the price was accepted
  const amount = recharge.amount - (payment ? payment.totalAmount - payment.paymentAmount : 0n);
  const status = creditRechargeLifecycle.next(recharge.status, 'succeed') ?? recharge.status;
  tx.save(creditRecharges, { ...recharge, status, paidTime: tx.now });
  const type = creditTransactionType.recharge;
  await addMain(tx, { userId, currency, amount, type, invoiceId, bizId: rechargeId, name, description });
}

/** Ends a recharge whose invoice has ended unpaid; at most once. */
export async function rechargeFailed(tx: Tx, { invoiceId }: OwnInvoice): Promise<void> {
  const recharge = await waitingRecharge(tx, invoiceId);
  if (!recharge) return;
  const status = creditRechargeLifecycle.next(recharge.status, 'fail') ?? recharge.status;
  tx.save(creditRecharges, { ...recharge, status });
}

/** The refund of an invoice that sold credit. */
interface RechargeRefund {
  refundId: string;
  invoiceId: string;
  userId: number;
  currency: string;
  amount: bigint;
}

/**
 * Takes the credit back that a refunded recharge gave; with `asFarAsItGoes` at most the balance, where the bank has taken
 * the money already. Throws Rejected `invoice_not_refundable` for credit that was spent.
 */
export async function takeRecharged(
  tx: Tx,
  { refundId, invoiceId, userId, currency, amount }: RechargeRefund,
  { asFarAsItGoes = false } = {},
): Promise<void> {
  const account = await openAccount(tx, { userId, type: 'main', currency });
  if (account.balance < amount && !asFarAsItGoes) {
    const message = `Invoice ${invoiceId} sold credit of which ${account.balance} is left: cannot refund ${amount}`;
    throw new Rejected('invoice_not_refundable', message);
  }
  const taken = account.balance < amount ? account.balance : amount;
  if (taken > 0n) await postTo(tx, account, { move: 'rechargeRefunded', delta: -taken, invoiceId, bizId: refundId });
}

/** Returns the credit of a recharge whose refund failed or was cancelled. */
export const restoreRecharged = (tx: Tx, { refundId, ...refund }: RechargeRefund): Promise<void> =>
  addMain(tx, {
    ...refund,
    bizId: refundId,
    type: creditTransactionType.refund,
    description: 'Refund that was not made',
  });

/** The recharge of an invoice, locked, if it still waits for the payment. */
async function waitingRecharge(tx: Tx, invoiceId: string): Promise<Recharge | undefined> {
  const [recharge] = await tx.parts(creditRecharges, { invoiceId }, 'limit 1');
  return recharge?.status === 'created' ? recharge : undefined;
}
