import { Controller } from '@nestjs/common';
import { confirmPriceChange, type In, type PlanAmount, previewPriceChange, priceChangeCounts } from '@recur/contracts';
import { type Caller, Db, Handle, Questions, type Reader } from '@recur/platform';
import { planAggregate } from './aggregate.js';
import { changePrice, checkPriceChange } from './domain/plan.js';
import { type PlanRow, planPriceChanges, plans } from './tables.js';

/** Price changes of active plans. Billing counts the subscriptions that they concern, and carries them out. */
@Controller()
export class PriceChanges {
  constructor(
    private readonly db: Db,
    private readonly questions: Questions,
  ) {}

  @Handle(previewPriceChange)
  async preview({ planId, newAmount }: In<typeof previewPriceChange>, caller: Caller) {
    const plan = await this.planOf(planId, caller);
    checkPriceChange(plan, newAmount);
    return { planId, oldAmount: Number(plan.amount), newAmount, ...(await this.counts(plan, newAmount, caller)) };
  }

  @Handle(confirmPriceChange)
  async confirm({ planId, ...change }: In<typeof confirmPriceChange>, caller: Caller) {
    await this.db.replay(caller);
    const known = await this.planOf(planId, caller);
    changePrice(known, change, 0);
    // before the change: billing begins to carry it out at once
    const counts = await this.counts(known, change.newAmount, caller);
    return this.db.write(caller, async tx => {
      const plan = await tx.lock(planAggregate, { id: planId, deletedTime: 0 }, 'plan_not_found');
      const changed = changePrice(plan, change, tx.now);
      const { merchantId } = tx;
      const { no, oldAmount, newAmount, reason, createTime } = changed.priceChange;
      const amounts = { oldAmount: BigInt(oldAmount), newAmount: BigInt(newAmount) };
      tx.save(planPriceChanges, { merchantId, planId, no, ...amounts, reason, createTime });
      tx.step(planAggregate, changed, 'plan.price_changed', { log: `PriceChange: ${oldAmount} to ${newAmount}` });
      return { planId, oldAmount, newAmount, ...counts };
    });
  }

  private planOf(id: number, caller: Caller): Promise<PlanRow> {
    return this.db.read(caller, reader => reader.get(plans, { id, deletedTime: 0 }, 'plan_not_found'));
  }

  private counts({ id: planId, type, currency }: PlanRow, newAmount: number, caller: Caller) {
    const question = { planId, isAddon: type !== 'main', currency, newAmount };
    return this.questions.ask(priceChangeCounts, question, caller);
  }
}

/** The amounts of plans, oldest first, by plan. */
export async function amountsOf(reader: Reader, of: readonly PlanRow[]): Promise<(plan: PlanRow) => PlanAmount[]> {
  const changed = of.filter(({ priceChange }) => priceChange !== null).map(({ id }) => id);
  const rows = await reader.among(planPriceChanges, 'planId', changed);
  return ({ id, amount, currency, createTime }) => {
    const changes = rows.filter(({ planId }) => planId === id).toSorted((a, b) => a.no - b.no);
    const first = { amount: Number(changes[0]?.oldAmount ?? amount), currency, from: createTime, reason: '' };
    const later = changes.map(change => {
      return { amount: Number(change.newAmount), currency, from: change.createTime, reason: change.reason };
    });
    return [first, ...later];
  };
}
