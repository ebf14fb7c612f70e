import type { Wing } from '@recur/platform';
import { Handlers } from './handlers.js';
import { OwnInvoices, ShownInvoices } from './invoices.js';
import { OwnMoney, PortalPayments } from './money.js';
import { OwnSubscriptions, PortalPurchase } from './subscriptions.js';

/** The operations of the hosted pages: the merchant's handlers, for one user. */
export const portalWing: Wing = {
  controllers: [PortalPurchase, OwnSubscriptions, OwnInvoices, OwnMoney, PortalPayments],
  providers: [Handlers, ShownInvoices],
};
