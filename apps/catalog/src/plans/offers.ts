import { Controller } from '@nestjs/common';
import { type In, planStatus, portalLook, portalPlanDetail, portalPlanList } from '@recur/contracts';
import { type Caller, Db, Handle, type Reader } from '@recur/platform';
import { liveTemplates } from '../checkouts/checkouts.js';
import type { Checkout } from '../checkouts/domain/checkout.js';
import { detailsOf } from './list.js';
import { type PlanRow, plans } from './tables.js';

const sold = { status: 'active', type: 'main', deletedTime: 0 } as const;

/** Plans as the hosted pages offer them. Active ones can be bought by whoever has a link; published ones are listed. */
@Controller()
export class Offers {
  constructor(private readonly db: Db) {}

  @Handle(portalPlanDetail)
  detail({ planId, checkoutId }: In<typeof portalPlanDetail>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const plan = await reader.get(plans, { id: planId, ...sold }, 'plan_not_found');
      const [[offer], checkout] = await Promise.all([offersOf(reader, [plan]), templateOf(reader, plan, checkoutId)]);
      return portalPlanDetail.output.parse({ plan: offer, checkout });
    });
  }

  @Handle(portalLook)
  look(_input: In<typeof portalLook>, caller: Caller) {
    return this.db.read(caller, async reader =>
      portalLook.output.parse({ checkout: usual(await liveTemplates(reader)) }),
    );
  }

  @Handle(portalPlanList)
  list({ productId, page, count }: In<typeof portalPlanList>, caller: Caller) {
    return this.db.read(caller, async reader => {
      const { rows, total } = await reader.page({
        from: plans,
        where: [
          ['deleted_time = ?', 0],
          ['product_id = ?', productId],
          ['status = ?', 'active'],
          ['publish_status = ?', 'published'],
          ['type = ?', 'main'],
        ],
        order: 'create_time desc, id desc',
        page,
        count,
      });
      return portalPlanList.output.parse({ plans: await offersOf(reader, rows), total });
    });
  }
}

/** The template of pages that are about no plan. */
const usual = (live: readonly Checkout[]) => live.find(({ isDefault }) => isDefault) ?? null;

/** Plans with their products, usage prices and the recurring add-ons that are sold. */
async function offersOf(reader: Reader, rows: readonly PlanRow[]) {
  const details = await detailsOf(reader, rows);
  return details.map(detail => ({
    ...detail,
    addons: detail.addons.filter(({ status }) => status === planStatus.active),
  }));
}

/** The template that the link names, else that of the plan, else the default; null where there is none. */
async function templateOf(reader: Reader, { checkoutTemplateId }: PlanRow, checkoutId: number) {
  const live = await liveTemplates(reader);
  const named = (id: number) => (id === 0 ? undefined : live.find(one => one.id === id));
  return named(checkoutId) ?? named(checkoutTemplateId) ?? usual(live);
}
