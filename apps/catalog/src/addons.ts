import { type In, type newPlan, planType } from '@recur/contracts';
import { type Issue, Rejected } from '@recur/kernel';
import type { Reader } from '@recur/platform';
import type { PlanType } from './domain/plan.js';
import { type PlanRow, plans } from './tables.js';

const wanted = { addonIds: 'recurringAddon', onetimeAddonIds: 'onetimeAddon' } as const;
const spoken = { recurringAddon: 'a recurring add-on', onetimeAddon: 'a one-time add-on' } as const;

/**
 * The other plans that a new plan names: its add-ons, each once, and the plan it is upgraded to. All fields at fault
 * are named. Throws Rejected `plan_not_found` where there is no such plan, and `invalid_parameters` where an add-on is
 * of another type or currency or gone for good, or the plan is itself an add-on: add-ons of add-ons would make a web.
 */
export async function bindAddons(reader: Reader, input: In<typeof newPlan>) {
  const { autoUpgradePlanId, currency } = input;
  const find = (id: number) => reader.find(plans, { id });
  const [upgrade, ...lists] = await Promise.all([
    autoUpgradePlanId === 0 ? undefined : find(autoUpgradePlanId),
    ...(['addonIds', 'onetimeAddonIds'] as const).map(async field => ({
      field,
      found: await Promise.all(input[field].map(find)),
    })),
  ]);
  const entries = lists.flatMap(({ field, found }) =>
    found.map((addon, at) => ({ path: `/${field}/${at}`, type: wanted[field], addon })),
  );

  const unknown = entries.filter(({ addon }) => !addon).map(({ path }): Issue => ({ path, message: 'names no plan' }));
  if (autoUpgradePlanId !== 0 && !upgrade) unknown.push({ path: '/autoUpgradePlanId', message: 'names no plan' });
  if (unknown.length > 0) throw new Rejected('plan_not_found', undefined, unknown);

  const unfit = entries.flatMap(({ path, type, addon }): Issue[] => {
    const message = addon && whyUnfit(addon, type, currency);
    return message ? [{ path, message }] : [];
  });
  if (input.type !== planType.main) {
    for (const { field, found } of lists) {
      if (found.length > 0) unfit.push({ path: `/${field}`, message: 'must be empty: only a main plan has add-ons' });
    }
  }
  if (unfit.length > 0) throw new Rejected('invalid_parameters', undefined, unfit);
  return {
    autoUpgradePlanId,
    addonIds: [...new Set(input.addonIds)],
    onetimeAddonIds: [...new Set(input.onetimeAddonIds)],
  };
}

function whyUnfit(addon: PlanRow, type: keyof typeof spoken, currency: string): string | undefined {
  if (addon.type !== (type satisfies PlanType)) return `must be ${spoken[type]}`;
  if (addon.currency !== currency) return `must be priced in ${currency} as the plan is, not in ${addon.currency}`;
  return addon.status === 'hardArchived' ? 'must not be archived for good' : undefined;
}
