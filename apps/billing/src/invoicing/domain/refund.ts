import { machine, Rejected, type StateOf } from '@recur/kernel';

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
export type RefundMove = (typeof refundLifecycle.moves)[number];

/** A refund of an invoice. Money in minor units of `currency`; times in unix seconds, 0 for not yet. */
export interface Refund {
  /** `re_…` */
  refundId: string;
  /** Integer id, from the sequence of payments. */
  id: number;
  merchantId: number;
  version: number;
  status: RefundStatus;
  type: number;
  invoiceId: string;
  /** Subscription of its invoice; '' for none. */
  subscriptionId: string;
  creditNoteId: string;
  /** '' for an invoice that was paid from credit alone. */
  paymentId: string;
  userId: number;
  gatewayId: number;
  currency: string;
  amount: bigint;
  taxAmount: bigint;
  /** Parts that go through the payment, and back to the main account. */
  toPayments: bigint;
  toMainCredit: bigint;
  /** Promo credits that it returns when it succeeds. */
  promoCredits: bigint;
  /** The merchant's own reference, unique among its refunds; '' for none. */
  externalRefundId: string;
  gatewayRefundId: string;
  countryCode: string;
  reason: string;
  /** Reason given for the outcome. */
  explanation: string;
  metadata: Record<string, unknown>;
  createTime: number;
  modifyTime: number;
  refundTime: number;
  /** Unix second, on the machine's clock, at which it was sent to the gateway; 0 for one that was not. */
  sentTime: number;
  /** How often the gateway was asked for the outcome. */
  inquiries: number;
}

/** The refund after a move. Throws Rejected `refund_not_open`. */
export function moved(refund: Refund, move: RefundMove, explanation: string, now: number): Refund {
  const status = refundLifecycle.step(refund.status, move, 'refund_not_open', `Refund ${refund.refundId}`);
  const refundTime = move === 'succeed' ? now : refund.refundTime;
  return { ...refund, status, explanation: explanation || refund.explanation, refundTime, modifyTime: now };
}

/** Throws Rejected `refund_not_open` unless exactly one refund is open. */
export function theOpenOne(refunds: readonly Refund[], invoiceId: string): Refund {
  const open = refunds.filter(({ status }) => status === 'created');
  const [refund] = open;
  if (refund && open.length === 1) return refund;
  const count = open.length === 0 ? 'no open refund' : `${open.length} open refunds: name its credit note`;
  throw new Rejected('refund_not_open', `Invoice ${invoiceId} has ${count}`);
}

/** Throws Rejected `refund_not_open` for one that its gateway is making. */
export function assertUnsent({ refundId, status, sentTime }: Refund): void {
  if (status !== 'created' || sentTime === 0) return;
  throw new Rejected('refund_not_open', `Refund ${refundId} has been sent to its gateway: cannot cancel it`);
}
