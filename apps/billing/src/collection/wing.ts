import type { Wing } from '@recur/platform';
import { PaymentAttempts } from './attempts.js';
import { Captures, Charges } from './charges.js';
import { InvoiceExpiry, LastNotices } from './deadlines.js';
import { GatewayCallbacks, GatewayFacts } from './gateway-events.js';
import { Invoices } from './invoices.js';
import { MethodTries } from './method-added.js';
import { PaymentNew } from './new-payment.js';
import { InvoicePaying } from './pay.js';
import { SplitPayments } from './payment-lists.js';
import { Payments } from './payments.js';
import { PaymentReconciliation } from './reconcile.js';
import { Settlement } from './settlement.js';
import { PaymentTimeline } from './timeline.js';
import { WireTransfers } from './wire-transfers.js';

/** Payments of invoices: charges, transfers, callbacks, deadlines. */
export const collectionWing: Wing = {
  controllers: [Invoices, Payments, PaymentNew, SplitPayments, GatewayCallbacks, Captures, PaymentTimeline],
  providers: [
    InvoiceExpiry,
    WireTransfers,
    Charges,
    Settlement,
    MethodTries,
    PaymentAttempts,
    PaymentReconciliation,
    GatewayFacts,
    LastNotices,
    InvoicePaying,
  ],
  work: app => [
    app.get(InvoiceExpiry).work,
    app.get(LastNotices).work,
    app.get(PaymentAttempts).work,
    ...app.get(PaymentReconciliation).works,
    app.get(MethodTries).work,
    app.get(GatewayCallbacks).work,
  ],
};
