import { events } from '@recur/contracts';
import { aggregate, type ServiceDefinition } from '@recur/platform';
import { type Config, config } from './config.js';
import { copies } from './copies.js';
import { Expiries } from './expiries.js';
import { Gateways } from './gateways.js';
import { InvoiceList } from './invoice-list.js';
import { Invoices } from './invoices.js';
import { Init1763683200001 } from './migrations/0001-init.js';
import { Payments1763683200002 } from './migrations/0002-payments.js';
import { Purchases1763683200003 } from './migrations/0003-purchases.js';
import { Lists1763683200004 } from './migrations/0004-lists.js';
import { Relay1763683200005 } from './migrations/0005-relay.js';
import { Work1763683200006 } from './migrations/0006-work.js';
import { Opening } from './opening.js';
import { PaymentList } from './payment-list.js';
import { Payments } from './payments.js';
import { Purchases } from './purchases.js';
import { gateways, invoiceLines, invoices, numberings, payments, plans, users } from './tables.js';
import { gatewayView, paymentView } from './views.js';

export const billing: ServiceDefinition<Config> = {
  name: 'billing',
  config,
  schema: {
    tables: [invoices, invoiceLines, payments, gateways, numberings, users, plans],
    migrations: [
      Init1763683200001,
      Payments1763683200002,
      Purchases1763683200003,
      Lists1763683200004,
      Relay1763683200005,
      Work1763683200006,
    ],
    worksFrom: 5,
  },
  events,
  aggregates: {
    invoice: aggregate(invoices, 'invoiceId'),
    payment: aggregate(payments, 'paymentId', paymentView),
    gateway: aggregate(gateways, 'gatewayId', gateway => gatewayView(gateway)),
  },
  copies,
  handlers: [Gateways, Invoices, InvoiceList, Payments, PaymentList, Purchases],
  providers: [Expiries, Opening],
  work: app => [app.get(Expiries).work],
};
