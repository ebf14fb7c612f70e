import type { Reader, Tx } from '@recur/platform';
import type * as domain from './domain/discount.js';
import type { Discount } from './domain/discount.js';
import type { DiscountUse } from './domain/generated.js';
import { discounts, type GeneratedCode, generatedCodes, userDiscounts } from './tables.js';

/** The invoice that a use reduces. */
export interface Application {
  /** '' if a first invoice of 0 leaves a one-time code waiting; see `attach`. */
  invoiceId: string;
  paymentId?: string;
  /** Minor units taken off. */
  amount?: bigint;
  /** False for a proration invoice, which uses no cycle. */
  cycle?: boolean;
}

/** How many cycle invoices of subscriptions discounts have reduced, without those that are replaced. */
export async function cyclesOf(
  reader: Reader,
  uses: readonly (readonly [subscriptionId: string, discountId: number, replaces: string])[],
): Promise<number[]> {
  const rows = await reader.query(
    `select (select count(*) from user_discounts
       where merchant_id = $1 and subscription_id <> '' and subscription_id = asked.subscription_id
         and discount_id = asked.discount_id and cycle and invoice_id not in ('', asked.replaces) and status = 'used'
       ) as cycles
     from unnest($2::text[], $3::bigint[], $4::text[]) with ordinality asked(subscription_id, discount_id, replaces, n)
     order by n`,
    [reader.merchantId, uses.map(([id]) => id), uses.map(([, id]) => id), uses.map(([, , id]) => id)],
  );
  return rows.map(({ cycles }) => Number(cycles));
}

/** How many uses of a discount by a user its limit counts. */
export async function usesBy(reader: Reader, discountId: number, userId: number): Promise<number> {
  const [row] = await reader.query(
    `select count(*) as uses from user_discounts
     where merchant_id = $1 and discount_id = $2 and user_id = $3 and status = 'used' and counted`,
    [reader.merchantId, discountId, userId],
  );
  return Number(row?.uses);
}

type NewUse = Pick<DiscountUse, 'userId' | 'planId' | 'currency' | 'counted'> &
  Partial<Pick<DiscountUse, 'subscriptionId'>> &
  Application;

/** Adds a use of a discount, whose row the caller has locked where it counts. */
export async function addUse(tx: Tx, { discountId, code }: domain.Discount, given: NewUse): Promise<number> {
  const { userId, planId, currency, counted, subscriptionId = '', invoiceId } = given;
  const { paymentId = '', amount = 0n, cycle = true } = given;
  const useId = await tx.nextId(userDiscounts);
  tx.save(userDiscounts, {
    merchantId: tx.merchantId,
    useId,
    discountId,
    code,
    status: 'used',
    userId,
    planId,
    subscriptionId,
    invoiceId,
    paymentId,
    currency,
    amount,
    counted,
    cycle,
    createTime: tx.now,
    modifyTime: tx.now,
  });
  return useId;
}

/** Takes a use back. The discount is locked. */
export async function rollBack(tx: Tx, use: DiscountUse): Promise<void> {
  // at once: what is quoted in the same transaction counts the uses that are left
  await tx.saveNow(userDiscounts, { ...use, status: 'rolledBack', modifyTime: tx.now });
  if (!use.counted) return;
  const discount = await tx.lock(discounts, { discountId: use.discountId }, 'discount_not_found');
  tx.save(discounts, { ...discount, uses: discount.uses - 1 });
  await freeCode(tx, discount, use.code);
}

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
export async function discountOfCode(reader: Reader, code: string): Promise<Discount | undefined> {
  const [[own], generated] = await Promise.all([
    reader.all(discounts, { code }, CODES),
    reader.find(generatedCodes, { code }),
  ]);
  if (own || !generated) return own;
  const template = await reader.find(discounts, { discountId: generated.templateId, deletedTime: 0 });
  return template && withSeenCode(template, generated);
}

/** Locks the discount of a code, and then the code. */
export async function lockCode(tx: Tx, code: string): Promise<LockedCode | undefined> {
  const [own] = await tx.parts(discounts, { code }, CODES);
  if (own) return { discount: own, seen: own, generated: undefined };
  const found = await tx.find(generatedCodes, { code });
  if (!found) return undefined;
  const template = await tx.part(discounts, { discountId: found.templateId, deletedTime: 0 });
  const generated = await tx.part(generatedCodes, { code });
  return template && generated && { discount: template, seen: withSeenCode(template, generated), generated };
}

/** A use of a generated code was rolled back: the code may be used again. Its template is locked. */
async function freeCode(tx: Tx, { kind, discountId }: Discount, code: string): Promise<void> {
  if (kind !== 'template') return;
  const generated = await tx.part(generatedCodes, { code });
  if (generated?.templateId === discountId) tx.save(generatedCodes, { ...generated, useId: 0 });
}

/** The template as the discount of one of its codes. */
export const withSeenCode = (template: Discount, { code, useId }: GeneratedCode): Discount => ({
  ...template,
  code,
  quantity: 1,
  uses: useId === 0 ? 0 : 1,
});
