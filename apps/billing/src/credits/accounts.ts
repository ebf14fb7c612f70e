import { Controller } from '@nestjs/common';
import {
  type CreditTransactionDetail,
  creditAccountType,
  creditDetail,
  creditTransactionType,
  type ExportRow,
  type In,
  listCreditAccounts,
  listCreditTransactions,
  majorUnits,
  nameOfCode,
} from '@recur/contracts';
import {
  type Caller,
  type Condition,
  Db,
  each,
  given,
  Handle,
  type Reader,
  type SliceAt,
  type Sliced,
  sorted,
} from '@recur/platform';
import { emptyMember } from '../customers/merchants.js';
import { buyerColumns, usersByEmail, usersById, usersOfRows } from '../customers/users.js';
import type { AccountRow, Transaction } from './domain/account.js';
import { withTerms } from './spending.js';
import { creditAccounts, creditTransactions } from './tables.js';
import { creditAccountView, creditTransactionView } from './views.js';

/** Transactions that credit/detail shows; credit_transaction_list has all of them. */
const SHOWN = 1_000;

const accountsOrder = { createTime: 'create_time' };

/** Reads of credit accounts and their transactions. */
@Controller()
export class CreditAccounts {
  constructor(private readonly db: Db) {}

  @Handle(creditDetail)
  detail({ id }: In<typeof creditDetail>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const ledger = { from: creditTransactions, where: [['credit_id = ?', id]] as Condition[] };
      // the page opens a snapshot, so that account and transactions are of the same moment
      const { rows } = await reader.page({ ...ledger, order: 'credit_id desc, sequence desc', page: 0, count: SHOWN });
      const row = await reader.get(creditAccounts, { creditId: id }, 'credit_account_not_found');
      const [creditAccount] = await shownAccounts(reader, [row]);
      if (!creditAccount) throw new Error(`account ${id} is not shown`);
      return { creditAccount, creditTransactions: rows.map(creditTransactionView) };
    });
  }

  @Handle(listCreditAccounts)
  list(input: In<typeof listCreditAccounts>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { rows, total } = await reader.page({
        from: creditAccounts,
        where: await accountConditions(reader, input),
        order: sorted(accountsOrder, input, 'credit_id'),
        page: input.page,
        count: input.count,
      });
      return { creditAccounts: await shownAccounts(reader, rows), total };
    });
  }

  @Handle(listCreditTransactions)
  transactions(input: In<typeof listCreditTransactions>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { rows, total } = await reader.page({
        from: creditTransactions,
        where: await transactionsWhere(reader, input),
        order: sorted(accountsOrder, input),
        page: input.page,
        count: input.count,
      });
      return { creditTransactions: await shownTransactions(reader, rows), total };
    });
  }
}

/** The conditions of credit/credit_transaction_list. */
async function transactionsWhere(reader: Reader, input: In<typeof listCreditTransactions>): Promise<Condition[]> {
  const moves = given(input.transactionTypes)?.map(code => nameOfCode(creditTransactionType, code));
  return [
    ['account_type = ?', nameOfCode(creditAccountType, input.accountType)],
    ...(await accountConditions(reader, input)),
    ['currency = ?', given(input.currency)],
    each('move', moves),
  ];
}

type AccountFilters = Pick<In<typeof listCreditAccounts>, 'userId' | 'email' | 'createTimeStart' | 'createTimeEnd'>;

async function accountConditions(reader: Reader, input: AccountFilters): Promise<Condition[]> {
  return [
    ['user_id = ?', given(input.userId)],
    each('user_id', input.email ? await usersByEmail(reader, input.email) : undefined),
    ['create_time >= ?', given(input.createTimeStart)],
    ['create_time <= ?', given(input.createTimeEnd)],
  ];
}

async function shownAccounts(reader: Reader, rows: readonly AccountRow[]) {
  const [accounts, users] = await Promise.all([
    withTerms(reader, rows),
    usersById(reader, [...new Set(rows.map(({ userId }) => userId))]),
  ]);
  return accounts.map(account => creditAccountView(account, users.get(account.userId) ?? null));
}

async function shownTransactions(reader: Reader, rows: readonly Transaction[]): Promise<CreditTransactionDetail[]> {
  const ids = [...new Set(rows.map(({ creditId }) => creditId))];
  const accounts = await shownAccounts(reader, await reader.among(creditAccounts, 'creditId', ids));
  const byId = new Map(accounts.map(account => [account.id, account]));
  return rows.map(row => {
    const { user = null, ...account } = byId.get(row.creditId) ?? {};
    const { merchantId, memberId: id, by: email } = row;
    return {
      ...creditTransactionView(row),
      adminMember: id === 0 ? null : { ...emptyMember, id, merchantId, email },
      creditAccount: 'id' in account ? { ...account, user: null } : null,
      user,
    };
  });
}

/** The next transactions of credit/credit_transaction_list, newest first, as rows of an export. */
export function exportedCredits(
  db: Db,
  caller: Caller,
  input: In<typeof listCreditTransactions>,
  at: SliceAt,
): Promise<Sliced<ExportRow<'CreditTransactionExport'>>> {
  return db.read(caller, async reader => {
    const where = await transactionsWhere(reader, input);
    const { rows, next } = await reader.slice({ from: creditTransactions, where, by: ['createTime', 'id'], ...at });
    const users = await usersOfRows(reader, rows);
    const shown = rows.map(row => {
      const { deltaAmount, deltaCurrencyAmount, creditAmountBefore, creditAmountAfter } = creditTransactionView(row);
      return {
        TransactionId: row.transactionId,
        AccountType: row.accountType,
        TransactionType: row.move,
        Currency: row.currency,
        Amount: majorUnits(deltaCurrencyAmount, row.currency),
        CreditsBefore: creditAmountBefore,
        Credits: deltaAmount,
        CreditsAfter: creditAmountAfter,
        Name: row.name,
        Description: row.description,
        By: row.by,
        InvoiceId: row.invoiceId,
        CreateTime: row.createTime,
        ...buyerColumns(row.userId, users.get(row.userId)),
      };
    });
    return { rows: shown, next };
  });
}
