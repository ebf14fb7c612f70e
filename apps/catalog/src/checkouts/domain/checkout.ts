import { isDeepStrictEqual } from 'node:util';
import { machine, Rejected, type StateOf } from '@recur/kernel';

/** Archiving is final; an archived template is kept because plans may refer to it. */
export const checkoutLifecycle = machine({
  live: { archive: 'archived' },
  archived: {},
});
export type CheckoutStatus = StateOf<typeof checkoutLifecycle>;

/** Appearance of the page on which a plan is bought. Times in unix seconds. */
export interface Checkout {
  id: number;
  merchantId: number;
  /** Incremented by the write path with each event. */
  version: number;
  status: CheckoutStatus;
  name: string;
  description: string;
  /** At most one template of a merchant, and never an archived one. */
  isDefault: boolean;
  /** Published content, seen by customers. */
  data: Record<string, unknown>;
  /** Content being prepared; empty when there is none. */
  stagingData: Record<string, unknown>;
  createTime: number;
  modifyTime: number;
}

/** Fields that may be edited. */
export type CheckoutEdit = Partial<Pick<Checkout, 'name' | 'description' | 'data' | 'stagingData'>>;

/** Throws Rejected `checkout_archived` for an archived template; `move` is the verb of the message. */
export function checkLive({ id, status }: Pick<Checkout, 'id' | 'status'>, move: string): void {
  if (status !== 'live') throw new Rejected('checkout_archived', `Checkout ${id} is ${status}: cannot ${move} it`);
}

/** Edits a template; undefined when nothing changes. Throws as `checkLive` does. */
export function edit(checkout: Checkout, sent: CheckoutEdit, now: number): Checkout | undefined {
  checkLive(checkout, 'edit');
  const edited = { ...checkout, ...sent };
  return isDeepStrictEqual(edited, checkout) ? undefined : { ...edited, modifyTime: now };
}

/** Publishes the staged content; undefined when there is none. Throws as `checkLive` does. */
export function publish(checkout: Checkout, now: number): Checkout | undefined {
  checkLive(checkout, 'publish');
  if (isDeepStrictEqual(checkout.stagingData, {})) return undefined;
  return { ...checkout, data: checkout.stagingData, stagingData: {}, modifyTime: now };
}

/** Archives a template, which is then not the default; undefined when it is archived already. */
export function archive(checkout: Checkout, now: number): Checkout | undefined {
  const status = checkoutLifecycle.next(checkout.status, 'archive');
  return status && { ...checkout, status, isDefault: false, modifyTime: now };
}
