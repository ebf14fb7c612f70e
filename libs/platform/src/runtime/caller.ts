import type { Actor } from '@recur/contracts';

/** Who sent a request, as far as the network and its headers tell. `identityToken` is a secret: it is never logged. */
export interface Sender {
  ip: string;
  userAgent: string;
  identityToken?: string;
}

/** One command's context, from the gateway to the database: who, for which merchant, until when, under which key. */
export interface Caller {
  merchantId: number;
  actor: Actor;
  /** The actor's session, where it has signed in. */
  session?: string;
  requestId: string;
  traceparent: string;
  /** Unix milliseconds after which nobody waits for the answer. */
  deadline: number;
  idempotencyKey?: string;
  /** Digest of operation and input: tells a repeat from another request under the same key. */
  fingerprint?: string;
  /** Where the request came from: of operations whose contract asks for it. */
  sender?: Sender;
  /** What `db.write` has returned, and its JSON. */
  written?: { answer: object; json: string };
  /** The answer holds a secret: what is kept of it for a repeat is encrypted. */
  secretOutput?: boolean;
}

/** The caller of a job or a consumer: the system, acting for one merchant. */
export function systemCaller(merchantId: number, requestId: string, deadline: number, traceparent = ''): Caller {
  return { merchantId, actor: { kind: 'system', id: '', display: 'system' }, requestId, traceparent, deadline };
}
