/** Headers of answers, each a component. */
export const headersOf = {
  'X-Request-Id': { description: 'The id of this request, to quote to support', schema: { type: 'string' } },
  'RateLimit-Limit': { description: 'Burst size of the rate limit', schema: { type: 'integer' } },
  'RateLimit-Remaining': { description: 'Requests left in the burst', schema: { type: 'integer' } },
  'RateLimit-Reset': { description: 'Seconds until the burst is full again', schema: { type: 'integer' } },
  'X-Ignored-Fields': {
    description:
      'JSON pointers of fields that were sent and are not known; with Prefer: handling=strict they are refused',
    schema: { type: 'string' },
  },
  'Retry-After': { description: 'Seconds to wait (429, 503)', schema: { type: 'integer' } },
  'Idempotency-Replayed': {
    description: 'true: the stored answer of the first request with this Idempotency-Key',
    schema: { type: 'string', const: 'true' },
  },
} as const;

export const header = (name: keyof typeof headersOf) => ({ [name]: { $ref: `#/components/headers/${name}` } });

/** The headers of every answer. */
export const onEvery = {
  ...header('X-Request-Id'),
  ...header('RateLimit-Limit'),
  ...header('RateLimit-Remaining'),
  ...header('RateLimit-Reset'),
};

/** Headers of requests, to the API and by it, each a component. */
export const parameters = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes repeats safe for 30 days: a repeat with the same key and input gets the first answer, byte for byte',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
  },
  WebhookId: {
    name: 'webhook-id',
    in: 'header',
    required: true,
    description: 'The id of the event, the same for every attempt, resend and replay: act once for each',
    schema: { type: 'string' },
  },
  WebhookTimestamp: {
    name: 'webhook-timestamp',
    in: 'header',
    required: true,
    description: 'Unix seconds of the attempt; refuse what is more than five minutes off',
    schema: { type: 'integer', format: 'int64' },
  },
  WebhookSignature: {
    name: 'webhook-signature',
    in: 'header',
    required: true,
    description:
      '`v1,` and the HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>` in base64, as of Standard Webhooks 1.0; ' +
      'after a rotation of the secret two of them, separated by a space',
    schema: { type: 'string' },
  },
} as const;

export const parameter = (name: keyof typeof parameters) => ({ $ref: `#/components/parameters/${name}` });
