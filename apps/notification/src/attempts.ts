import { hydrate, type OutboundResult, type Tx } from '@recur/platform';
import type { Claimed } from './claims.js';
import { afterAttempt, type Delivery, type Outcome, verdictOf } from './domain/delivery.js';
import { afterVerdict, type Endpoint } from './domain/endpoint.js';
import { endpointView, living } from './endpoints.js';
import { type Line, lineUp } from './order.js';
import { type EndpointRow, endpoints } from './tables.js';

/** A POST that has ended. */
export interface Attempt extends Claimed {
  url: string;
  startedMs: number;
  endedMs: number;
  result: OutboundResult;
}

/** What became of a batch of attempts. */
export interface Recorded {
  /** What is still to be recorded: two endpoints that each have something to tell do not share a transaction. */
  later: Attempt[];
  /** Endpoints whose next events may go now. */
  released: number[];
}

/** An attempt that is recorded, and its delivery before it. */
interface Ended {
  endpoint: EndpointRow;
  attempt: Attempt;
  delivery: Delivery;
}

const limits = { answerKept: 2_000 } as const;

const lockAll = `select * from endpoints where merchant_id = $1 and endpoint_id = any($2) and deleted_time = 0
  order by endpoint_id for update`;
/**
 * Of these, what is still leased to us: a worker that was too slow records nothing. How many attempts it has had is read
 * again: they count anew where it was sent again meanwhile.
 */
const fence = `select due.delivery_id, (select attempts from deliveries
    where merchant_id = $1 and delivery_id = ours.delivery_id and event_id = ours.event_id) as attempts
  from unnest($2::text[], $3::text[], $4::text[]) ours(delivery_id, event_id, token)
  join due on due.delivery_id = ours.delivery_id and due.lease_token = ours.token for update of due`;

/**
 * The deliveries as they are now, their schedule, and each attempt for the log. Rows are looked up by the list of their
 * ids ($4), whatever the planner thought of the tables when it made its plan.
 */
const record = `with r as materialized (select * from json_to_recordset($2::json) r(endpoint_id bigint, delivery_id text,
    event_id text, type text, url text, state text, attempts integer, outcome text, answer text, create_time bigint,
    duration_ms bigint, next_at_ms bigint)),
  logged as (insert into attempts (merchant_id, id, endpoint_id, delivery_id, event_id, type, url, attempts_before,
      state, outcome, answer, create_time, duration_ms, next_at_ms)
    select $1::bigint, nextval('attempts_id_seq'), endpoint_id, delivery_id, event_id, type, url, attempts - 1,
      state, outcome, answer, create_time, duration_ms, next_at_ms from r),
  settled as (delete from due where delivery_id = any($3)),
  again as (update due set due_at_ms = r.next_at_ms, lease_token = null, lease_until_ms = null
    from r where due.delivery_id = any($4) and due.delivery_id = r.delivery_id and r.next_at_ms is not null)
  update deliveries d set state = r.state, attempts = r.attempts, next_at_ms = r.next_at_ms,
    last_outcome = r.outcome, last_answer = r.answer
  from r where d.merchant_id = $1 and d.delivery_id = any($4) and d.delivery_id = r.delivery_id`;

/**
 * Records attempts to endpoints of one merchant: deliveries, schedule, log, and how the endpoints are doing. `random`
 * gives numbers in [0, 1) for the jitter of retries.
 */
export async function recordAll(
  tx: Tx,
  attempts: readonly Attempt[],
  nowMs: number,
  random: () => number,
): Promise<Recorded> {
  const ids = [...new Set(attempts.map(({ delivery }) => delivery.endpointId))].sort((a, b) => a - b);
  const [locked, leased] = await Promise.all([
    tx.run(lockAll, [tx.merchantId, ids]),
    tx.run(fence, [
      tx.merchantId,
      attempts.map(({ delivery }) => delivery.deliveryId),
      attempts.map(({ delivery }) => delivery.eventId),
      attempts.map(({ token }) => token),
    ]),
  ]);
  const ours = new Map(leased.map(row => [row.delivery_id, Number(row.attempts)]));
  const later: Attempt[] = [];
  const recording: Ended[] = [];
  let noticed: Judged | undefined;
  // nothing is due to an endpoint that is deleted: it is not among these
  for (const endpoint of locked.map(row => hydrate(endpoints, row))) {
    const valid = attempts.filter(
      ({ delivery }) => delivery.endpointId === endpoint.endpointId && ours.has(delivery.deliveryId),
    );
    const judged = judge(endpoint, valid);
    if (judged.notice && noticed) {
      later.push(...valid);
      continue;
    }
    if (judged.notice) noticed = judged;
    await keep(tx, endpoint, judged);
    for (const attempt of valid) {
      const { delivery } = attempt;
      const attempts = ours.get(delivery.deliveryId) ?? delivery.attempts;
      recording.push({ endpoint, attempt, delivery: { ...delivery, attempts } });
    }
  }
  const released = await write(tx, recording, nowMs, random);
  return { later, released };
}

async function write(tx: Tx, recording: readonly Ended[], nowMs: number, random: () => number): Promise<number[]> {
  if (recording.length === 0) return [];
  const rows: object[] = [];
  const settled: string[] = [];
  const lines: Line[] = [];
  for (const { endpoint, attempt, delivery } of recording) {
    const after = afterAttempt(delivery, outcomeFor(endpoint, attempt), attempt.endedMs, random());
    rows.push(rowOf(attempt, after));
    if (after.nextAtMs === null) settled.push(after.deliveryId);
    if (attempt.subject !== null) lines.push({ endpointId: endpoint.endpointId, subject: attempt.subject });
  }
  const ids = recording.map(({ delivery }) => delivery.deliveryId);
  const values = [tx.merchantId, JSON.stringify(rows), settled, ids];
  const [, released] = await Promise.all([tx.run(record, values), lineUp(tx, lines, nowMs)]);
  return released;
}

/** What an attempt means for its delivery. The 410 of an address that the endpoint has left speaks for that one alone. */
function outcomeFor(endpoint: EndpointRow, { url, result }: Attempt): Outcome {
  return url !== endpoint.url && verdictOf(result) === 'gone' ? { kind: 'failed' } : result;
}

function rowOf({ type, url, startedMs, result }: Attempt, after: Delivery) {
  return {
    endpoint_id: after.endpointId,
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

interface Judged {
  endpoint: Endpoint;
  notice?: 'failing' | 'disabled';
}

/** The endpoint after these attempts, and what its merchant is to be told. */
function judge(before: EndpointRow, attempts: readonly Attempt[]): Judged {
  let judged: Judged = { endpoint: before as Endpoint };
  for (const { url, result, endedMs } of attempts) {
    if (url !== before.url) continue;
    const { endpoint, notice = judged.notice } = afterVerdict(judged.endpoint, verdictOf(result), endedMs);
    judged = notice ? { endpoint, notice } : { endpoint };
  }
  return judged;
}

async function keep(tx: Tx, before: EndpointRow, { endpoint, notice }: Judged): Promise<void> {
  if (endpoint === before || JSON.stringify(endpoint) === JSON.stringify(before)) return;
  const after = { ...before, ...endpoint, modifyTime: notice ? tx.now : before.modifyTime } as EndpointRow;
  // locked already: this only tells the transaction which row it is
  await tx.lock(endpoints, living(before.endpointId), 'endpoint_not_found');
  tx.save(endpoints, after);
  if (!notice) return;
  tx.emit(`webhook.endpoint.${notice}`, after, endpointView(after));
  tx.log(`WebhookEndpoint(${after.endpointId})`, notice === 'failing' ? 'Failing' : 'Disable');
}
