import { invalid } from '@recur/kernel';

/** Text of a document number: the prefix and the counter with at least six digits. Gaplessness is of the counter. */
export const documentNumber = (prefix: string, counter: number): string => prefix + String(counter).padStart(6, '0');

/** Series of documents, with the prefixes that a merchant starts with. */
export const defaultPrefixes = { invoice: 'INV-', creditNote: 'CN-' } as const;

/**
 * The last counter after a merchant asks for `next` as the next number; it only goes upwards.
 * Throws Rejected `invalid_parameters` for `path`.
 */
export function raisedCounter(last: number, next: number, path: string): number {
  if (next <= last) throw invalid(path, `is ${next}: the next number is ${last + 1} or higher`);
  return next - 1;
}

/** True if a document gets a number at its finish: of total 0 only where the merchant shows zero invoices. */
export const isNumbered = (totalAmount: bigint, showZeroInvoice: boolean): boolean =>
  totalAmount !== 0n || showZeroInvoice;
