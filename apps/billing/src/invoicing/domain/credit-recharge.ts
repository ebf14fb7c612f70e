import { machine, type StateOf } from '@recur/kernel';

/** Lifecycle of a recharge of a credit account: it follows the invoice that sells the credit. */
export const creditRechargeLifecycle = machine({
  created: { succeed: 'success', fail: 'failed' },
  success: {},
  failed: {},
});
export type CreditRechargeStatus = StateOf<typeof creditRechargeLifecycle>;
