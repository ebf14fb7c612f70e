import { z } from 'zod';
import { MetricPlanCharge, PlanMetricChargeConfig } from '../../catalog/metrics.js';
import { PlanMetricLimitConfig } from '../../catalog/plan-limits.js';
import { Plan } from '../../catalog/plan-shape.js';
import { amount, flag, integer, percent, type Shape, text, time } from '../../field.js';
import { Address } from '../addresses.js';

const invoiceLineMetricChargeLine = z.object({
  amount: amount,
  flatAmount: amount,
  quantity: integer,
  unitAmount: amount,
  step: text,
});
export interface InvoiceLineMetricChargeLine extends z.output<typeof invoiceLineMetricChargeLine> {}
export const InvoiceLineMetricChargeLine: Shape<InvoiceLineMetricChargeLine> = invoiceLineMetricChargeLine.meta({
  id: 'InvoiceLineMetricChargeLine',
});

const invoiceLineMetricCharge = z.object({
  metricId: integer,
  CurrentUsedValue: integer,
  maxEventId: integer,
  minEventId: integer,
  chargePricing: MetricPlanCharge.nullable(),
  description: text,
  name: text,
  totalChargeAmount: amount,
  lines: z.array(InvoiceLineMetricChargeLine),
});
export interface InvoiceLineMetricCharge extends z.output<typeof invoiceLineMetricCharge> {}
export const InvoiceLineMetricCharge: Shape<InvoiceLineMetricCharge> = invoiceLineMetricCharge.meta({
  id: 'InvoiceLineMetricCharge',
});

const invoiceLine = z.object({
  amount: amount,
  amountExcludingTax: amount,
  discountAmount: amount,
  originAmount: amount,
  originUnitAmountExcludeTax: amount,
  tax: amount,
  taxPercentage: percent,
  taxRatePpm: integer.describe('Exact rate in parts per million'),
  unitAmountExcludingTax: amount,
  quantity: integer,
  periodStart: time,
  periodEnd: time,
  prorationDate: time,
  prorationScale: percent,
  currency: text,
  description: text,
  discountCode: text,
  lineId: text,
  sourceLineId: text.describe('The line of an earlier invoice that a credit line gives back; empty for others'),
  name: text,
  pdfDescription: text,
  taxCode: text,
  ustaxAlert: text,
  proration: flag,
  fromAddress: Address.nullable(),
  toAddress: Address.nullable(),
  nexusAddresses: z.array(Address),
  plan: Plan.nullable(),
  metricCharge: InvoiceLineMetricCharge.nullable(),
  planMetricChargeConfigs: z.array(PlanMetricChargeConfig),
  planMetricLimitConfigs: z.array(PlanMetricLimitConfig),
});
export interface InvoiceLine extends z.output<typeof invoiceLine> {}
export const InvoiceLine: Shape<InvoiceLine> = invoiceLine.meta({ id: 'InvoiceLine' });

const invoiceMetricCharges = z.object({
  meteredChargeStats: z.array(InvoiceLineMetricCharge),
  recurringChargeStats: z.array(InvoiceLineMetricCharge),
});
export interface InvoiceMetricCharges extends z.output<typeof invoiceMetricCharges> {}
export const InvoiceMetricCharges: Shape<InvoiceMetricCharges> = invoiceMetricCharges.meta({
  id: 'InvoiceMetricCharges',
});
