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
