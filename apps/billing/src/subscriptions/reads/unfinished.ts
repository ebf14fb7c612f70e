import type { SubscriptionPendingUpdate } from '@recur/contracts';
import type { Reader } from '@recur/platform';
import { pendingUpdateView } from '../change/views.js';
import { pendingUpdates } from '../tables.js';

/** Changes of subscriptions that are not finished, by id; '' and others are left out. */
export async function unfinishedUpdates(
  reader: Reader,
  ids: readonly string[],
): Promise<ReadonlyMap<string, SubscriptionPendingUpdate>> {
  const rows = await reader.among(
    pendingUpdates,
    'pendingUpdateId',
    ids.filter(id => id !== ''),
  );
  const unfinished = rows.filter(({ status }) => status === 'init' || status === 'pending');
  return new Map(unfinished.map(row => [row.pendingUpdateId, pendingUpdateView(row)]));
}
