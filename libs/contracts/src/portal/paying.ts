import { z } from 'zod';
import { Empty, text } from '../field.js';
import * as input from '../input.js';
import { anyUser, operation } from '../operation.js';
import { PortalOfferedGateway, shownOfInvoice } from './invoices.js';
import { checkoutLook } from './plans.js';

const reading = { service: 'billing', effect: 'read', permission: anyUser } as const;
const writing = { service: 'billing', effect: 'write', permission: anyUser, methods: ['POST'] } as const;

const linkToken = input.filledKey.describe("The last part of the invoice's link");

export const portalInvoiceOpen = operation({
  ...reading,
  name: 'portal.invoice_open',
  methods: ['POST'],
  path: '/portal/invoice/open',
  summary: 'The invoice behind a payment link, and the gateways by which it can be paid',
  anonymous: true,
  input: z.object({ token: linkToken }),
  output: z.object({
    ...shownOfInvoice,
    gateways: z.array(PortalOfferedGateway),
    checkout: checkoutLook.describe("The merchant's default checkout template; null without one"),
  }),
  errors: ['invoice_not_found'],
});

/** How an open invoice is to be paid. */
const paying = {
  gatewayId: input.integer.describe('Another gateway than that of the open payment replaces it'),
  paymentMethodId: input.externalId.default('').describe('A saved method of the gateway; becomes the default there'),
  data: input.anyObject
    .optional()
    .describe('A new payment method, saved first: as payment_method/new takes it. Not with paymentMethodId'),
};
const paid = z.object({
  paymentId: text.describe("'' where the user has to open url first"),
  url: text.describe("Page of the gateway or the bank that the user has to open first; '' for none"),
});
const payErrors = [
  'invoice_not_found',
  'invoice_not_open',
  'payment_exists',
  'gateway_not_found',
  'gateway_archived',
  'gateway_without_methods',
  'payment_method_not_found',
  'too_many_payment_methods',
] as const;

export const portalInvoicePay = operation({
  ...writing,
  name: 'portal.invoice_pay',
  path: '/portal/invoice/pay',
  summary: 'Pay an open invoice of the caller, whose detail tells the outcome moments later',
  input: z.object({ invoiceId: input.filled, ...paying }),
  output: paid,
  errors: payErrors,
});

export const portalInvoicePayLink = operation({
  ...writing,
  name: 'portal.invoice_pay_link',
  path: '/portal/invoice/pay_link',
  summary: 'Pay the open invoice behind a payment link, which tells the outcome moments later',
  anonymous: true,
  input: z.object({ token: linkToken, gatewayId: paying.gatewayId, data: paying.data }),
  output: paid,
  errors: payErrors.filter(slug => slug !== 'payment_method_not_found'),
});

const announceErrors = [
  'invoice_not_found',
  'invoice_not_open',
  'invoice_without_payment',
  'gateway_not_wire_transfer',
] as const;

export const portalWireSent = operation({
  ...writing,
  name: 'portal.wire_sent',
  path: '/portal/invoice/wire_sent',
  summary: 'Tell the merchant that the transfer of an open invoice of the caller was sent',
  input: z.object({ invoiceId: input.filled }),
  output: Empty,
  errors: announceErrors,
});
