import { z } from 'zod';
import { InvoiceLineMetricChargeLine } from '../billing/invoices/lines.js';
import { newPaymentMethod } from '../billing/payment-methods.js';
import { creditAccountType, creditTransactionType, metricType } from '../codes.js';
import { amount, anyObject, code, Empty, flag, integer, text, time } from '../field.js';
import * as input from '../input.js';
import { anyUser, operation } from '../operation.js';
import { PortalMetric } from './plans.js';

const reading = { service: 'billing', effect: 'read', permission: anyUser } as const;
const writing = { service: 'billing', effect: 'write', permission: anyUser, methods: ['POST'] } as const;
const which = { gatewayId: input.integer, paymentMethodId: input.filledKey };

export const portalMethodList = operation({
  ...reading,
  name: 'portal.method_list',
  methods: ['GET', 'POST'],
  path: '/portal/payment_method/list',
  summary: "The caller's saved payment methods of all gateways, newest first",
  input: z.object({}),
  output: z.object({
    methods: z.array(
      z
        .object({
          gatewayId: integer,
          id: text,
          type: text,
          isDefault: flag.describe('Charged by its gateway unless told otherwise'),
          data: anyObject.describe('What the gateway shows of it, such as brand and last4'),
        })
        .meta({ id: 'PortalPaymentMethod' }),
    ),
  }),
  errors: [],
});

export const portalMethodNew = operation({
  ...writing,
  name: 'portal.method_new',
  path: '/portal/payment_method/new',
  summary: 'Save a payment method of the caller; where the caller must act first, url is the page to open',
  input: newPaymentMethod.input.omit({ userId: true }),
  output: newPaymentMethod.output,
  errors: newPaymentMethod.errors,
});

export const portalMethodDelete = operation({
  ...writing,
  name: 'portal.method_delete',
  path: '/portal/payment_method/delete',
  summary: 'Delete a saved payment method of the caller; the newest one left becomes the default',
  input: z.object(which),
  output: Empty,
  errors: ['payment_method_not_found'],
});

export const portalMethodSetDefault = operation({
  ...writing,
  name: 'portal.method_set_default',
  path: '/portal/payment_method/set_default',
  summary: 'Make a saved payment method the one that its gateway charges; no effect if it is',
  input: z.object(which),
  output: Empty,
  errors: ['payment_method_not_found'],
});

const charge = z
  .object({
    metricId: integer,
    merchantMetric: PortalMetric.nullable(),
    CurrentUsedValue: integer,
    totalChargeAmount: amount.describe('What it comes to so far'),
    lines: z.array(InvoiceLineMetricChargeLine),
  })
  .meta({ id: 'PortalChargeStat' });

export const portalUsageList = operation({
  ...reading,
  name: 'portal.usage_list',
  methods: ['GET', 'POST'],
  path: '/portal/usage/list',
  summary: 'Usage of a subscription of the caller in its current period: limits, and what charges come to',
  input: z.object({ subscriptionId: input.filled }),
  output: z.object({
    userMetric: z
      .object({
        limitStats: z.array(
          z
            .object({
              CurrentUsedValue: integer,
              metricLimit: z
                .object({
                  MetricId: integer,
                  TotalLimit: integer,
                  type: code(metricType),
                  code: text,
                  metricName: text,
                })
                .meta({ id: 'PortalMetricLimit' })
                .nullable(),
            })
            .meta({ id: 'PortalLimitStat' }),
        ),
        meteredChargeStats: z.array(charge),
        recurringChargeStats: z.array(charge),
      })
      .meta({ id: 'PortalUsage' }),
  }),
  errors: ['subscription_not_found'],
});

export const portalCreditDetail = operation({
  ...reading,
  name: 'portal.credit_detail',
  methods: ['GET'],
  path: '/portal/credit/detail',
  summary: "The caller's credit accounts, and their newest 100 changes",
  input: z.object({}),
  output: z.object({
    creditAccounts: z.array(
      z
        .object({
          id: integer,
          type: code(creditAccountType),
          currency: text,
          amount: z.int().describe('Minor units in a main account, credits in a promo account'),
          currencyAmount: amount,
          exchangeRate: integer,
        })
        .meta({ id: 'PortalCreditAccount' }),
    ),
    creditTransactions: z.array(
      z
        .object({
          id: integer,
          creditId: integer,
          accountType: code(creditAccountType),
          transactionType: code(creditTransactionType),
          createTime: time,
          currency: text,
          deltaAmount: integer,
          deltaCurrencyAmount: amount,
          creditAmountAfter: integer,
          invoiceId: text,
          name: text,
          description: text,
        })
        .meta({ id: 'PortalCreditTransaction' }),
    ),
  }),
  errors: [],
});
