import type { CallersChanged } from '@recur/contracts';
import type { Tx } from '@recur/platform';
import { callersAggregate } from './aggregate.js';

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
  const ends = ending.map(({ jtiHash, revokedTime }) => ({ jtiHash, revokedTime }));
  const first = { keys, revoked, ending: ends, members: members.slice(0, membersPerMessage) };
  let version = tx.emit(callersAggregate, row, 'callers.changed', first);
  for (let from = membersPerMessage; from < members.length; from += membersPerMessage) {
    const more = members.slice(from, from + membersPerMessage);
    const next = { keys: [], revoked: [], ending: [], members: more };
    version = tx.emit(callersAggregate, row, 'callers.changed', next);
  }
  return version;
}

/** Serializes changes across merchants, so that event versions are gapless and in commit order. */
export async function lockCallers(tx: Tx) {
  const row = await tx.lockIfAny(callersAggregate, 'callers');
  if (!row) throw new Error('the row of callers is missing: migrations insert it');
  return row;
}
