import type { Reader, Tx } from '@recur/platform';
import type { Discount } from './domain/discount.js';
import { discounts, type GeneratedCode, generatedCodes } from './tables.js';

// A generated code is seen as a discount of its own: its template, with this code and for a single use.

/** A code under the lock of its discount; `seen` is what may be used, `discount` the row that counts uses. */
export interface LockedCode {
  discount: Discount;
  seen: Discount;
  generated: GeneratedCode | undefined;
}

/** Condition of the partial index on codes. */
const CODES = `and deleted_time = 0 and kind = 'code'`;

/** The discount of a code; undefined for an unknown one, and for the prefix of a template. */
export async function discountOf(reader: Reader, code: string): Promise<Discount | undefined> {
  const [[own], generated] = await Promise.all([
    reader.all(discounts, { code }, CODES),
    reader.find(generatedCodes, { code }),
  ]);
  if (own || !generated) return own;
  const template = await reader.find(discounts, { discountId: generated.templateId, deletedTime: 0 });
  return template && seenAs(template, generated);
}

/** Locks the discount of a code, and then the code. */
export async function lockCode(tx: Tx, code: string): Promise<LockedCode | undefined> {
  const [own] = await tx.parts(discounts, { code }, CODES);
  if (own) return { discount: own, seen: own, generated: undefined };
  const found = await tx.find(generatedCodes, { code });
  if (!found) return undefined;
  const template = await tx.part(discounts, { discountId: found.templateId, deletedTime: 0 });
  const generated = await tx.part(generatedCodes, { code });
  return template && generated && { discount: template, seen: seenAs(template, generated), generated };
}

/** A use of a generated code was rolled back: the code may be used again. Its template is locked. */
export async function freeCode(tx: Tx, { kind, discountId }: Discount, code: string): Promise<void> {
  if (kind !== 'template') return;
  const generated = await tx.part(generatedCodes, { code });
  if (generated?.templateId === discountId) tx.save(generatedCodes, { ...generated, useId: 0 });
}

/** The template as the discount of one of its codes. */
export const seenAs = (template: Discount, { code, useId }: GeneratedCode): Discount => ({
  ...template,
  code,
  quantity: 1,
  uses: useId === 0 ? 0 : 1,
});
