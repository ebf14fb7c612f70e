import type { UserAccountDetail, User as UserShape } from '@recur/contracts';
import type { Loader, Reader } from '@recur/platform';
import { gateways, plans } from '../copies/tables.js';
import type { User } from './tables.js';
import { userAccountView, userView } from './views.js';

/** A user's view with its gateway, from the copies. */
export async function accountOf(reader: Reader, view: UserShape, user: User): Promise<UserAccountDetail> {
  const { gatewayId } = user;
  const gateway = gatewayId === 0 ? undefined : await reader.find(gateways, { id: gatewayId });
  return userAccountView(view, user, gateway);
}

/** Users with their gateways and plans; each gateway and plan is looked up once. */
export async function accountsOf(reader: Reader, rows: readonly User[]): Promise<UserAccountDetail[]> {
  const [gatewaysById, plansById] = await Promise.all([
    reader.among(gateways, 'id', given(rows.map(({ gatewayId }) => gatewayId))).then(byId),
    reader.among(plans, 'id', given(rows.map(({ planId }) => planId))).then(byId),
  ]);
  return rows.map(row => {
    const view = userView({ ...row, planName: plansById.get(row.planId)?.planName ?? '' });
    return userAccountView(view, row, gatewaysById.get(row.gatewayId));
  });
}

/** The plan name of the user's shown subscription; '' for none. */
export async function planNameOf(loader: Loader, { planId }: User): Promise<string> {
  const plan = planId === 0 ? undefined : await loader.find(plans, { id: planId });
  return plan?.planName ?? '';
}

const given = (ids: readonly number[]) => ids.filter(id => id !== 0);
const byId = <T extends { id: number }>(rows: readonly T[]) => new Map(rows.map(row => [row.id, row]));
