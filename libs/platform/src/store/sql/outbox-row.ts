import { invalid } from '@recur/kernel';
import type { Caller } from '../../runtime/caller.js';
import { type EventKinds, eventJson } from '../event.js';
import type { EventRow } from './write-set.js';

/**
 * The largest event data. Well below NATS's `max_payload`: an event that the bus refuses would stay in the outbox for
 * ever, and its object could not be answered any more.
 */
const limits = { eventBytes: 3_145_728 } as const;

/** An event as a command records it. */
export interface Emission {
  type: string;
  aggregate: string;
  aggregateId: string;
  version: number;
  data: object;
  caller: Caller;
}

/** The surroundings of an event: its registry, and times in unix seconds, `retentionNow` on the machine's clock. */
interface Surroundings {
  readonly now: number;
  readonly retentionNow: number;
  readonly events: EventKinds;
  newId(prefix: `${string}_`): string;
}

/** The row of the outbox for an event. Throws Rejected `invalid_parameters` where its data is too large. */
export function outboxRow(
  { type, aggregate, aggregateId, version, data, caller }: Emission,
  context: Surroundings,
): EventRow {
  const kind = context.events[type];
  const id = context.newId('ev_');
  const { actor, requestId, traceparent, merchantId } = caller;
  const subject = aggregateId || id;
  const at = context.now;
  const head = { id, type, merchantId, aggregate, aggregateId: subject, version, at, actor, requestId, traceparent };
  const { envelope, data: json } = eventJson(head, data, kind);
  checkSize(json, `${aggregate} ${subject}`);
  return {
    id,
    type,
    aggregate,
    aggregateId: subject,
    version,
    envelope,
    data: json,
    createdAt: context.retentionNow,
  };
}

/** Each write is size-limited, but an aggregate can grow past the limit over many writes. */
function checkSize(data: string, subject: string): void {
  if (data.length * 3 <= limits.eventBytes) return;
  const bytes = Buffer.byteLength(data);
  if (bytes <= limits.eventBytes) return;
  throw invalid('', `${subject} would have ${bytes} bytes as JSON, and can have ${limits.eventBytes} at most`);
}
