import type { MerchantCheckout } from '@recur/contracts';
import type { Reader } from '@recur/platform';
import { checkouts } from './tables.js';

/** The look of the merchant's pages that are about no plan: its default checkout template; null without one. */
export async function usualLook(reader: Reader): Promise<MerchantCheckout | null> {
  return (await reader.find(checkouts, { isDefault: true }))?.data ?? null;
}
