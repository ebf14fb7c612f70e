import type { Row, Tx } from '@recur/platform';
import { lineUp } from './order.js';
import type { EndpointRow } from './tables.js';

/**
 * The statement that schedules deliveries of one endpoint ($2) of the merchant ($1) anew, with all attempts, at the
 * millisecond $3, in order where $4 says so: those that `chosen`, the last of these queries, has as delivery_id and
 * event_id. Its own values begin with $5. It answers what is asked for. Rows are looked up by their keys, whatever the
 * planner thought of the partitions when it made its plan.
 */
export const anew = (queries: string, asked: string) => `with ${queries},
  moved as (update deliveries set state = 'scheduled', attempts = 0, next_at_ms = $3
    where merchant_id = $1 and delivery_id = any(array(select delivery_id from chosen))),
  queued as (insert into due (delivery_id, merchant_id, endpoint_id, due_at_ms, subject, sequence, held)
    select delivery_id, $1, $2, $3, case when $4 then nullif(subject, '') end, sequence, $4 and subject <> ''
    from chosen cross join lateral (select subject, sequence from events
      where merchant_id = $1 and event_id = chosen.event_id offset 0) e
    on conflict (delivery_id) do update set due_at_ms = least(due.due_at_ms, excluded.due_at_ms) returning subject)
  select ${asked}, array(select distinct subject from queued where subject is not null) as subjects`;

/** Runs such a statement. The endpoint's row is locked: who changes deliveries of an endpoint holds it first. */
export async function scheduleAnew(
  tx: Tx,
  { endpointId, ordered }: EndpointRow,
  nowMs: number,
  statement: string,
  values: readonly unknown[] = [],
): Promise<Row> {
  const [answer = {}] = await tx.run(statement, [tx.merchantId, endpointId, nowMs, ordered, ...values]);
  const subjects = (answer.subjects ?? []) as string[];
  const lines = subjects.map(subject => ({ endpointId, subject }));
  await lineUp(tx, lines, nowMs);
  return answer;
}
