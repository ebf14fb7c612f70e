/** How a failure looks at the edge. `message` is the default text; a rejection may say it more precisely. */
export interface ErrorKind {
  code: number;
  http: number;
  /** The same request may succeed later without a change. */
  retryable: boolean;
  message: string;
}

const kind = (code: number, http: number, message: string, retryable = false): ErrorKind => ({
  code,
  http,
  retryable,
  message,
});

/** Every error that recur answers, once: slug (`error.type` on the wire) → code, HTTP status and default message. */
export const errors = {
  internal_error: kind(50, 500, 'Something went wrong on our side; quote the requestId to support'),
  invalid_parameters: kind(51, 400, 'Some parameters are missing or invalid'),
  malformed_json: kind(51, 400, 'The body is not valid JSON'),
  body_too_large: kind(51, 400, 'The body is larger than 1 MiB'),
  unsupported_media_type: kind(51, 400, 'Send the body as application/json'),
  unknown_path: kind(53, 404, 'No such path'),
  idempotency_in_use: kind(54, 409, 'A request with this Idempotency-Key is still running', true),
  idempotency_reused: kind(54, 422, 'This Idempotency-Key was used with another request'),
  rate_limited: kind(55, 429, 'Too many requests', true),
  dependency_away: kind(56, 503, 'A service that this needs is away; try again', true),
  deadline_exceeded: kind(
    56,
    503,
    'The deadline passed before the answer came: the outcome is unknown; repeat with the same Idempotency-Key',
    true,
  ),
  overloaded: kind(56, 503, 'Too much is being asked at once; try again', true),
  credential_invalid: kind(61, 401, 'The credential is missing or not valid'),
  permission_denied: kind(63, 403, 'This credential may not do that'),
} as const satisfies Record<string, ErrorKind>;

export type Slug = keyof typeof errors;

/** What any operation may answer, whatever its own list says. */
export const commonErrors: readonly Slug[] = [
  'internal_error',
  'invalid_parameters',
  'malformed_json',
  'body_too_large',
  'unsupported_media_type',
  'idempotency_in_use',
  'idempotency_reused',
  'rate_limited',
  'dependency_away',
  'deadline_exceeded',
  'overloaded',
  'credential_invalid',
  'permission_denied',
];
