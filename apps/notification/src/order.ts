import type { Tx } from '@recur/platform';
import { living } from './endpoints.js';
import { type EndpointRow, endpoints } from './tables.js';

/** The events of one object on their way to one endpoint that wants them in order. */
export interface Line {
  endpointId: number;
  subject: string;
}

/** What has a lower version before it, and is not under way: what a claim takes meanwhile is looked at again. */
const later = `update due set held = true where delivery_id = any(array(
    select behind.delivery_id from unnest($1::bigint[], $2::text[]) line(endpoint_id, subject) cross join lateral (
      select delivery_id from due where endpoint_id = line.endpoint_id and subject = line.subject and not held
        and sequence > (select min(sequence) from due where endpoint_id = line.endpoint_id and subject = line.subject)) behind))
  and not held and (lease_until_ms is null or lease_until_ms < $3)`;
/** The first of each line, unless it goes already, or another one is under way. */
const first = `update due set held = false, due_at_ms = greatest(due_at_ms, $3) where delivery_id = any(array(
    select head.delivery_id from unnest($1::bigint[], $2::text[]) line(endpoint_id, subject) cross join lateral (
      select delivery_id, held from due where endpoint_id = line.endpoint_id and subject = line.subject
      order by sequence limit 1) head
    where head.held and not exists (select from due
      where endpoint_id = line.endpoint_id and subject = line.subject and lease_until_ms >= $3)))
  returning endpoint_id`;

/**
 * Something was put into these lines, or taken out, or has to be tried again: of each the first goes now, and the others
 * wait. The endpoints' rows are locked. Answers the endpoints to which something goes that has waited.
 */
export async function lineUp(tx: Tx, lines: readonly Line[], nowMs: number): Promise<number[]> {
  if (lines.length === 0) return [];
  const values = [lines.map(line => line.endpointId), lines.map(line => line.subject), nowMs];
  const [, released] = await Promise.all([tx.run(later, values), tx.run(first, values)]);
  return released.map(row => Number(row.endpoint_id));
}

const standing = `select distinct endpoint_id, subject from due
  where endpoint_id = any($1) and subject = any($2) and subject is not null`;
const catchingUp = 'select endpoint_id from catch_ups where endpoint_id = any($1)';

/** Endpoints that are locked, for as long as some events are put into their lines. */
export interface Lines {
  /** As it is now; undefined where it was deleted meanwhile. */
  endpoint(endpointId: number): EndpointRow | undefined;
  /** Older events come first: those that it missed are still to be scheduled. */
  isCatchingUp(endpointId: number): boolean;
  /** Whether an event has to wait for others of its object. The next one of the same object does. */
  join(endpointId: number, subject: string): boolean;
}

const none: Lines = { endpoint: () => undefined, isCatchingUp: () => false, join: () => false };

/** Locks endpoints and looks at their lines of these objects. */
export async function openLines(tx: Tx, endpointIds: readonly number[], subjects: readonly string[]): Promise<Lines> {
  if (endpointIds.length === 0) return none;
  // everybody who locks several endpoints does so in the order of their ids
  const ids = [...endpointIds].sort((a, b) => a - b);
  const locked = ids.map(id => tx.lockIfAny(endpoints, living(id)));
  // asked after the locks on the same connection: what is answered is what stands while they are held
  const [found, taken, catching] = await Promise.all([
    Promise.all(locked),
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
