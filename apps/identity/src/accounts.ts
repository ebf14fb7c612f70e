import type { UserAccountDetail } from '@recur/contracts';
import type { Reader } from '@recur/platform';
import type { User } from './tables.js';
import { gateways } from './user-tables.js';
import { userAccountView, userView } from './views.js';

/** A user with what belongs to others. */
export async function accountOf(reader: Reader, row: User): Promise<UserAccountDetail> {
  const gateway = row.gatewayId === 0 ? undefined : await reader.find(gateways, { id: row.gatewayId });
  return userAccountView(userView(row), gateway);
}

/** Users with what belongs to others: each gateway is looked up once. */
export async function accountsOf(reader: Reader, rows: readonly User[]): Promise<UserAccountDetail[]> {
  const ids = new Set(rows.map(({ gatewayId }) => gatewayId).filter(id => id !== 0));
  const found = await Promise.all([...ids].map(id => reader.find(gateways, { id })));
  const byId = new Map(found.map(gateway => [gateway?.id, gateway]));
  return rows.map(row => userAccountView(userView(row), byId.get(row.gatewayId)));
}
