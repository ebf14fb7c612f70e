import { machine, type StateOf } from '@recur/kernel';

/** Lifecycle of a recharge of a credit account: it follows the invoice that sells the credit. */
export const creditRechargeLifecycle = machine({
  created: { succeed: 'success', fail: 'failed' },
  success: {},
  failed: {},
});
export type CreditRechargeStatus = StateOf<typeof creditRechargeLifecycle>;

/** A purchase of main credit: minor units of `currency`. */
export interface Recharge {
  merchantId: number;
  rechargeId: string;
  id: number;
  status: CreditRechargeStatus;
  creditId: number;
  userId: number;
  currency: string;
  amount: bigint;
  gatewayId: number;
  invoiceId: string;
  paymentId: string;
  name: string;
  description: string;
  createTime: number;
  paidTime: number;
}
