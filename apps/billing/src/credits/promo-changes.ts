import { Controller } from '@nestjs/common';
import { decrementPromoCredit, type In, incrementPromoCredit } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import { assertUser, findUser } from '../customers/users.js';
import type { Account, Transaction } from './domain/account.js';
import { lockAccount, openAccount, postTo } from './spending.js';
import { creditTransactions } from './tables.js';
import { creditAccount, creditAccountView, creditTransactionView } from './views.js';

type Input = In<typeof incrementPromoCredit>;

/** Changes of promo accounts by hand. */
@Controller()
export class PromoChanges {
  constructor(private readonly db: Db) {}

  @Handle(incrementPromoCredit)
  increment(input: Input, caller: Caller) {
    return this.change(input, BigInt(input.amount), caller);
  }

  @Handle(decrementPromoCredit)
  decrement(input: Input, caller: Caller) {
    return this.change(input, -BigInt(input.amount), caller);
  }

  private change(input: Input, delta: bigint, caller: Caller) {
    const { userId, currency, name, description, idempotencyKey } = input;
    return this.db.write(caller, async tx => {
      const first = await firstUnder(tx, idempotencyKey);
      if (first) return repeatOf(tx, first, input, delta);
      tx.onConflict('credit_transactions_key', 'again');
      assertUser(tx, { userId }, await findUser(tx, { userId }));
      const key = { userId, type: 'promo', currency } as const;
      const account = delta > 0n ? await openAccount(tx, key) : assertCovered(await lockAccount(tx, key), delta);
      const { display: by, kind, id } = caller.actor;
      const memberId = kind === 'member' ? Number(id) : 0;
      const given = { name, description, idempotencyKey, by, memberId };
      const { view, transaction } = await postTo(tx, account, { move: 'adminChange', delta, ...given });
      tx.log(`CreditAccount(${account.creditId})`, delta > 0n ? 'Increment' : 'Decrement', { userId });
      return { UserPromoCreditAccount: view, creditTransaction: creditTransactionView(transaction) };
    });
  }
}

function assertCovered(account: Account | undefined, delta: bigint): Account {
  if (account && account.balance + delta >= 0n) return account;
  const subject = account ? `Credit account ${account.creditId} holds ${account.balance}` : 'The user holds no';
  throw new Rejected('credit_insufficient', `${subject} credits: cannot take ${-delta}`);
}

/** The change that was made under a key. */
async function firstUnder(tx: Tx, idempotencyKey: string): Promise<Transaction | undefined> {
  if (idempotencyKey === '') return undefined;
  // the condition is that of the index
  const [first] = await tx.all(creditTransactions, { idempotencyKey }, `and idempotency_key <> '' limit 1`);
  return first;
}

/** Answers a repeat as the first was: with the account as the change left it. */
async function repeatOf(tx: Tx, first: Transaction, { userId, currency }: Input, delta: bigint) {
  if (first.userId !== userId || first.currency !== currency || first.delta !== delta) {
    throw new Rejected('idempotency_reused');
  }
  const { creditId, sequence, after: balance } = first;
  const [account, [sums]] = await Promise.all([
    tx.get(creditAccount, creditId, 'credit_account_not_found'),
    tx.query(
      `select coalesce(sum(delta) filter (where delta > 0), 0) as increment,
         coalesce(sum(delta) filter (where delta < 0), 0) as decrement
       from credit_transactions where merchant_id = $1 and credit_id = $2 and sequence <= $3`,
      [tx.merchantId, creditId, sequence],
    ),
  ]);
  const [totalIncrement, totalDecrement] = [sums?.increment, sums?.decrement].map(value => BigInt(String(value)));
  const then = { ...account, balance, totalIncrement, totalDecrement } as Account;
  return { UserPromoCreditAccount: creditAccountView(then), creditTransaction: creditTransactionView(first) };
}
