import type { Input, Output } from '@recur/client';
import { timeOf } from './clock.js';
import { type Action, actionOf, type Step } from './scenario.js';
import { minute } from './timeline.js';
import { giveCard, resolved, type World } from './world.js';

/** Paths of the actions that are one request. */
const paths = {
  subscribe: '/merchant/subscription/create_submit',
  change: '/merchant/subscription/update_submit',
  endAtPeriodEnd: '/merchant/subscription/cancel_at_period_end',
  keep: '/merchant/subscription/cancel_last_cancel_at_period_end',
  cancel: '/merchant/subscription/cancel',
  extendTrial: '/merchant/subscription/add_new_trial_start',
  dueDay: '/merchant/subscription/change_due_day',
  renew: '/merchant/subscription/renew',
  addon: '/merchant/subscription/new_onetime_addon_payment',
  usage: '/merchant/metric/event/new',
  forget: '/merchant/metric/event/delete',
} as const satisfies Record<Exclude<Action, 'card'>, string>;

/** Does a step and returns a line about it. Throws Error where its answer is not the one that the scenario expects. */
export async function perform(world: World, step: Step): Promise<string> {
  const { user, refuses = '', happened } = step;
  const action = actionOf(step);
  if (action === 'card') {
    await giveCard(world, user, step.card ?? '');
    return `${user}: card ${step.card}`;
  }
  const path = paths[action];
  const late = happened === undefined ? undefined : { eventTime: (await timeOf(world.api)) - step.at + happened };
  const body = resolved(world, { ...bodyOf(world, action, step), ...late }) as Input<typeof path>;
  const result = await world.api.post(path, body, { idempotencyKey: `${user}-${step.at}-${action}` });
  const refusal = result.ok ? '' : result.error.type;
  if (refusal !== refuses)
    throw new Error(`${path} answered ${result.ok ? 'success' : `${refusal}: ${result.error.message}`}`);
  if (result.ok) remember(world, user, result.data);
  const when = late ? ` of ${minute(late.eventTime)}` : '';
  return `${user}: ${action} ${JSON.stringify(step[action])}${when}${refusal && ` → ${refusal}`}`;
}

function bodyOf({ gatewayId, ids }: World, action: Action, step: Step): object {
  const { user } = step;
  const given = step[action] as object;
  const subscriptionId = ids.get(`${user}.subscription`);
  if (action !== 'subscribe')
    return { subscriptionId, userId: ids.get(user), ...(action === 'change' && { quantity: 1 }), ...given };
  return { userId: ids.get(user), gatewayId, paymentMethodId: ids.get(`${user}.card`), ...given };
}

/** Keeps the id of a subscription that was made. */
function remember({ ids }: World, user: string, data: Output<(typeof paths)[Exclude<Action, 'card'>]>): void {
  const { subscription } = data as { subscription?: { subscriptionId: string } | null };
  if (subscription) ids.set(`${user}.subscription`, subscription.subscriptionId);
}
