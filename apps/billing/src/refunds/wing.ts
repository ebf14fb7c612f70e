import type { Wing } from '@recur/platform';
import { Disputes } from './disputes.js';
import { RefundList, Refunds } from './refunds.js';
import { RefundReports, RefundSending, RefundSettlement } from './sending.js';

/** Money that goes back: refunds, disputes, overpayments. */
export const refundsWing: Wing = {
  controllers: [Refunds, RefundList],
  providers: [Disputes, RefundReports, RefundSending, RefundSettlement],
  work: app => [app.get(RefundSending).work],
};
