import * as contract from '@recur/contracts';
import type { Refund } from '../domain/refund.js';

const emptyRefund = contract.emptyOf(contract.Refund);

export function refundView(refund: Refund): contract.Refund {
  const { merchantId, refundId, invoiceId, subscriptionId, paymentId, userId, gatewayId, currency, type } = refund;
  const { externalRefundId, gatewayRefundId, countryCode, metadata, createTime, refundTime } = refund;
  return {
    ...emptyRefund,
    merchantId,
    refundId,
    invoiceId,
    subscriptionId,
    paymentId,
    userId,
    gatewayId,
    currency,
    type,
    externalRefundId,
    gatewayRefundId,
    countryCode,
    metadata,
    createTime,
    refundTime,
    status: contract.refundStatus[refund.status],
    refundAmount: Number(refund.amount),
    refundComment: refund.reason,
    refundCommentExplain: refund.explanation,
  };
}
