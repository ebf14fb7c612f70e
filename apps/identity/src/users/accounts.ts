import type { UserAccountDetail, User as UserShape } from '@recur/contracts';
import type { Loader, Reader } from '@recur/platform';
import { creditAccounts, gateways, plans } from '../copies/tables.js';
import type { User } from './tables.js';
import { userAccountView, userView } from './views.js';

/** A user's view with its gateway and credit accounts, from the copies. */
export async function accountOf(reader: Reader, view: UserShape, user: User): Promise<UserAccountDetail> {
  const { id, gatewayId } = user;
  const [gateway, credits] = await Promise.all([
    gatewayId === 0 ? undefined : reader.find(gateways, { id: gatewayId }),
    reader.all(creditAccounts, { userId: id }),
  ]);
  return userAccountView(view, user, gateway, credits);
}

/** Users with their gateways, plans and credit accounts; each gateway and plan is looked up once. */
export async function accountDetails(reader: Reader, rows: readonly User[]): Promise<UserAccountDetail[]> {
  const [gatewaysById, views, credits] = await Promise.all([
    reader.among(gateways, 'id', given(rows.map(({ gatewayId }) => gatewayId))).then(byId),
    viewsOf(reader, rows),
    reader.among(
      creditAccounts,
      'userId',
      rows.map(({ id }) => id),
    ),
  ]);
  return rows.map((row, at) => {
    const view = views[at] as UserShape;
    const own = credits.filter(({ userId }) => userId === row.id);
    return userAccountView(view, row, gatewaysById.get(row.gatewayId), own);
  });
}

/** Users as they are shown; each plan is looked up once. */
export async function viewsOf(reader: Reader, rows: readonly User[]): Promise<UserShape[]> {
  const plansById = byId(await reader.among(plans, 'id', given(rows.map(({ planId }) => planId))));
  return rows.map(row => userView({ ...row, planName: plansById.get(row.planId)?.planName ?? '' }));
}

/** The plan name of the user's shown subscription; '' for none. */
export async function planNameOf(loader: Loader, { planId }: User): Promise<string> {
  const plan = planId === 0 ? undefined : await loader.find(plans, { id: planId });
  return plan?.planName ?? '';
}

const given = (ids: readonly number[]) => ids.filter(id => id !== 0);
const byId = <T extends { id: number }>(rows: readonly T[]) => new Map(rows.map(row => [row.id, row]));
