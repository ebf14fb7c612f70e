import { invalid, Rejected } from '@recur/kernel';
import { type Discount, type DiscountSettings, editDiscount, statusAt } from './discount.js';

/**
 * Changes settings of a template. Throws what `edit` does, and Rejected `invalid_parameters` for another prefix, and for a
 * smaller quantity since the activation.
 */
export function editTemplate(template: Discount, prefix: string, changes: Partial<DiscountSettings>): Discount {
  if (prefix !== '' && prefix !== template.code) {
    throw invalid('/codePrefix', `cannot be changed: it is ${template.code}`);
  }
  const edited = editDiscount(template, changes);
  const { status, quantity } = template;
  if (status !== 'editable' && edited.quantity < quantity) {
    throw invalid('/quantity', `must be at least ${quantity} since the activation`);
  }
  return edited;
}

/** Raises the number of codes of an activated template to at most `most`. Throws Rejected `discount_wrong_state`. */
export function raiseQuantity(template: Discount, amount: number, most: number): Discount {
  const { discountId, status, quantity } = template;
  if (status === 'editable') {
    throw new Rejected('discount_wrong_state', `Discount ${discountId} is not activated: edit its quantity instead`);
  }
  if (quantity + amount > most) throw invalid('/amount', `would raise the quantity above ${most}`);
  return { ...template, quantity: quantity + amount };
}

/** Characters of the random part of a code: letters and digits that nobody takes for each other. */
const alphabets = {
  numeric: '0123456789',
  lower: 'abcdefghijkmnpqrstuvwxyz23456789',
  upper: 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789',
} as const;
export type RandomStyle = keyof typeof alphabets | 'auto';

/** A guess hits one of so many possible codes of a template. */
const guesses = 1_000_000;
const usualLength = 10;

/** The characters of a style; `auto` follows the prefix. */
export function alphabetOf(style: RandomStyle, prefix: string): string {
  if (style !== 'auto') return alphabets[style];
  if (/^\d+$/.test(prefix)) return alphabets.numeric;
  return /^[a-z\d_-]*[a-z][a-z\d_-]*$/.test(prefix) ? alphabets.lower : alphabets.upper;
}

/**
 * Length of the random part of a code of `codeLength` characters, or the usual one. Throws Rejected `invalid_parameters`
 * for /codeLength where the template's codes could be guessed.
 */
export function randomLength(
  { code: prefix, quantity }: Pick<Discount, 'code' | 'quantity'>,
  alphabet: string,
  codeLength: number | undefined,
): number {
  const least = Math.ceil(Math.log(quantity * guesses) / Math.log(alphabet.length) - 1e-9);
  if (codeLength === undefined) return Math.max(usualLength, least);
  if (codeLength >= prefix.length + least) return codeLength - prefix.length;
  const why = `must be at least ${prefix.length + least}: the prefix, and a random part that cannot be guessed`;
  throw invalid('/codeLength', why);
}

/**
 * How many codes to generate: those asked for, else what is left of the quantity, at most `most`. Throws Rejected
 * `discount_wrong_state` for a template that is not active, `invalid_parameters` for more than are left.
 */
export function toGenerate(template: Discount, asked: number | undefined, most: number, now: number): number {
  const { discountId, quantity, generated } = template;
  const status = statusAt(template, now);
  if (status !== 'active') {
    throw new Rejected('discount_wrong_state', `Discount ${discountId} is ${status}: cannot generate codes`);
  }
  const left = Math.max(0, quantity - generated);
  if (asked !== undefined && asked > left) {
    throw invalid('/quantity', `is more than the ${left} codes that are left of ${quantity}`);
  }
  return Math.min(asked ?? left, most);
}

/** A use of a discount: of a code at its submit, or by a cycle invoice of a subscription that a recurring one is bound to. */
export interface DiscountUse {
  merchantId: number;
  useId: number;
  discountId: number;
  code: string;
  status: 'used' | 'rolledBack';
  userId: number;
  planId: number;
  subscriptionId: string;
  /** '' until there is an invoice. */
  invoiceId: string;
  paymentId: string;
  currency: string;
  /** Minor units that the invoice was reduced by. */
  amount: bigint;
  /** Made at a submit: counts for quantity and userLimit. */
  counted: boolean;
  /** The invoice bills a cycle: counts for cycleLimit. */
  cycle: boolean;
  createTime: number;
  modifyTime: number;
}
