import { machine, Rejected, type StateOf } from '@recur/kernel';
import { same } from './same.js';

/** An archived template is kept, since plans may name it, and comes back no more. */
export const checkoutLifecycle = machine({
  live: { archive: 'archived' },
  archived: {},
});
export type CheckoutStatus = StateOf<typeof checkoutLifecycle>;

/** How the page looks on which a plan is bought. Times in unix seconds. */
export interface Checkout {
  id: number;
  merchantId: number;
  /** Counted by the write path, one per event; nothing here changes it. */
  version: number;
  status: CheckoutStatus;
  name: string;
  description: string;
  /** One of a merchant's at most; none that is archived. */
  isDefault: boolean;
  /** What customers see. */
  data: Record<string, unknown>;
  /** What is being prepared; empty where nothing is. */
  stagingData: Record<string, unknown>;
  createTime: number;
  modifyTime: number;
}

/** What of a template may be changed. */
export type CheckoutEdit = Partial<Pick<Checkout, 'name' | 'description' | 'data' | 'stagingData'>>;

/** Throws Rejected `checkout_archived` where the template may not be used for what `move` says. */
export function checkLive({ id, status }: Pick<Checkout, 'id' | 'status'>, move: string): void {
  if (status !== 'live') throw new Rejected('checkout_archived', `Checkout ${id} is ${status}: cannot ${move} it`);
}

/** The template with what was sent; undefined where that is what it has already. Throws as `checkLive` does. */
export function edit(checkout: Checkout, sent: CheckoutEdit, now: number): Checkout | undefined {
  checkLive(checkout, 'edit');
  const edited = { ...checkout, ...sent };
  return same(edited, checkout) ? undefined : { ...edited, modifyTime: now };
}

/** The template as it was prepared; undefined where nothing is. Throws as `checkLive` does. */
export function publish(checkout: Checkout, now: number): Checkout | undefined {
  checkLive(checkout, 'publish');
  if (same(checkout.stagingData, {})) return undefined;
  return { ...checkout, data: checkout.stagingData, stagingData: {}, modifyTime: now };
}

/** The template, archived, and no default any more; undefined where it is so already. */
export function archive(checkout: Checkout, now: number): Checkout | undefined {
  const status = checkoutLifecycle.next(checkout.status, 'archive');
  return status && { ...checkout, status, isDefault: false, modifyTime: now };
}
