import { hydrate, type OutboundResult, type Tx } from '@recur/platform';
import { afterVerdict, type Endpoint } from '../../endpoints/domain/endpoint.js';
import { saveHealth } from '../../endpoints/rows.js';
import { type EndpointRow, endpoints } from '../../endpoints/tables.js';
import { afterAttempt, type Delivery, type Outcome, verdictOf } from '../domain/delivery.js';
import { onlyIndexScans, runHashed } from '../index-scans.js';
import { advanceLines, type Line } from '../order.js';
import type { Claimed } from './claims.js';

/** A finished POST. */
export interface Attempt extends Claimed {
  url: string;
  startedMs: number;
  endedMs: number;
  result: OutboundResult;
}

/** Result of recording a batch of attempts. */
export interface Recorded {
  /** Attempts still to be recorded: a transaction carries the notice of one endpoint only. */
  later: Attempt[];
  /** Endpoints for which held deliveries were released. */
  released: number[];
}

/** An attempt being recorded, and its delivery before the attempt. */
interface Ended {
  endpoint: EndpointRow;
  attempt: Attempt;
  delivery: Delivery;
}

const limits = { answerKept: 2_000 } as const;

const lockAll = `select * from endpoints where merchant_id = $1 and endpoint_id = any($2) and deleted_time = 0
  order by endpoint_id for update`;
/**
 * Selects the deliveries that are still leased to this worker: one that was too slow records nothing. The number of
 * attempts is read again, because a resend in the meantime resets it.
 */
const fence = `select leased.delivery_id, (select attempts from deliveries
    where merchant_id = $1 and delivery_id = ours.delivery_id and event_id = ours.event_id) as attempts
  from unnest($2::text[], $3::text[], $4::text[]) ours(delivery_id, event_id, token)
  cross join lateral (select delivery_id from due
    where delivery_id = ours.delivery_id and lease_token = ours.token for update) leased`;

/**
 * Updates deliveries and their schedule, and logs each attempt. Rows are looked up by the list of their ids ($4),
 * independent of the planner's estimates, and only in the partitions of the batch's events.
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
  from r where d.merchant_id = $1 and d.delivery_id = any($4) and d.delivery_id = r.delivery_id
    and d.event_id >= (select min(event_id) from r) and d.event_id <= (select max(event_id) from r)`;

/**
 * Records attempts to endpoints of one merchant: deliveries, schedule, log and the endpoints' health. `random` returns
 * numbers in [0, 1) for the jitter of retries.
 */
export async function recordAll(
  tx: Tx,
  attempts: readonly Attempt[],
  nowMs: number,
  random: () => number,
): Promise<Recorded> {
  const ids = [...new Set(attempts.map(({ endpointId }) => endpointId))].sort((a, b) => a - b);
  const [, locked, leased] = await Promise.all([
    onlyIndexScans(tx),
    tx.run(lockAll, [tx.merchantId, ids]),
    tx.run(fence, [
      tx.merchantId,
      attempts.map(({ deliveryId }) => deliveryId),
      attempts.map(({ payload }) => payload.eventId),
      attempts.map(({ token }) => token),
    ]),
  ]);
  const ours = new Map(leased.map(row => [row.delivery_id, Number(row.attempts)]));
  const byEndpoint = new Map<number, Attempt[]>(ids.map(id => [id, []]));
  for (const attempt of attempts) byEndpoint.get(attempt.endpointId)?.push(attempt);
  const later: Attempt[] = [];
  const recording: Ended[] = [];
  let noticed: Judged | undefined;
  // deleted endpoints are not among these: they have nothing to be recorded
  for (const endpoint of locked.map(row => hydrate(endpoints, row))) {
    const valid = (byEndpoint.get(endpoint.endpointId) ?? []).filter(({ deliveryId }) => ours.has(deliveryId));
    const judged = judge(endpoint, valid);
    if (judged.notice && noticed) {
      later.push(...valid);
      continue;
    }
    if (judged.notice) noticed = judged;
    await saveHealth(tx, endpoint, judged.endpoint, judged.notice);
    for (const attempt of valid) recording.push({ endpoint, attempt, delivery: deliveryOf(attempt, ours) });
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
  const [, released] = await Promise.all([runHashed(tx, record, values), advanceLines(tx, lines, nowMs)]);
  return released;
}

/** The delivery before the attempt. It is scheduled, because it is leased. */
function deliveryOf(
  { merchantId, deliveryId, endpointId, payload }: Attempt,
  attempts: Map<unknown, number>,
): Delivery {
  const ids = { merchantId, deliveryId, endpointId, eventId: payload.eventId };
  return { ...ids, state: 'scheduled', attempts: attempts.get(deliveryId) ?? 0, nextAtMs: null };
}

/** The outcome for the delivery. A 410 from a URL that the endpoint has left is an ordinary failure. */
function outcomeFor(endpoint: EndpointRow, { url, result }: Attempt): Outcome {
  return url !== endpoint.url && verdictOf(result) === 'gone' ? { kind: 'failed' } : result;
}

function rowOf({ payload, url, startedMs, result }: Attempt, after: Delivery) {
  return {
    endpoint_id: after.endpointId,
    delivery_id: after.deliveryId,
    event_id: after.eventId,
    type: payload.type,
    url,
    state: after.state,
    attempts: after.attempts,
    outcome: result.kind === 'answered' ? String(result.status) : `${result.reason}: ${result.detail}`,
    answer: result.kind === 'answered' ? truncated(result.body) : '',
    create_time: Math.floor(startedMs / 1000),
    duration_ms: result.durationMs,
    next_at_ms: after.nextAtMs,
  };
}

/** First part of a text, not ending in half a surrogate pair, which PostgreSQL cannot store. */
const truncated = (text: string) => text.slice(0, limits.answerKept).replace(/[\uD800-\uDBFF]$/, '');

interface Judged {
  endpoint: Endpoint;
  notice?: 'failing' | 'disabled';
}

/** The endpoint after these attempts, and the notice for its merchant. */
function judge(before: EndpointRow, attempts: readonly Attempt[]): Judged {
  let judged: Judged = { endpoint: before as Endpoint };
  for (const { url, result, endedMs } of attempts) {
    if (url !== before.url) continue;
    const { endpoint, notice = judged.notice } = afterVerdict(judged.endpoint, verdictOf(result), endedMs);
    judged = notice ? { endpoint, notice } : { endpoint };
  }
  return judged;
}
