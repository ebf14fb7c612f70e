import { Controller } from '@nestjs/common';
import {
  activateDiscount,
  deactivateDiscount,
  deleteDiscount,
  editDiscount,
  type In,
  incrementDiscountQuantity,
  newDiscount,
} from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Tx } from '@recur/platform';
import * as domain from './domain/discount.js';
import { settingsOf } from './settings.js';
import { discounts, generatedCodes } from './tables.js';
import { discountView } from './views.js';

/** Discount codes: their settings and their lifecycle. */
@Controller()
export class Discounts {
  constructor(private readonly db: Db) {}

  @Handle(newDiscount)
  create(input: In<typeof newDiscount>, caller: Caller) {
    return this.db.write(caller, async tx => {
      const discountId = await tx.nextId(discounts);
      const of = { merchantId: tx.merchantId, discountId, kind: 'code' } as const;
      if (await tx.find(generatedCodes, { code: input.code })) throw taken();
      const identity = { ...of, code: input.code, subscriptionId: '' };
      const discount = domain.draft(identity, { ...domain.defaultSettings, ...settingsOf(input) }, tx.now);
      tx.onConflict('discounts_code', taken);
      tx.save(discounts, discount);
      log(tx, discount, 'New');
      return shown(discount, tx.now);
    });
  }

  @Handle(editDiscount)
  edit(input: In<typeof editDiscount>, caller: Caller) {
    return this.change(input.id, caller, 'Edit', discount => domain.edit(code(discount), settingsOf(input)), shown);
  }

  @Handle(activateDiscount)
  activate({ id }: In<typeof activateDiscount>, caller: Caller) {
    return this.change(id, caller, 'Activate', domain.activate, empty);
  }

  @Handle(deactivateDiscount)
  deactivate({ id }: In<typeof deactivateDiscount>, caller: Caller) {
    return this.change(id, caller, 'Deactivate', domain.deactivate, empty);
  }

  @Handle(deleteDiscount)
  delete({ id }: In<typeof deleteDiscount>, caller: Caller) {
    return this.change(id, caller, 'Delete', domain.remove, empty);
  }

  @Handle(incrementDiscountQuantity)
  incrementQuantity({ id, amount }: In<typeof incrementDiscountQuantity>, caller: Caller) {
    const move = (discount: domain.Discount) => domain.incrementQuantity(code(discount), amount);
    return this.change(id, caller, 'IncrementQuantity', move, shown);
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

const taken = () => invalid('/code', 'is the code of another discount');
const shown = (discount: domain.Discount, now: number) => ({ discount: discountView(discount, now) });
const empty = () => ({});

const log = (tx: Tx, { discountId, code }: domain.Discount, content: string) =>
  tx.log(`Discount(${discountId}-${code})`, content, { discountCode: code });
