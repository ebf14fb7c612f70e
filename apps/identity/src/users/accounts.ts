import type { UserAccountDetail } from '@recur/contracts';
import type { Reader } from '@recur/platform';
import { gateways, plans } from '../copies/tables.js';
import type { User } from './tables.js';
import { userAccountView } from './views.js';

/** A user with its gateway and plan, from the copies. */
export async function accountOf(reader: Reader, row: User): Promise<UserAccountDetail> {
  const [account] = await accountsOf(reader, [row]);
  if (!account) throw new Error('one user, one account');
  return account;
}

/** Users with their gateways and plans; each gateway and plan is looked up once. */
export async function accountsOf(reader: Reader, rows: readonly User[]): Promise<UserAccountDetail[]> {
  const [gatewaysById, plansById] = await Promise.all([
    reader.among(gateways, 'id', given(rows.map(({ gatewayId }) => gatewayId))).then(byId),
    reader.among(plans, 'id', given(rows.map(({ planId }) => planId))).then(byId),
  ]);
  return rows.map(row => userAccountView(row, gatewaysById.get(row.gatewayId), plansById.get(row.planId)));
}

/** The plan name of the user's shown subscription; '' for none. */
export async function planNameOf(reader: Reader, { planId }: User): Promise<string> {
  const plan = planId === 0 ? undefined : await reader.find(plans, { id: planId });
  return plan?.planName ?? '';
}

const given = (ids: readonly number[]) => ids.filter(id => id !== 0);
const byId = <T extends { id: number }>(rows: readonly T[]) => new Map(rows.map(row => [row.id, row]));
