import { Controller } from '@nestjs/common';
import { type In, listEndpointLogs, type WebhookLog } from '@recur/contracts';
import { type Caller, Db, given, Handle } from '@recur/platform';
import { findEndpoint } from '../endpoints/rows.js';
import { commonHeaders } from './sending/signature.js';
import { type AttemptRow, attempts } from './tables.js';

/** Limit for the bodies of one page together, which keeps the answer below the bus's message size. */
const pageBodyCharacters = 600_000;

const bodiesOf = 'select event_id, left(body, $3) as body from events where merchant_id = $1 and event_id = any($2)';

/** The log of attempts to deliver to an endpoint. */
@Controller()
export class Logs {
  constructor(private readonly db: Db) {}

  @Handle(listEndpointLogs)
  list({ endpointId, createTimeStart, createTimeEnd, page, count }: In<typeof listEndpointLogs>, caller: Caller) {
    return this.db.read(caller, async reader => {
      await findEndpoint(reader, endpointId);
      const { rows, total } = await reader.page({
        from: attempts,
        where: [
          ['endpoint_id = ?', endpointId],
          ['create_time >= ?', createTimeStart],
          ['create_time <= ?', given(createTimeEnd)],
        ],
        order: 'create_time desc, id desc',
        page,
        count,
      });
      const eventIds = [...new Set(rows.map(({ eventId }) => eventId))];
      const events = await reader.query(bodiesOf, [
        caller.merchantId,
        eventIds,
        Math.floor(pageBodyCharacters / count),
      ]);
      const bodies = new Map(events.map(row => [row.event_id, String(row.body)]));
      return { endpointLogList: rows.map(row => logView(row, bodies.get(row.eventId) ?? '')), total };
    });
  }
}

function logView(attempt: AttemptRow, body: string): WebhookLog {
  return {
    id: attempt.id,
    merchantId: attempt.merchantId,
    endpointId: attempt.endpointId,
    webhookEvent: attempt.type,
    webhookUrl: attempt.url,
    requestId: attempt.eventId,
    body,
    requestHeaders: {
      ...commonHeaders,
      'webhook-id': attempt.eventId,
      'webhook-timestamp': String(attempt.createTime),
    },
    response: attempt.answer,
    httpStatus: /^\d{3}$/.test(attempt.outcome) ? Number(attempt.outcome) : 0,
    mamo: inWords(attempt),
    reconsumeCount: attempt.attemptsBefore,
    createTime: attempt.createTime,
    durationMs: attempt.durationMs,
    nextTryTime: Math.floor((attempt.nextAtMs ?? 0) / 1000),
  };
}

function inWords({ state, outcome, nextAtMs }: AttemptRow): string {
  if (state === 'delivered') return 'delivered';
  const next =
    nextAtMs !== null
      ? `next attempt at ${new Date(nextAtMs).toISOString()}`
      : state === 'missed'
        ? 'the endpoint was disabled'
        : 'it was the last attempt';
  return `failed: ${outcome}, ${next}`;
}
