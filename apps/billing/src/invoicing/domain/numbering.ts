/** Text of a document number: the prefix and the counter with at least six digits. Gaplessness is of the counter. */
export const documentNumber = (prefix: string, counter: number): string => prefix + String(counter).padStart(6, '0');

/** Series of documents, with the prefixes that a merchant starts with. */
export const defaultPrefixes = { invoice: 'INV-', creditNote: 'CN-' } as const;

/** True if a document gets a number at its finish: of total 0 only where the merchant shows zero invoices. */
export const isNumbered = (totalAmount: bigint, showZeroInvoice: boolean): boolean =>
  totalAmount !== 0n || showZeroInvoice;
