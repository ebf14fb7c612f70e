import {
  type ExportRow,
  type In,
  type listBatchCodes,
  type listDiscounts,
  type listUserDiscounts,
  majorUnits,
  percentText,
} from '@recur/contracts';
import type { Caller, Db, SliceAt, Sliced } from '@recur/platform';
import { buyerColumns, usersOfRows } from '../customers/exported.js';
import { type Discount, statusAt } from './domain/discount.js';
import { codesWhere, shownCodes, templateOf } from './generated-codes.js';
import { discountsWhere, usesWhere } from './lists.js';
import { discounts, generatedCodes, userDiscounts } from './tables.js';

/** The next discounts of discount/list, newest first, as rows of an export. */
export function exportedDiscounts(
  db: Db,
  caller: Caller,
  input: In<typeof listDiscounts>,
  at: SliceAt,
): Promise<Sliced<ExportRow<'DiscountExport'>>> {
  return db.read(caller, async reader => {
    const where = discountsWhere(input, reader.now);
    const { rows, next } = await reader.slice({ from: discounts, where, by: ['createTime', 'discountId'], ...at });
    const shown = rows.map(row => ({
      Id: row.discountId,
      Code: row.code,
      ...termsOf(row, reader.now),
      CreateTime: row.createTime,
      Quantity: row.quantity,
      QuantityUsed: row.uses,
      UserLimit: row.userLimit,
    }));
    return { rows: shown, next };
  });
}

/** The next uses of discount/user_discount_list, newest first, as rows of an export. Rejects `discount_not_found`. */
export function exportedUses(
  db: Db,
  caller: Caller,
  input: In<typeof listUserDiscounts>,
  at: SliceAt,
): Promise<Sliced<ExportRow<'UserDiscountExport'>>> {
  return db.read(caller, async reader => {
    await reader.get(discounts, { discountId: input.id }, 'discount_not_found');
    const where = await usesWhere(reader, input);
    const { rows, next } = await reader.slice({ from: userDiscounts, where, by: ['createTime', 'useId'], ...at });
    const users = await usersOfRows(reader, rows);
    const shown = rows.map(row => ({
      Id: row.useId,
      Code: row.code,
      Status: row.status,
      Currency: row.currency,
      ApplyAmount: majorUnits(row.amount, row.currency),
      PlanId: row.planId,
      SubscriptionId: row.subscriptionId,
      InvoiceId: row.invoiceId,
      PaymentId: row.paymentId,
      CreateTime: row.createTime,
      ...buyerColumns(row.userId, users.get(row.userId)),
    }));
    return { rows: shown, next };
  });
}

/** The next codes of discount/batch/children/list, newest first, as rows of an export. Rejects `discount_not_found`. */
export function exportedCodes(
  db: Db,
  caller: Caller,
  input: In<typeof listBatchCodes>,
  at: SliceAt,
): Promise<Sliced<ExportRow<'BatchDiscountChildrenExport'>>> {
  return db.read(caller, async reader => {
    const template = await templateOf(reader, input);
    const where = codesWhere(input);
    const { rows, next } = await reader.slice({ from: generatedCodes, where, by: ['createTime', 'codeId'], ...at });
    const terms = termsOf(template, reader.now);
    const shown = (await shownCodes(reader, template, rows)).map(code => ({
      Id: code.id,
      Code: code.code,
      ParentTemplateCode: code.parentTemplateCode,
      ...terms,
      CreateTime: code.createTime,
      IsRedeemed: code.isRedeemed ? 'yes' : 'no',
      RedeemedTime: code.redeemedAt,
      RedeemedByEmail: code.redeemedByEmail,
      InvoiceId: code.invoiceId,
      PaymentId: code.paymentId,
      SubscriptionId: code.subscriptionId,
      PlanId: code.planId,
      PlanName: code.planName,
    }));
    return { rows: shown, next };
  });
}

const termsOf = (discount: Discount, now: number) => ({
  Name: discount.name,
  Status: statusAt(discount, now),
  BillingType: discount.billingType,
  DiscountType: discount.discountType,
  Currency: discount.currency,
  DiscountPercentage: discount.discountType === 'percentage' ? percentText(discount.percentage) : '',
  DiscountAmount: discount.discountType === 'fixedAmount' ? majorUnits(discount.amount, discount.currency) : 0,
  CycleLimit: discount.cycleLimit,
  PlanIds: discount.planIds.join(' '),
  StartTime: discount.startTime,
  EndTime: discount.endTime,
});
