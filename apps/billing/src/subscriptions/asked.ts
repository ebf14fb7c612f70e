import { createHash } from 'node:crypto';
import type { PlanAddonParam } from '@recur/contracts';

/** A short text for what a submit asks for: equal for submits that ask for the same. */
export function askedText({
  addonParams,
  ...rest
}: {
  addonParams: readonly PlanAddonParam[];
  [field: string]: unknown;
}): string {
  const addons = addonParams.toSorted((a, b) => a.addonPlanId - b.addonPlanId);
  return createHash('sha256')
    .update(JSON.stringify({ ...rest, addons }))
    .digest('base64url');
}
