import { planType } from '@recur/contracts';
import { type Issue, invalid, Rejected } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import { planAggregate } from './aggregate.js';
import type { PlanType } from './domain/plan.js';
import type { NewPlan } from './input.js';
import { type PlanRow, plans } from './tables.js';

/** References to other plans, and the fields that they must fit. */
type References = Pick<NewPlan, 'type' | 'currency' | 'addonIds' | 'onetimeAddonIds' | 'autoUpgradePlanId'>;

const typeOf = { addonIds: 'recurringAddon', onetimeAddonIds: 'onetimeAddon' } as const;
const labels = { recurringAddon: 'a recurring add-on', onetimeAddon: 'a one-time add-on' } as const;

/**
 * Checks the plans that an input refers to: its add-ons, which are locked until the commit, and the plan it is upgraded
 * to. Returns the recurring add-ons. Throws, naming every field at fault, Rejected `plan_not_found` for a plan that does
 * not exist, and `invalid_parameters` for an add-on of another type or currency or a hard-archived one, and for add-ons of
 * an add-on.
 */
export async function checkAddons(tx: Tx, input: References): Promise<PlanRow[]> {
  const { autoUpgradePlanId, currency } = input;
  // lock order: by id, after the main plan
  const ids = [...new Set([...input.addonIds, ...input.onetimeAddonIds])].sort((a, b) => a - b);
  const [upgrade, ...locked] = await Promise.all([
    autoUpgradePlanId === 0 ? undefined : tx.find(plans, { id: autoUpgradePlanId, deletedTime: 0 }),
    ...ids.map(id => tx.lockIfAny(planAggregate, { id, deletedTime: 0 })),
  ]);
  const known = new Map(locked.flatMap(addon => (addon ? [[addon.id, addon]] : [])));
  const entries = (['addonIds', 'onetimeAddonIds'] as const).flatMap(field =>
    input[field].map((id, at) => ({ path: `/${field}/${at}`, type: typeOf[field], addon: known.get(id) })),
  );

  const unknown = entries.filter(({ addon }) => !addon).map(({ path }): Issue => ({ path, message: 'names no plan' }));
  if (autoUpgradePlanId !== 0 && !upgrade) unknown.push({ path: '/autoUpgradePlanId', message: 'names no plan' });
  if (unknown.length > 0) throw new Rejected('plan_not_found', undefined, unknown);

  const unfit = entries.flatMap(({ path, type, addon }): Issue[] => {
    const message = addon && whyAddonUnfit(addon, type, currency);
    return message ? [{ path, message }] : [];
  });
  if (input.type !== planType.main) {
    for (const field of ['addonIds', 'onetimeAddonIds'] as const) {
      if (input[field].length > 0) {
        unfit.push({ path: `/${field}`, message: 'must be empty: only a main plan has add-ons' });
      }
    }
  }
  if (unfit.length > 0) throw new Rejected('invalid_parameters', undefined, unfit);
  return locked.flatMap(addon => (addon?.type === 'recurringAddon' ? [addon] : []));
}

function whyAddonUnfit(addon: PlanRow, type: keyof typeof labels, currency: string): string | undefined {
  if (addon.type !== (type satisfies PlanType)) return `must be ${labels[type]}`;
  if (addon.currency !== currency) return `must be priced in ${currency} like the plan, not in ${addon.currency}`;
  return addon.status === 'hardArchived' ? 'must not be hard-archived' : undefined;
}

/** Keeps the currency of an add-on that is bound to a plan. Exact: binding it needs the lock that the caller holds. */
export async function checkCurrency(tx: Tx, plan: PlanRow): Promise<void> {
  const [buyer] = await buyersOf(tx, plan, 1);
  if (!buyer) return;
  throw invalid('/currency', `must stay ${plan.currency}, the currency of plan ${buyer} whose add-on it is`);
}

/** Ids of up to `most` main plans that an add-on is bound to and that are not hard-archived. */
export async function buyersOf(tx: Tx, { id, type }: PlanRow, most: number): Promise<number[]> {
  if (type === 'main') return [];
  const rows = await tx.query(
    `select id from plans where merchant_id = $1 and type = 'main' and status <> 'hardArchived'
       and $2 = any(addon_ids || onetime_addon_ids) order by id limit $3`,
    [tx.merchantId, id, most],
  );
  return rows.map(buyer => Number(buyer.id));
}
