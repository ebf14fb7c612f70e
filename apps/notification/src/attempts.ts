import type { OutboundResult, Tx } from '@recur/platform';
import { afterAttempt, type Delivery, type Outcome, verdictOf } from './domain/delivery.js';
import { afterVerdict, type Endpoint } from './domain/endpoint.js';
import { endpointView, living } from './endpoints.js';
import { type EndpointRow, endpoints } from './tables.js';

/** A POST that has ended. */
export interface Attempt {
  delivery: Delivery;
  type: string;
  url: string;
  startedMs: number;
  endedMs: number;
  result: OutboundResult;
}

const limits = { answerKept: 2_000 } as const;

/** Of these, what is still leased to us: a worker that was too slow records nothing. */
const fence = 'select delivery_id from due where delivery_id = any($1) and lease_token = $2 for update';

/** The deliveries as they are now, and each attempt for the log. */
const record = `with r as materialized (select * from json_to_recordset($3::json) r(delivery_id text, event_id text,
    type text, url text, state text, attempts integer, outcome text, answer text, create_time bigint,
    duration_ms bigint, next_at_ms bigint)),
  logged as (insert into attempts (merchant_id, id, endpoint_id, delivery_id, event_id, type, url, attempts_before,
      state, outcome, answer, create_time, duration_ms, next_at_ms)
    select $1::bigint, nextval('attempts_id_seq'), $2::bigint, delivery_id, event_id, type, url, attempts - 1,
      state, outcome, answer, create_time, duration_ms, next_at_ms from r)
  update deliveries d set state = r.state, attempts = r.attempts, next_at_ms = r.next_at_ms,
    last_outcome = r.outcome, last_answer = r.answer
  from r where d.merchant_id = $1 and d.delivery_id = r.delivery_id`;
const reschedule = `update due set due_at_ms = r.next_at_ms, lease_token = null, lease_until_ms = null
  from json_to_recordset($1::json) r(delivery_id text, next_at_ms bigint) where due.delivery_id = r.delivery_id`;
const settle = 'delete from due where delivery_id = any($1)';

/**
 * Records a batch of attempts to one endpoint: deliveries, schedule, log, and how the endpoint is doing. `token` is that
 * of the lease; `random` gives numbers in [0, 1) for the jitter of retries.
 */
export async function recordAll(
  tx: Tx,
  endpointId: number,
  token: string,
  attempts: readonly Attempt[],
  random: () => number,
): Promise<void> {
  const endpoint = await tx.lockIfAny(endpoints, living(endpointId));
  // nothing is due to an endpoint that is deleted
  if (!endpoint) return;
  const ids = attempts.map(({ delivery }) => delivery.deliveryId);
  const ours = new Set((await tx.run(fence, [ids, token])).map(row => row.delivery_id));
  const results = attempts.filter(({ delivery }) => ours.has(delivery.deliveryId));
  const rows = results.map(attempt =>
    rowOf(attempt, afterAttempt(attempt.delivery, outcomeFor(endpoint, attempt), attempt.endedMs, random())),
  );
  const [again, done] = [rows.filter(row => row.next_at_ms !== null), rows.filter(row => row.next_at_ms === null)];
  await Promise.all([
    tx.run(record, [tx.merchantId, endpointId, JSON.stringify(rows)]),
    tx.run(reschedule, [JSON.stringify(again)]),
    tx.run(settle, [done.map(row => row.delivery_id)]),
  ]);
  judge(tx, endpoint, results);
}

/** What an attempt means for its delivery. The 410 of an address that the endpoint has left speaks for that one alone. */
function outcomeFor(endpoint: EndpointRow, { url, result }: Attempt): Outcome {
  return url !== endpoint.url && verdictOf(result) === 'gone' ? { kind: 'failed' } : result;
}

function rowOf({ type, url, startedMs, result }: Attempt, after: Delivery) {
  return {
    delivery_id: after.deliveryId,
    event_id: after.eventId,
    type,
    url,
    state: after.state,
    attempts: after.attempts,
    outcome: result.kind === 'answered' ? String(result.status) : `${result.reason}: ${result.detail}`,
    answer: result.kind === 'answered' ? start(result.body) : '',
    create_time: Math.floor(startedMs / 1000),
    duration_ms: result.durationMs,
    next_at_ms: after.nextAtMs,
  };
}

/** The first part of a text, without half a character at its end, which could not be stored. */
const start = (text: string) => text.slice(0, limits.answerKept).replace(/[\uD800-\uDBFF]$/, '');

/** The endpoint after these attempts; its merchant is told when it is failing, or disabled. */
function judge(tx: Tx, before: EndpointRow, attempts: readonly Attempt[]): void {
  let endpoint = before as Endpoint;
  let notice: 'failing' | 'disabled' | undefined;
  for (const { url, result, endedMs } of attempts) {
    if (url !== before.url) continue;
    const judged = afterVerdict(endpoint, verdictOf(result), endedMs);
    endpoint = judged.endpoint;
    notice = judged.notice ?? notice;
  }
  if (JSON.stringify(endpoint) === JSON.stringify(before)) return;
  const after = { ...before, ...endpoint, modifyTime: notice ? tx.now : before.modifyTime } as EndpointRow;
  tx.save(endpoints, after);
  if (!notice) return;
  tx.emit(`webhook.endpoint.${notice}`, after, endpointView(after));
  tx.log(`WebhookEndpoint(${after.endpointId})`, notice === 'failing' ? 'Failing' : 'Disable');
}
