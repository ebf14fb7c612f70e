import type { Wing } from '@recur/platform';
import { PaymentAttempts } from './attempts.js';
import { Captures, Charges } from './charges.js';
import { InvoiceExpiry, PaymentReminders } from './deadlines.js';
import { GatewayCallbacks, GatewayEvents } from './gateway-events.js';
import { Invoices } from './invoices.js';
import { MethodTries } from './method-added.js';
import { NewPayment } from './new-payment.js';
import { PayInvoice } from './pay.js';
import { SplitPayments } from './payment-lists.js';
import { Payments } from './payments.js';
import { PaymentReconciliation } from './reconcile.js';
import { ChargeSettlement } from './settlement.js';
import { PaymentTimeline } from './timeline.js';
import { WireTransfers } from './wire-transfers.js';

/** Payments of invoices: charges, transfers, callbacks, deadlines. */
export const collectionWing: Wing = {
  controllers: [Invoices, Payments, NewPayment, SplitPayments, GatewayCallbacks, Captures, PaymentTimeline],
  providers: [
    InvoiceExpiry,
    WireTransfers,
    Charges,
    ChargeSettlement,
    MethodTries,
    PaymentAttempts,
    PaymentReconciliation,
    GatewayEvents,
    PaymentReminders,
    PayInvoice,
  ],
  work: app => [
    app.get(InvoiceExpiry).work,
    app.get(PaymentReminders).work,
    app.get(PaymentAttempts).work,
    ...app.get(PaymentReconciliation).works,
    app.get(MethodTries).work,
    app.get(GatewayCallbacks).work,
  ],
};
