import { headers, type MsgHdrs } from '@nats-io/transport-node';
import { Actor } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import { z } from 'zod';
import type { Caller, Sender } from '../runtime/caller.js';

/** The answer to a command: the exact bytes of its data, or a rejection as JSON. */
export interface Reply {
  ok: boolean;
  bytes: Uint8Array | string;
  /** Set on a stored answer: the id of the request that it was first given to. */
  replayOf?: string;
}

/** Headers of commands and replies; README.md says what each means. Names are compared without regard to case. */
const headerNames = {
  merchant: 'Recur-Merchant',
  actor: 'Recur-Actor',
  session: 'Recur-Session',
  sender: 'Recur-Sender',
  requestId: 'Recur-Request-Id',
  traceparent: 'traceparent',
  deadline: 'Recur-Deadline',
  idempotencyKey: 'Idempotency-Key',
  signature: 'Recur-Signature',
  status: 'Recur-Status',
  replayOf: 'Recur-Replay-Of',
} as const;
type Fields = Partial<Record<keyof typeof headerNames, string>>;
const fieldsByName = new Map(
  Object.entries(headerNames).map(([field, name]) => [name.toLowerCase(), field as keyof Fields]),
);

const Merchant = z.coerce.number<string>().pipe(z.int().min(0));
const Deadline = z.coerce.number<string>().pipe(z.int());
const SenderShape = z.object({ ip: z.string(), userAgent: z.string(), identityToken: z.string().optional() });

/** The part of a caller that travels with a command. */
export type SentCaller = Pick<
  Caller,
  'merchantId' | 'actor' | 'session' | 'requestId' | 'traceparent' | 'deadline' | 'idempotencyKey' | 'sender'
>;

/** The headers of a command; `sign` is asked for the signature of who calls, and signs nothing where it answers none. */
export function headersOf(caller: SentCaller, sign?: (caller: string) => string | undefined): MsgHdrs {
  const { merchantId, actor, session, requestId, traceparent, deadline, idempotencyKey, sender } = caller;
  const written = headers();
  const set = (name: string, value: string | undefined) => value && written.append(name, value);
  set(headerNames.merchant, String(merchantId));
  set(headerNames.actor, JSON.stringify(actor));
  set(headerNames.session, session);
  set(headerNames.sender, sender && JSON.stringify(sender));
  set(headerNames.requestId, requestId);
  set(headerNames.traceparent, traceparent);
  if (Number.isFinite(deadline)) set(headerNames.deadline, String(Math.floor(deadline)));
  set(headerNames.idempotencyKey, idempotencyKey);
  if (sign) set(headerNames.signature, sign(signedText(fieldsIn(written))));
  return written;
}

/** The caller of a command as its signature covers it, and that signature. */
export function signedIn(received: MsgHdrs | undefined): { caller: string; signature: string } {
  const { signature = '', ...fields } = fieldsIn(received);
  return { caller: signedText(fields), signature };
}

/** A line for each header, also for one that is not there. */
const signedText = ({ merchant, actor, session, sender, requestId, deadline, idempotencyKey }: Fields): string =>
  [merchant, actor, session, sender, requestId, deadline, idempotencyKey].join('\n');

/**
 * The caller that a command's headers name. A command without a deadline has until `latest` (unix milliseconds).
 * Throws Rejected `invalid_parameters` naming the header that cannot be read: anything can be published on a subject.
 */
export function callerIn(received: MsgHdrs | undefined, latest: number): SentCaller {
  const { merchant, actor, session, sender, requestId, traceparent, deadline, idempotencyKey } = fieldsIn(received);
  return {
    merchantId: readHeader(headerNames.merchant, Merchant, merchant),
    actor: readHeader<Actor>(headerNames.actor, Actor, parseHeader(actor)),
    session,
    requestId: requestId ?? '',
    traceparent: traceparent ?? '',
    deadline: deadline === undefined ? latest : readHeader(headerNames.deadline, Deadline, deadline),
    idempotencyKey,
    sender: sender === undefined ? undefined : readHeader<Sender>(headerNames.sender, SenderShape, parseHeader(sender)),
  };
}

/** The headers of a reply. */
export function headersOfReply({ ok, replayOf }: Reply): MsgHdrs {
  const written = headers();
  written.append(headerNames.status, ok ? 'ok' : 'refused');
  if (replayOf) written.append(headerNames.replayOf, replayOf);
  return written;
}

/** The reply in a message; undefined where the message is none. */
export function replyIn(message: { data: Uint8Array; headers?: MsgHdrs }): Reply | undefined {
  const { status, replayOf } = fieldsIn(message.headers);
  if (status !== 'ok' && status !== 'refused') return undefined;
  return { ok: status === 'ok', bytes: message.data, replayOf };
}

/** The reply to a command that was rejected. */
export const refusal = (rejected: Rejected): Reply => ({ ok: false, bytes: JSON.stringify(rejected) });

/** The rejection in such a reply. */
export function rejectionIn({ bytes }: Reply): Rejected {
  const { slug, message, issues } = JSON.parse(typeof bytes === 'string' ? bytes : textOf(bytes)) as Rejected;
  return new Rejected(slug, message, issues);
}

/** Text of received bytes. A view of a Buffer is made first: `toString` of a plain array lists its numbers. */
export const textOf = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  Buffer.from(buffer, byteOffset, byteLength).toString();

/** Reads all headers in a single pass: `MsgHdrs.get` searches the whole list for each name. */
function fieldsIn(received: MsgHdrs | undefined): Fields {
  const fields: Fields = {};
  for (const [name, values] of received ?? []) {
    const field = fieldsByName.get(name.toLowerCase());
    if (field !== undefined) fields[field] = values[0];
  }
  return fields;
}

function readHeader<T>(name: string, schema: z.ZodType<T, unknown>, value: unknown): T {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  throw invalid(name, `The header ${name} is missing or not valid`);
}

function parseHeader(json: string | undefined): unknown {
  try {
    return JSON.parse(json ?? '');
  } catch {
    return undefined;
  }
}
