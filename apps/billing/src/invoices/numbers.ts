import type { MerchantState } from '@recur/contracts';
import { integer, type Tx, table } from '@recur/platform';
import type { DocumentKind } from './domain/document-data.js';

/** Counters of a merchant's invoice and credit note numbers. The row lock makes them gapless. */
export interface Numbering {
  merchantId: number;
  lastNumber: number;
  lastCreditNote: number;
}

export const numberings = table<Numbering>('numberings', {
  key: ['merchantId'],
  columns: {
    merchantId: integer(),
    lastNumber: { ...integer(), default: 0 },
    lastCreditNote: { ...integer(), default: 0 },
  },
});

/** Series of documents, with the prefixes that a merchant starts with. */
export const defaultPrefixes = { invoice: 'INV-', creditNote: 'CN-' } as const;

const series = {
  invoice: {
    column: 'last_number',
    prefix: 'invoiceNumberPrefix',
    fallback: defaultPrefixes.invoice,
    next: 'nextInvoiceNumber',
  },
  credit_note: {
    column: 'last_credit_note',
    prefix: 'creditNoteNumberPrefix',
    fallback: defaultPrefixes.creditNote,
    next: 'nextCreditNoteNumber',
  },
} as const;

/**
 * The next number of a series: one more than the last, or the one that the merchant asked for if that is higher. The
 * counter row stays locked until the commit, so a rollback leaves no gap; it is the last row that a transaction locks.
 */
export async function nextNumber(
  tx: Tx,
  kind: DocumentKind,
  merchant: MerchantState,
): Promise<{ counter: number; number: string }> {
  const { prefix, fallback, next } = series[kind];
  const counter = await tx.jointlyWritten(`number of ${kind}`, merchant[next], asked => nextCounters(tx, kind, asked));
  return { counter, number: documentNumber(merchant[prefix] || fallback, counter) };
}

/** As many numbers as are asked for, in a row. All name the same least number, which is the merchant's. */
async function nextCounters(tx: Tx, kind: DocumentKind, asked: readonly number[]): Promise<number[]> {
  const { column } = series[kind];
  const [least] = asked;
  const [row] = await tx.run(
    `insert into numberings (merchant_id, ${column}) values ($1, greatest(1, $2::bigint) + $3::bigint)
     on conflict (merchant_id) do update set ${column} = greatest(numberings.${column} + 1, $2::bigint) + $3::bigint
     returning ${column} as counter`,
    [tx.merchantId, least, asked.length - 1],
  );
  return asked.map((_, at) => Number(row?.counter) - asked.length + 1 + at);
}

/** Text of a document number: the prefix and the counter with at least six digits. Gaplessness is of the counter. */
export const documentNumber = (prefix: string, counter: number): string => prefix + String(counter).padStart(6, '0');

/** True if a document gets a number at its finish: of total 0 only where the merchant shows zero invoices. */
export const isNumbered = (totalAmount: bigint, showZeroInvoice: boolean): boolean =>
  totalAmount !== 0n || showZeroInvoice;
