import type { Wing } from '@recur/platform';
import { Handlers } from './handlers.js';
import { OwnInvoices, ShownInvoices } from './invoices.js';
import { OwnMoney, Paying } from './money.js';
import { Buying, OwnSubscriptions } from './subscriptions.js';

/** The operations of the hosted pages: the merchant's handlers, for one user. */
export const portalWing: Wing = {
  controllers: [Buying, OwnSubscriptions, OwnInvoices, OwnMoney, Paying],
  providers: [Handlers, ShownInvoices],
};
