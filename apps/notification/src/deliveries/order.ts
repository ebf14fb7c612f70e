import type { Tx } from '@recur/platform';
import { lockEndpointIfAny } from '../endpoints/rows.js';
import type { EndpointRow } from '../endpoints/tables.js';
import { onlyIndexScans } from './index-scans.js';

/** Scheduled events of one object to one ordered endpoint. Only the first may be sent. */
export interface Line {
  endpointId: number;
  subject: string;
}

/**
 * Holds every delivery that has a lower version before it, unless it is leased. The conditions are repeated in the outer
 * query because a concurrent claim may have leased a row in the meantime.
 */
const holdLater = `update due set held = true where delivery_id = any(array(
    select behind.delivery_id from unnest($1::bigint[], $2::text[]) line(endpoint_id, subject) cross join lateral (
      select delivery_id from due where endpoint_id = line.endpoint_id and subject = line.subject and not held
        and sequence > (select min(sequence) from due where endpoint_id = line.endpoint_id and subject = line.subject)) behind))
  and not held and (lease_until_ms is null or lease_until_ms < $3)`;
/** Releases the first delivery of each line, unless it is released already or another one of the line is leased. */
const releaseFirst = `update due set held = false, due_at_ms = greatest(due_at_ms, $3) where delivery_id = any(array(
    select head.delivery_id from unnest($1::bigint[], $2::text[]) line(endpoint_id, subject) cross join lateral (
      select delivery_id, held from due where endpoint_id = line.endpoint_id and subject = line.subject
      order by sequence limit 1) head
    where head.held and not exists (select from due
      where endpoint_id = line.endpoint_id and subject = line.subject and lease_until_ms >= $3)))
  returning endpoint_id`;

/**
 * Restores the order of lines that have changed: the first delivery of each is released and the others are held. The
 * endpoints' rows are locked by the caller. Returns the ids of endpoints for which a held delivery was released.
 */
export async function advanceLines(tx: Tx, lines: readonly Line[], nowMs: number): Promise<number[]> {
  if (lines.length === 0) return [];
  const values = [lines.map(line => line.endpointId), lines.map(line => line.subject), nowMs];
  const [, , released] = await Promise.all([
    onlyIndexScans(tx),
    tx.run(holdLater, values),
    tx.run(releaseFirst, values),
  ]);
  return released.map(row => Number(row.endpoint_id));
}

const standing = `select distinct endpoint_id, subject from due
  where endpoint_id = any($1) and subject = any($2) and subject is not null`;
const catchingUp = 'select endpoint_id from catch_ups where endpoint_id = any($1)';

/** Locked endpoints and their lines, while events are appended to them. */
export interface Lines {
  /** The locked row; undefined when the endpoint was deleted. */
  endpoint(endpointId: number): EndpointRow | undefined;
  /** True while older events that the endpoint missed are still to be scheduled. */
  isCatchingUp(endpointId: number): boolean;
  /** Appends an event to its line; true when it has to wait for an earlier one. */
  join(endpointId: number, subject: string): boolean;
}

const none: Lines = { endpoint: () => undefined, isCatchingUp: () => false, join: () => false };

/** Locks endpoints and reads their lines of the given subjects. */
export async function openLines(tx: Tx, endpointIds: readonly number[], subjects: readonly string[]): Promise<Lines> {
  if (endpointIds.length === 0) return none;
  // locked in the order of ids, as everywhere
  const ids = [...endpointIds].sort((a, b) => a - b);
  const locked = ids.map(id => lockEndpointIfAny(tx, id));
  // sent after the locks on the same connection, so the answers hold while the locks are held
  const [found, , taken, catching] = await Promise.all([
    Promise.all(locked),
    onlyIndexScans(tx),
    tx.run(standing, [ids, subjects]),
    tx.run(catchingUp, [ids]),
  ]);
  const byId = new Map(found.flatMap(endpoint => (endpoint ? [[endpoint.endpointId, endpoint] as const] : [])));
  const key = (endpointId: unknown, subject: unknown) => `${endpointId} ${subject}`;
  const lines = new Set(taken.map(row => key(row.endpoint_id, row.subject)));
  const behind = new Set(catching.map(row => Number(row.endpoint_id)));
  return {
    endpoint: endpointId => byId.get(endpointId),
    isCatchingUp: endpointId => behind.has(endpointId),
    join(endpointId, subject) {
      const waits = lines.has(key(endpointId, subject));
      lines.add(key(endpointId, subject));
      return waits;
    },
  };
}
