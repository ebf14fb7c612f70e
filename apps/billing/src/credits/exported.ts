import { type ExportRow, type In, type listCreditTransactions, majorUnits } from '@recur/contracts';
import type { Caller, Db, SliceAt, Sliced } from '@recur/platform';
import { buyerColumns, usersOfRows } from '../customers/exported.js';
import { transactionsWhere } from './accounts.js';
import { creditTransactions } from './tables.js';
import { creditTransactionView } from './views.js';

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
