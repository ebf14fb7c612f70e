import type { Condition } from '@recur/platform';

/** Matches an id, a number or its digits, or the beginning of a name; each of them has an index. */
export function matching(key: string | undefined): Condition {
  if (key === undefined) return ['', undefined];
  if (/^in_[0-9a-z]{26}$/.test(key)) return ['invoice_id = ?', key];
  // 18 digits are within a bigint
  if (/^\d{1,18}$/.test(key)) return ['counter > 0 and counter = ?::bigint', key];
  if (/\d{6}$/.test(key)) return [`number <> '' and number = ?`, key];
  return [`invoice_name <> '' and invoice_name >= ?::text and invoice_name < ?::text || chr(1114111)`, key];
}
