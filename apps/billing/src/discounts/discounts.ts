import { Controller } from '@nestjs/common';
import {
  activateDiscount,
  deactivateDiscount,
  deleteDiscount,
  type ExportRow,
  editDiscount,
  type In,
  incrementDiscountQuantity,
  type listBatchCodes,
  type listDiscounts,
  type listUserDiscounts,
  majorUnits,
  newDiscount,
  percentText,
} from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type SliceAt, type Sliced, type Tx } from '@recur/platform';
import { buyerColumns, usersOfRows } from '../customers/users.js';
import * as domain from './domain/discount.js';
import { type Discount, statusAt } from './domain/discount.js';
import { discountsWhere, usesWhere } from './lists.js';
import { discounts, generatedCodes, userDiscounts } from './tables.js';
import { codesWhere, shownCodes, templateOf } from './templates.js';
import { discountSettings, discountView } from './views.js';

/** Discount codes: their settings and their lifecycle. */
@Controller()
export class Discounts {
  constructor(private readonly db: Db) {}

  @Handle(newDiscount)
  create(input: In<typeof newDiscount>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const discountId = await tx.nextId(discounts);
      const of = { merchantId: tx.merchantId, discountId, kind: 'code' } as const;
      if (await tx.find(generatedCodes, { code: input.code })) throw takenCode();
      const identity = { ...of, code: input.code, subscriptionId: '' };
      const discount = domain.newDiscount(identity, { ...domain.defaultSettings, ...discountSettings(input) }, tx.now);
      tx.onConflict('discounts_code', takenCode);
      tx.save(discounts, discount);
      log(tx, discount, 'New');
      return answerOf(discount, tx.now);
    });
  }

  @Handle(editDiscount)
  edit(input: In<typeof editDiscount>, caller: Caller) {
    return this.change(
      input.id,
      caller,
      'Edit',
      discount => domain.editDiscount(code(discount), discountSettings(input)),
      answerOf,
    );
  }

  @Handle(activateDiscount)
  activate({ id }: In<typeof activateDiscount>, caller: Caller) {
    return this.change(id, caller, 'Activate', domain.activateDiscount, noAnswer);
  }

  @Handle(deactivateDiscount)
  deactivate({ id }: In<typeof deactivateDiscount>, caller: Caller) {
    return this.change(id, caller, 'Deactivate', domain.deactivateDiscount, noAnswer);
  }

  @Handle(deleteDiscount)
  delete({ id }: In<typeof deleteDiscount>, caller: Caller) {
    return this.change(id, caller, 'Delete', domain.removeDiscount, noAnswer);
  }

  @Handle(incrementDiscountQuantity)
  incrementQuantity({ id, amount }: In<typeof incrementDiscountQuantity>, caller: Caller) {
    const move = (discount: domain.Discount) => domain.incrementQuantity(code(discount), amount);
    return this.change(id, caller, 'IncrementQuantity', move, answerOf);
  }

  /** Moves a locked discount, a code or a template; a move that changes nothing leaves no trace. */
  private change<A extends object>(
    discountId: number,
    caller: Caller,
    content: string,
    move: (discount: domain.Discount, now: number) => domain.Discount,
    answer: (discount: domain.Discount, now: number) => A,
  ): Promise<A> {
    return this.db.write(caller, async tx => {
      const discount = await tx.lock(discounts, { discountId, deletedTime: 0 }, 'discount_not_found');
      const changed = move(discount, tx.now);
      if (changed !== discount) {
        tx.save(discounts, { ...changed, modifyTime: tx.now });
        log(tx, changed, content);
      }
      return answer(changed, tx.now);
    });
  }
}

/** Refuses a template, which has operations of its own. */
function code(discount: domain.Discount): domain.Discount {
  if (discount.kind !== 'code') throw new Rejected('discount_not_found');
  return discount;
}

const takenCode = () => invalid('/code', 'is the code of another discount');
const answerOf = (discount: domain.Discount, now: number) => ({ discount: discountView(discount, now) });
const noAnswer = () => ({});

const log = (tx: Tx, { discountId, code }: domain.Discount, content: string) =>
  tx.log(`Discount(${discountId}-${code})`, content, { discountCode: code });

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
      ...exportedTerms(row, reader.now),
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
    const terms = exportedTerms(template, reader.now);
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

const exportedTerms = (discount: Discount, now: number) => ({
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
