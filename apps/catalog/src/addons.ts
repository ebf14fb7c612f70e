import { planType } from '@recur/contracts';
import { type Issue, invalid, Rejected } from '@recur/kernel';
import type { Tx } from '@recur/platform';
import type { PlanType } from './domain/plan.js';
import type { NewPlan } from './plan-input.js';
import { type PlanRow, plans } from './tables.js';

/** The other plans that an input names, and what they have to fit. */
type Naming = Pick<NewPlan, 'type' | 'currency' | 'addonIds' | 'onetimeAddonIds' | 'autoUpgradePlanId'>;

const wanted = { addonIds: 'recurringAddon', onetimeAddonIds: 'onetimeAddon' } as const;
const spoken = { recurringAddon: 'a recurring add-on', onetimeAddon: 'a one-time add-on' } as const;

/**
 * Checks the other plans that an input names: its add-ons, which stay locked so that they fit until the commit, and the
 * plan it is upgraded to. Answers the recurring add-ons. All fields at fault are named. Throws Rejected
 * `plan_not_found` where there is no such plan, and `invalid_parameters` where an add-on is of another type or currency
 * or gone for good, or the plan is itself an add-on: add-ons of add-ons would make a web.
 */
export async function checkAddons(tx: Tx, input: Naming): Promise<PlanRow[]> {
  const { autoUpgradePlanId, currency } = input;
  // lock order: by id, after the plan that they are bound to
  const ids = [...new Set([...input.addonIds, ...input.onetimeAddonIds])].sort((a, b) => a - b);
  const [upgrade, ...locked] = await Promise.all([
    autoUpgradePlanId === 0 ? undefined : tx.find(plans, { id: autoUpgradePlanId, deletedTime: 0 }),
    ...ids.map(id => tx.lockIfAny(plans, { id, deletedTime: 0 })),
  ]);
  const known = new Map(locked.flatMap(addon => (addon ? [[addon.id, addon]] : [])));
  const entries = (['addonIds', 'onetimeAddonIds'] as const).flatMap(field =>
    input[field].map((id, at) => ({ path: `/${field}/${at}`, type: wanted[field], addon: known.get(id) })),
  );

  const unknown = entries.filter(({ addon }) => !addon).map(({ path }): Issue => ({ path, message: 'names no plan' }));
  if (autoUpgradePlanId !== 0 && !upgrade) unknown.push({ path: '/autoUpgradePlanId', message: 'names no plan' });
  if (unknown.length > 0) throw new Rejected('plan_not_found', undefined, unknown);

  const unfit = entries.flatMap(({ path, type, addon }): Issue[] => {
    const message = addon && whyUnfit(addon, type, currency);
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

function whyUnfit(addon: PlanRow, type: keyof typeof spoken, currency: string): string | undefined {
  if (addon.type !== (type satisfies PlanType)) return `must be ${spoken[type]}`;
  if (addon.currency !== currency) return `must be priced in ${currency} as the plan is, not in ${addon.currency}`;
  return addon.status === 'hardArchived' ? 'must not be archived for good' : undefined;
}

/** An add-on has the currency of the plans that it is bound to. Whoever binds it meanwhile waits for its lock. */
export async function checkCurrency(tx: Tx, plan: PlanRow): Promise<void> {
  const [buyer] = await buyersOf(tx, plan, 1);
  if (!buyer) return;
  throw invalid('/currency', `must stay ${plan.currency}: it is an add-on of plan ${buyer}, priced in that`);
}

/** The first plans that an add-on is bound to and that may still be sold. */
export async function buyersOf(tx: Tx, { id, type }: PlanRow, most: number): Promise<number[]> {
  if (type === 'main') return [];
  const rows = await tx.query(
    `select id from plans where merchant_id = $1 and type = 'main' and status <> 'hardArchived'
       and $2 = any(addon_ids || onetime_addon_ids) order by id limit $3`,
    [tx.merchantId, id, most],
  );
  return rows.map(buyer => Number(buyer.id));
}
