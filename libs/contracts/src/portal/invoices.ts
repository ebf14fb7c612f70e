import { z } from 'zod';
import { LineExplanation, TotalExplanation } from '../billing/credit-notes.js';
import { GatewayBank } from '../billing/gateway-banks.js';
import { InvoiceTax } from '../billing/invoices/shape.js';
import { bizType, gatewayType, invoiceStatus, paymentStatus } from '../codes.js';
import { amount, code, flag, integer, percent, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { anyUser, operation } from '../operation.js';
import { PortalUser } from './account.js';

const portalGateway = z.object({
  gatewayId: integer,
  gatewayName: text,
  gatewayType: code(gatewayType),
  displayName: text,
  gatewayIcons: z.array(text),
  gatewayLogo: text,
  currency: text,
  minimumAmount: amount,
  isDefault: flag,
  sort: integer,
  autoChargeEnabled: flag.describe('It saves payment methods and charges them; a wire transfer does not'),
});
export interface PortalGateway extends z.output<typeof portalGateway> {}
export const PortalGateway: Shape<PortalGateway> = portalGateway.meta({ id: 'PortalGateway' });

const offeredGateway = portalGateway.extend({
  publicKey: text.describe("Publishable key of the gateway, for its own card fields in the page; '' where it has none"),
});
export interface PortalOfferedGateway extends z.output<typeof offeredGateway> {}
/** A gateway that an order or an invoice can be paid by. */
export const PortalOfferedGateway: Shape<PortalOfferedGateway> = offeredGateway.meta({ id: 'PortalOfferedGateway' });

const portalPayment = z.object({
  paymentId: text,
  gatewayId: integer,
  status: code(paymentStatus),
  currency: text,
  totalAmount: amount,
  paymentAmount: amount,
  refundAmount: amount,
  failureReason: text,
  autoCharge: flag,
  createTime: time,
  paidTime: time,
});
export interface PortalPayment extends z.output<typeof portalPayment> {}
export const PortalPayment: Shape<PortalPayment> = portalPayment.meta({ id: 'PortalPayment' });

const portalInvoiceLine = z.object({
  lineId: text,
  sourceLineId: text,
  name: text,
  description: text,
  currency: text,
  quantity: integer,
  unitAmountExcludingTax: amount,
  amountExcludingTax: amount,
  discountAmount: amount,
  tax: amount,
  taxPercentage: percent,
  taxRatePpm: integer,
  amount,
  originAmount: amount,
  periodStart: time,
  periodEnd: time,
  proration: flag,
});
export interface PortalInvoiceLine extends z.output<typeof portalInvoiceLine> {}
export const PortalInvoiceLine: Shape<PortalInvoiceLine> = portalInvoiceLine.meta({ id: 'PortalInvoiceLine' });

const portalSeller = z
  .object({
    name: text,
    companyName: text,
    companyLogo: text,
    address: text,
    countryCode: text,
    companyVatNumber: text,
    companyRegistryCode: text,
    email: text,
    phone: text,
    homeUrl: text,
  })
  .meta({ id: 'PortalSeller' });
const portalInvoice = z.object({
  invoiceId: text,
  invoiceName: text,
  number: text,
  status: code(invoiceStatus),
  bizType: code(bizType),
  currency: text,
  createTime: time,
  finishTime: time,
  paidTime: time,
  periodStart: time,
  periodEnd: time,
  dayUtilDue: integer,
  deadline: time.describe('The due date: the invoice is payable until then'),
  originAmount: amount,
  discountAmount: amount,
  discountCode: text,
  promoCreditDiscountAmount: amount,
  totalAmountExcludingTax: amount,
  taxAmount: amount,
  taxPercentage: percent,
  totalAmount: amount,
  partialCreditPaidAmount: amount,
  amountDue: amount,
  surplusAmount: amount,
  lines: z.array(PortalInvoiceLine),
  taxes: z.array(InvoiceTax),
  link: text.describe('The page of the invoice'),
  sendPdf: text.describe('The PDF: a signed link that needs no token'),
  subscriptionId: text,
  productName: text,
  autoCharge: flag,
  gatewayId: integer,
  gateway: PortalGateway.nullable(),
  payment: PortalPayment.nullable(),
  merchant: portalSeller.nullable(),
  userSnapshot: PortalUser.nullable().describe('The buyer when it was finished'),
});
export interface PortalInvoice extends z.output<typeof portalInvoice> {}
export const PortalInvoice: Shape<PortalInvoice> = portalInvoice.meta({ id: 'PortalInvoice' });

const explanation = z.object({ lines: z.array(LineExplanation), totals: z.array(TotalExplanation) });
export interface PortalExplanation extends z.output<typeof explanation> {}
/** How each amount was computed: both the lines and all totals but the last add up to the last total. */
export const PortalExplanation: Shape<PortalExplanation> = explanation.meta({ id: 'PortalExplanation' });

const collecting = z.object({
  deadline: time.describe('Until then the invoice can be paid'),
  automatic: flag.describe('It is charged without the user'),
  nextAttemptTime: time.describe('The next automatic charge; 0 for none'),
  attempts: integer,
  failures: integer,
  actionUrl: text.describe("Where the user confirms the payment; '' where nothing is to be confirmed"),
  announcedTime: time.describe('When the user said that the transfer was sent; 0 if not'),
});
export interface PortalCollecting extends z.output<typeof collecting> {}
/** How an open invoice is collected. */
export const PortalCollecting: Shape<PortalCollecting> = collecting.meta({ id: 'PortalCollecting' });

const transfer = z.object({
  bank: GatewayBank,
  reference: text.describe('To be stated with the transfer'),
  amount,
  currency: text,
  qr: text.describe("Content of the QR code of a SEPA transfer (EPC069-12); '' where there is none"),
});
export interface PortalTransfer extends z.output<typeof transfer> {}
/** How to pay by wire transfer. */
export const PortalTransfer: Shape<PortalTransfer> = transfer.meta({ id: 'PortalTransfer' });

export const shownOfInvoice = {
  invoice: PortalInvoice,
  creditNotes: z.array(PortalInvoice),
  explanation: PortalExplanation,
  collecting: PortalCollecting.nullable().describe('null where the invoice is not open'),
  transfer: PortalTransfer.nullable().describe('null where no transfer is awaited'),
  timeZone: text.describe('IANA name of the zone of its dates: that of its subscription, else of the merchant'),
};

const reading = { service: 'billing', effect: 'read', permission: anyUser } as const;

export const portalInvoiceList = operation({
  ...reading,
  name: 'portal.invoice_list',
  methods: ['GET', 'POST'],
  path: '/portal/invoice/list',
  summary: "The caller's finished invoices, newest first",
  input: input.paged(z.object({ ...input.paging })),
  output: z.object({ invoices: z.array(PortalInvoice), total: input.total }),
  errors: [],
});

export const portalInvoiceDetail = operation({
  ...reading,
  name: 'portal.invoice_detail',
  methods: ['GET'],
  path: '/portal/invoice/detail',
  summary: 'An invoice of the caller with its explanation, credit notes and how it is collected',
  input: z.object({ invoiceId: input.filled }),
  output: z.object(shownOfInvoice),
  errors: ['invoice_not_found'],
});
