import { machine, type StateOf } from '@recur/kernel';

/**
 * Lifecycle of a refund. `created` waits for the gateway, or for the mark of a transfer made by hand; its credit note is
 * numbered at `success` and cancelled otherwise. `reversed` is a refund that the bank sent back.
 */
export const refundLifecycle = machine({
  created: { succeed: 'success', fail: 'failed', cancel: 'cancelled' },
  success: { reverse: 'reversed' },
  failed: {},
  cancelled: {},
  reversed: {},
});
export type RefundStatus = StateOf<typeof refundLifecycle>;
