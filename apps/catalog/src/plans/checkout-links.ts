import { Controller } from '@nestjs/common';
import { checkoutLink, type In } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { type Caller, Db, Handle } from '@recur/platform';
import { getTemplate } from '../checkouts/checkouts.js';
import { checkLive } from '../checkouts/domain/checkout.js';
import { plans } from './tables.js';

/** Links to the page on which a plan is bought, shown with a checkout template. */
@Controller()
export class CheckoutLinks {
  constructor(private readonly db: Db) {}

  @Handle(checkoutLink)
  link({ checkoutId, planId }: In<typeof checkoutLink>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const [checkout, plan] = await Promise.all([
        getTemplate(reader, checkoutId),
        reader.get(plans, { id: planId, deletedTime: 0 }, 'plan_not_found'),
      ]);
      checkLive(checkout, 'link to');
      if (plan.status !== 'active') {
        throw new Rejected('plan_not_active', `Plan ${planId} is ${plan.status}: cannot link to it`);
      }
      return { link: `${plan.checkoutUrl}&checkoutId=${checkoutId}` };
    });
  }
}
