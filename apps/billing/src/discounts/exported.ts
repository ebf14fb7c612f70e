import {
  type ExportRow,
  type In,
  type listDiscounts,
  type listUserDiscounts,
  majorUnits,
  percentText,
} from '@recur/contracts';
import type { Caller, Db, SliceAt, Sliced } from '@recur/platform';
import { buyerColumns, usersOfRows } from '../customers/exported.js';
import { statusAt } from './domain/discount.js';
import { discountsWhere, usesWhere } from './lists.js';
import { discounts, userDiscounts } from './tables.js';

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
      ...{ Id: row.discountId, Code: row.code, Name: row.name, Status: statusAt(row, reader.now) },
      ...{ BillingType: row.billingType, DiscountType: row.discountType, Currency: row.currency },
      DiscountPercentage: row.discountType === 'percentage' ? percentText(row.percentage) : '',
      DiscountAmount: row.discountType === 'fixedAmount' ? majorUnits(row.amount, row.currency) : 0,
      ...{ CycleLimit: row.cycleLimit, PlanIds: row.planIds.join(' '), Quantity: row.quantity },
      ...{ QuantityUsed: row.uses, UserLimit: row.userLimit },
      ...{ StartTime: row.startTime, EndTime: row.endTime, CreateTime: row.createTime },
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
      ...{ Id: row.useId, Code: row.code, Status: row.status, Currency: row.currency },
      ApplyAmount: majorUnits(row.amount, row.currency),
      ...{ PlanId: row.planId, SubscriptionId: row.subscriptionId, InvoiceId: row.invoiceId },
      ...{ PaymentId: row.paymentId, CreateTime: row.createTime },
      ...buyerColumns(row.userId, users.get(row.userId)),
    }));
    return { rows: shown, next };
  });
}
