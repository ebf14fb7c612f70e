import type { CallersChanged } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { callers } from './tables.js';

const ROW = { id: 'callers' };
/** Members in one event: with every session that each may have, it stays below 3 MB. */
export const membersPerMessage = 1_000;

/**
 * Publishes to gateways, in the transaction that changes it, what they know of callers: the verifying keys (all of
 * them), API keys that were revoked or will end, and members whose sessions or permissions change. Takes the last lock
 * of a command. Returns the version from which gateways know.
 */
export async function publishCallers(
  tx: Tx,
  { keys = [], revoked = [], ending = [], members = [] }: Partial<CallersChanged>,
): Promise<number> {
  const row = await lockCallers(tx);
  tx.save(callers, row);
  const ends = ending.map(({ jtiHash, revokedTime }) => ({ jtiHash, revokedTime }));
  tx.emit('callers.changed', row, { keys, revoked, ending: ends, members: members.slice(0, membersPerMessage) });
  let version = row.version + 1;
  for (let from = membersPerMessage; from < members.length; from += membersPerMessage, version++) {
    const more = members.slice(from, from + membersPerMessage);
    tx.emit('callers.changed', row, { keys: [], revoked: [], ending: [], members: more });
  }
  return version;
}

/** Serializes changes across merchants, so that event versions are gapless and in commit order. */
export async function lockCallers(tx: Tx) {
  const row = await tx.lockIfAny(callers, ROW);
  if (!row) throw new Error('the row of callers is missing: migrations insert it');
  return row;
}
