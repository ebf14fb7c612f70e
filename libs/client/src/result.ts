import type { Slug } from '@recur/contracts';

/** Envelope of every answer. */
export interface Envelope<D = unknown> {
  code: number;
  data: D;
  merchantId: number;
  message: string;
  redirect: string;
  requestId: string;
  error?: { type: string; issues: { path: string; message: string }[] };
}

/**
 * The slug of a registered error, or what went wrong on the way: `unreachable` (no answer came, so the outcome is
 * unknown), `unreadable` (what answered was not recur) and `aborted` (the caller's signal).
 */
export type FailureType = Slug | 'unreachable' | 'unreadable' | 'aborted';

/** Why a call did not succeed. */
export interface Failure {
  type: FailureType;
  /** A sentence for people, in English. */
  message: string;
  /** Code of the envelope, 0 without one. */
  code: number;
  /** HTTP status, 0 if there was no answer. */
  status: number;
  /** Fields that were refused: JSON pointers into the input. */
  issues: { path: string; message: string }[];
  /** The same call under the same idempotency key may succeed later. */
  retryable: boolean;
  requestId: string;
  /** Seconds after which the server asks to be tried again; 0 if it does not say. */
  retryAfterSeconds: number;
}

/** The outcome of a call. `replayed`: the answer is that of an earlier request under the same idempotency key. */
export type Result<D> =
  | { ok: true; data: D; requestId: string; merchantId: number; replayed: boolean }
  | { ok: false; error: Failure };

const retryableStatus: readonly number[] = [429, 502, 503, 504];
const IN_USE: Slug = 'idempotency_in_use';

/** The outcome that an HTTP answer tells. */
export function read<D>(status: number, headers: Headers, text: string): Result<D> {
  const envelope = parsed<D>(text);
  if (envelope !== undefined && status === 200 && envelope.code === 0) {
    const { data, requestId, merchantId } = envelope;
    return { ok: true, data, requestId, merchantId, replayed: headers.get('idempotency-replayed') === 'true' };
  }
  const type = (envelope?.error?.type ?? 'unreadable') as FailureType;
  const error: Failure = {
    type,
    message: envelope?.message ?? `The answer (HTTP ${status}) has no envelope`,
    code: envelope?.code ?? 0,
    status,
    issues: envelope?.error?.issues ?? [],
    retryable: retryableStatus.includes(status) || type === IN_USE,
    requestId: envelope?.requestId ?? '',
    retryAfterSeconds: Math.max(0, Number(headers.get('retry-after')) || 0),
  };
  return { ok: false, error };
}

/** The outcome where no answer came. */
export function unanswered<D>(type: 'unreachable' | 'aborted', message: string): Result<D> {
  const none = { code: 0, status: 0, issues: [], requestId: '', retryAfterSeconds: 0 };
  return { ok: false, error: { ...none, type, message, retryable: type === 'unreachable' } };
}

function parsed<D>(text: string): Envelope<D> | undefined {
  try {
    const value = JSON.parse(text) as Envelope<D> | null;
    return typeof value === 'object' && value !== null && typeof value.code === 'number' ? value : undefined;
  } catch {
    return undefined;
  }
}
