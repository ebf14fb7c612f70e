import { Controller } from '@nestjs/common';
import { type In, type MultiCurrencyConfig, priceChangeCounts } from '@recur/contracts';
import { type Caller, Db, Handle, type Row } from '@recur/platform';
import { priceIn } from '../domain/items.js';
import { liveStatuses } from '../domain/lifecycle.js';

/**
 * Live subscriptions ($2: their states) that sell a plan ($3), by all that their new price depends on: they convert it by
 * the rules that they were sold by, which are looked at only where their currency is not the plan's ($4).
 */
const text = (isAddon: boolean) => `
  select s.currency, i."unitAmount" as unit_amount, s.status = 'active' as active, count(*)::integer as count,
    case when s.currency <> $4 then ${isAddon ? addonRules : `s.plan_snapshot -> 'plan' -> 'multiCurrencies'`} end as rules
  from subscriptions s cross join lateral jsonb_to_recordset(s.items) i("planId" bigint, "unitAmount" bigint)
  where s.merchant_id = $1 and s.status = any($2) and i."planId" = $3${isAddon ? '' : ' and s.plan_id = $3'}
  group by s.currency, i."unitAmount", s.status = 'active', rules`;
const addonRules = `(select a -> 'addonPlan' -> 'multiCurrencies' from jsonb_array_elements(s.plan_snapshot -> 'addons') a
      where (a -> 'addonPlan' ->> 'id')::bigint = $3 limit 1)`;

/** Counts the subscriptions that a price change of a plan concerns. */
@Controller()
export class PriceChangeCounts {
  constructor(private readonly db: Db) {}

  @Handle(priceChangeCounts)
  async count({ planId, isAddon, currency, newAmount }: In<typeof priceChangeCounts>, caller: Caller) {
    const values = [caller.merchantId, liveStatuses, planId, currency];
    const rows = await this.db.read(caller, reader => reader.query(text(isAddon), values));
    const affected = rows.filter(row => {
      const multiCurrencies = (row.rules ?? []) as MultiCurrencyConfig[];
      const plan = { id: planId, currency, amount: newAmount, multiCurrencies };
      return priceIn(plan, String(row.currency), newAmount) !== BigInt(String(row.unit_amount));
    });
    return {
      activeAffectedSubscriptions: sumOf(affected.filter(({ active }) => active === true)),
      totalAffectedSubscriptions: sumOf(affected),
    };
  }
}

const sumOf = (rows: readonly Row[]): number => rows.reduce((total, { count }) => total + Number(count), 0);
