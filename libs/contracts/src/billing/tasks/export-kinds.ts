import type { z } from 'zod';
import { operationLogList } from '../../identity/operation-log.js';
import { listUsers } from '../../identity/users.js';
import type { Permission, Service } from '../../operation.js';
import { listCreditTransactions } from '../credits/credits.js';
import { listBatchCodes } from '../discount-batches.js';
import { listDiscounts, listUserDiscounts } from '../discounts.js';
import { listInvoices } from '../invoices/invoices.js';
import { listPaymentTimeline } from '../payments/timeline.js';
import { listSubscriptions } from '../subscriptions/reads.js';
import { listUsageEvents } from '../usage/events.js';

/**
 * Content of a column: text; a whole number; an amount in major units, with its currency in a column beside it; a time,
 * which is unix seconds here and written in the time zone of the export.
 */
export type ColumnKind = 'text' | 'integer' | 'amount' | 'time';

/** A kind of export: the service that has the rows, the list whose filters its payload takes, its columns by group. */
export interface ExportKind {
  service: Service;
  list: { input: z.ZodType };
  /** The permission of the list, needed beside the right to make exports. */
  permission: Permission;
  groups: Readonly<Record<string, Readonly<Record<string, ColumnKind>>>>;
}

const buyer = {
  UserId: 'integer',
  Email: 'text',
  FirstName: 'text',
  LastName: 'text',
  ExternalUserId: 'text',
} as const;

const terms = {
  Name: 'text',
  Status: 'text',
  BillingType: 'text',
  DiscountType: 'text',
  DiscountPercentage: 'text',
  Currency: 'text',
  DiscountAmount: 'amount',
  CycleLimit: 'integer',
  PlanIds: 'text',
  StartTime: 'time',
  EndTime: 'time',
  CreateTime: 'time',
} as const satisfies Record<string, ColumnKind>;

export const exportKinds = {
  InvoiceExport: {
    service: 'billing',
    list: listInvoices,
    permission: 'invoice.read',
    groups: {
      Invoice: {
        InvoiceId: 'text',
        InvoiceNumber: 'text',
        InvoiceName: 'text',
        Status: 'text',
        CreateFrom: 'text',
        BizType: 'text',
        SubscriptionId: 'text',
        PeriodStart: 'time',
        PeriodEnd: 'time',
        CreateTime: 'time',
        FinishTime: 'time',
        DueTime: 'time',
        PaidTime: 'time',
      },
      Amounts: {
        Currency: 'text',
        OriginAmount: 'amount',
        DiscountAmount: 'amount',
        PromoCreditDiscountAmount: 'amount',
        TotalAmountExcludingTax: 'amount',
        TaxAmount: 'amount',
        TaxPercentage: 'text',
        TotalAmount: 'amount',
        PartialCreditPaidAmount: 'amount',
        AmountDue: 'amount',
        RefundedAmount: 'amount',
        DiscountCode: 'text',
      },
      User: { ...buyer, CompanyName: 'text', CountryCode: 'text', VatNumber: 'text' },
      Payment: { Gateway: 'text', PaymentId: 'text' },
    },
  },
  UserExport: {
    service: 'identity',
    list: listUsers,
    permission: 'user.read',
    groups: {
      User: {
        Id: 'integer',
        Email: 'text',
        ExternalUserId: 'text',
        FirstName: 'text',
        LastName: 'text',
        Status: 'text',
        Type: 'text',
        Language: 'text',
        CreateTime: 'time',
        LastLoginAt: 'time',
      },
      Address: {
        CompanyName: 'text',
        RegistrationNumber: 'text',
        VATNumber: 'text',
        Phone: 'text',
        Address: 'text',
        City: 'text',
        State: 'text',
        ZipCode: 'text',
        CountryCode: 'text',
        CountryName: 'text',
      },
      Subscription: {
        SubscriptionId: 'text',
        SubscriptionName: 'text',
        SubscriptionStatus: 'text',
        GatewayId: 'integer',
      },
    },
  },
  SubscriptionExport: {
    service: 'billing',
    list: listSubscriptions,
    permission: 'subscription.read',
    groups: {
      Subscription: {
        SubscriptionId: 'text',
        Status: 'text',
        PlanId: 'integer',
        PlanName: 'text',
        ProductId: 'integer',
        Quantity: 'integer',
        Currency: 'text',
        Amount: 'amount',
        Interval: 'text',
        AddOns: 'text',
        DiscountCode: 'text',
        Gateway: 'text',
        CancelAtPeriodEnd: 'text',
        CancelReason: 'text',
      },
      Times: {
        CurrentPeriodStart: 'time',
        CurrentPeriodEnd: 'time',
        TrialEnd: 'time',
        FirstPaidTime: 'time',
        CreateTime: 'time',
        CancelTime: 'time',
      },
      User: buyer,
    },
  },
  TransactionExport: {
    service: 'billing',
    list: listPaymentTimeline,
    permission: 'transaction.read',
    groups: {
      Transaction: {
        TransactionId: 'text',
        ExternalTransactionId: 'text',
        Type: 'text',
        Status: 'text',
        Currency: 'text',
        TotalAmount: 'amount',
        Gateway: 'text',
        FailureReason: 'text',
        CreateTime: 'time',
        PaidTime: 'time',
      },
      Of: { InvoiceId: 'text', PaymentId: 'text', RefundId: 'text', SubscriptionId: 'text' },
      User: buyer,
    },
  },
  CreditTransactionExport: {
    service: 'billing',
    list: listCreditTransactions,
    permission: 'promo-credit.read',
    groups: {
      Transaction: {
        TransactionId: 'text',
        AccountType: 'text',
        TransactionType: 'text',
        Currency: 'text',
        CreditsBefore: 'integer',
        Credits: 'integer',
        CreditsAfter: 'integer',
        Amount: 'amount',
        Name: 'text',
        Description: 'text',
        By: 'text',
        InvoiceId: 'text',
        CreateTime: 'time',
      },
      User: buyer,
    },
  },
  DiscountExport: {
    service: 'billing',
    list: listDiscounts,
    permission: 'discount-code.read',
    groups: {
      Discount: {
        Id: 'integer',
        Code: 'text',
        ...terms,
        Quantity: 'integer',
        QuantityUsed: 'integer',
        UserLimit: 'integer',
      },
    },
  },
  UserDiscountExport: {
    service: 'billing',
    list: listUserDiscounts,
    permission: 'discount-code.read',
    groups: {
      Use: {
        Id: 'integer',
        Code: 'text',
        Status: 'text',
        Currency: 'text',
        ApplyAmount: 'amount',
        PlanId: 'integer',
        SubscriptionId: 'text',
        InvoiceId: 'text',
        PaymentId: 'text',
        CreateTime: 'time',
      },
      User: buyer,
    },
  },
  BatchDiscountChildrenExport: {
    service: 'billing',
    list: listBatchCodes,
    permission: 'discount-code.read',
    groups: {
      Code: { Id: 'integer', Code: 'text', ParentTemplateCode: 'text', ...terms },
      Use: {
        IsRedeemed: 'text',
        RedeemedTime: 'time',
        RedeemedByEmail: 'text',
        InvoiceId: 'text',
        PaymentId: 'text',
        SubscriptionId: 'text',
        PlanId: 'integer',
        PlanName: 'text',
      },
    },
  },
  MetricEventExport: {
    service: 'billing',
    list: listUsageEvents,
    permission: 'billable-metric.read',
    groups: {
      Event: {
        Id: 'integer',
        ExternalEventId: 'text',
        MetricCode: 'text',
        MetricName: 'text',
        Value: 'integer',
        SubscriptionId: 'text',
        PeriodStart: 'time',
        PeriodEnd: 'time',
        EventTime: 'time',
        CreateTime: 'time',
      },
      User: buyer,
    },
  },
  OperationLogExport: {
    service: 'identity',
    list: operationLogList,
    permission: 'activity-logs.read',
    groups: {
      Entry: {
        Id: 'integer',
        CreateTime: 'time',
        Account: 'text',
        AccountType: 'text',
        Target: 'text',
        Content: 'text',
        MemberId: 'integer',
        MemberEmail: 'text',
      },
      Of: {
        UserId: 'integer',
        PlanId: 'integer',
        InvoiceId: 'text',
        SubscriptionId: 'text',
        DiscountCode: 'text',
      },
    },
  },
} as const satisfies Record<string, ExportKind>;
