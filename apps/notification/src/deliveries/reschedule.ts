import type { Row, Tx } from '@recur/platform';
import type { EndpointRow } from '../endpoints/tables.js';
import { onlyIndexScans } from './index-scans.js';
import { advanceLines } from './order.js';

/**
 * SQL that schedules deliveries of one endpoint ($2) of the merchant ($1) again, with all attempts, due at the millisecond
 * $3, and in order if $4. `queries` are CTEs, the last of which, `chosen`, has the delivery_id and event_id of each; their
 * own parameters begin with $5. `columns` are returned beside the `subjects` of ordered deliveries. Rows are looked up by
 * primary key, independent of the planner's estimates for the partitions.
 */
export const reschedule = (queries: string, columns: string) => `with ${queries},
  moved as (update deliveries set state = 'scheduled', attempts = 0, next_at_ms = $3
    where merchant_id = $1 and delivery_id = any(array(select delivery_id from chosen))),
  queued as (insert into due (delivery_id, merchant_id, endpoint_id, event_id, due_at_ms, subject, sequence, held)
    select delivery_id, $1, $2, event_id, $3, case when $4 then nullif(subject, '') end, sequence, $4 and subject <> ''
    from chosen cross join lateral (select subject, sequence from events
      where merchant_id = $1 and event_id = chosen.event_id offset 0) e
    on conflict (delivery_id) do update set due_at_ms = least(due.due_at_ms, excluded.due_at_ms) returning subject)
  select ${columns}, array(select distinct subject from queued where subject is not null) as subjects`;

/** Runs a statement made by `reschedule`. The caller holds the lock on the endpoint's row. */
export async function runReschedule(
  tx: Tx,
  { endpointId, ordered }: EndpointRow,
  nowMs: number,
  statement: string,
  values: readonly unknown[] = [],
): Promise<Row> {
  const all = [tx.merchantId, endpointId, nowMs, ordered, ...values];
  const [, [row = {}]] = await Promise.all([onlyIndexScans(tx), tx.run(statement, all)]);
  const subjects = (row.subjects ?? []) as string[];
  const lines = subjects.map(subject => ({ endpointId, subject }));
  await advanceLines(tx, lines, nowMs);
  return row;
}
