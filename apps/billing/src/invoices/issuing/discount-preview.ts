import { Controller } from '@nestjs/common';
import { bizType, type In, previewDiscount } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle, type Reader } from '@recur/platform';
import { plansById } from '../../customers/catalog.js';
import { findUser } from '../../customers/users.js';
import * as discounts from '../../discounts/redemption.js';

/** discount/plan_apply_preview. It is here because it needs to know what the user has paid. */
@Controller()
export class DiscountPreview {
  constructor(private readonly db: Db) {}

  @Handle(previewDiscount)
  preview({ code, planId, userId, email }: In<typeof previewDiscount>, caller: Caller) {
    // writes nothing; a transaction may ask catalog for a plan whose copy is missing
    return this.db.write(caller, async tx => {
      const named = userId !== 0 || email !== '';
      const [user, plans] = await Promise.all([
        named ? findUser(tx, userId === 0 ? { email } : { userId }) : undefined,
        plansById(tx, [planId]),
      ]);
      const plan = plans.get(planId)?.data;
      if (!plan) throw tx.stale('plans', planId, new Rejected('plan_not_found'));
      const buyer = user?.id ?? 0;
      const submit = { code, userId: buyer, plan, currency: plan.currency, moment: tx.now };
      const paidInvoices = await paidSubscriptionInvoices(tx, buyer);
      const judged = await discounts.check(tx, { ...submit, operation: 'create', paidInvoices });
      const discountMessage = 'problem' in judged ? judged.message : '';
      return { discount: await discounts.shownDiscount(tx, code), discountMessage, valid: discountMessage === '' };
    });
  }
}

/** How many subscription invoices of a user are paid; decides whether a code for new customers fits. */
export async function paidSubscriptionInvoices(reader: Reader, userId: number): Promise<number> {
  const [row] = await reader.query(
    `select count(*) as paid from invoices
     where merchant_id = $1 and user_id = $2 and biz_type = $3 and status = 'paid' and deleted_time = 0`,
    [reader.merchantId, userId, bizType.subscription],
  );
  return Number(row?.paid);
}
