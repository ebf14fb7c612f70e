import type { Actor } from '@recur/contracts';

/** The sender of a request, as far as the network and its headers tell. `identityToken` is a secret and never logged. */
export interface Sender {
  readonly ip: string;
  readonly userAgent: string;
  readonly identityToken?: string;
}

/** The context of one command, from the gateway to the database: actor, merchant, deadline, idempotency key. Immutable. */
export interface Caller {
  readonly merchantId: number;
  readonly actor: Actor;
  /** The actor's session, if it has signed in. */
  readonly session?: string;
  readonly requestId: string;
  readonly traceparent: string;
  /** Unix milliseconds after which nobody waits for the answer. */
  readonly deadline: number;
  readonly idempotencyKey?: string;
  /** Digest of operation and input: tells a repeat from a different request under the same key. */
  readonly fingerprint?: string;
  /** Where the request came from; only for operations whose contract asks for it. */
  readonly sender?: Sender;
  /** The merchant's time at which a job is done, in unix seconds, if it is not the present. Never from the network. */
  readonly now?: number;
  /** The answer holds a secret: it is stored encrypted for a repeat. */
  readonly secretOutput?: boolean;
}

/** The caller of a job or a consumer: the system, acting for one merchant. */
export function systemCaller(merchantId: number, requestId: string, deadline: number, traceparent = ''): Caller {
  return { merchantId, actor: { kind: 'system', id: '', display: 'system' }, requestId, traceparent, deadline };
}
