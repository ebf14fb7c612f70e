import { commonErrors, errors, type Operation, type Slug } from '@recur/contracts';
import { header, onEvery } from './headers.js';
import type { Components, Json } from './schemas.js';

/** The `commonErrors` that only a body, or an honoured Idempotency-Key, can cause. */
const ofBodies: readonly Slug[] = ['malformed_json', 'body_too_large', 'unsupported_media_type'];
const ofKeys: readonly Slug[] = ['idempotency_in_use', 'idempotency_reused'];

/** Names of responses that have none but `commonErrors`; a status without a name is written at each operation. */
const shared: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  409: 'Conflict',
  413: 'ContentTooLarge',
  415: 'UnsupportedMediaType',
  422: 'UnprocessableContent',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'Unavailable',
};

/** The members that both envelopes have beside `code`, `data` and `message`. */
export const members = {
  merchantId: { type: 'integer', format: 'int64', description: '0 if the caller is unknown' },
  redirect: { type: 'string', const: '' },
  requestId: { type: 'string', description: 'The id of the request, to quote to support' },
};

const issue = {
  type: 'object',
  properties: {
    path: { type: 'string', description: 'JSON pointer into the input, or the name of a header' },
    message: { type: 'string' },
  },
  required: ['path', 'message'],
};

/** The failure envelope. `error.type` is a plain string: clients must expect types that are newer than they are. */
function failureResponse(components: Components): Json {
  const error = {
    type: 'object',
    properties: {
      type: {
        type: 'string',
        description: 'What went wrong, for programs; each response lists those it can have in `x-error-types`',
        examples: ['invalid_parameters'],
      },
      issues: {
        type: 'array',
        items: components.add('Issue', issue),
        description: 'Every problem of the input; empty if the input is not the problem',
      },
    },
    required: ['type', 'issues'],
  };
  return components.add('Failure', {
    type: 'object',
    properties: {
      code: { type: 'integer', description: 'The kind of failure, never 0' },
      data: components.add('Empty', empty),
      message: { type: 'string', description: 'For people; may change' },
      ...members,
      error: components.add('FailureError', error),
    },
    required: ['code', 'data', 'merchantId', 'message', 'redirect', 'requestId', 'error'],
  });
}

/** The `data` of a failure, and of a success that has nothing to tell. */
export const empty = { type: 'object', properties: {} };

/** The responses of failures: those of one operation, and the shared ones that were referred to. */
export class Failures {
  private readonly named = new Map<string, Json>();
  private readonly schema: Json;

  constructor(components: Components) {
    this.schema = failureResponse(components);
  }

  /** The shared responses, as components. */
  get all(): Json {
    return Object.fromEntries(this.named);
  }

  /** A response for each status, naming its errors. */
  of({ errors: own }: Operation, hasBody: boolean, honoursKey: boolean): Json {
    const byStatus = new Map<number, Slug[]>();
    for (const slug of [...commonErrors, ...own]) {
      if ((ofBodies.includes(slug) && !hasBody) || (ofKeys.includes(slug) && !honoursKey)) continue;
      const { http } = errors[slug];
      byStatus.set(http, [...(byStatus.get(http) ?? []), slug]);
    }
    return Object.fromEntries(
      [...byStatus].map(([http, slugs]) => [String(http), this.response(http, slugs, hasBody)]),
    );
  }

  private response(http: number, slugs: readonly Slug[], hasBody: boolean): Json {
    const response = {
      description: slugs.map(slug => `- \`${slug}\` (${errors[slug].code}): ${errors[slug].message}`).join('\n'),
      headers: { ...onEvery, ...((http === 429 || http === 503) && header('Retry-After')) },
      content: { 'application/json': { schema: this.schema } },
      'x-error-types': slugs,
    };
    const name = http === 400 && !hasBody ? 'BadQuery' : shared[http];
    if (name === undefined || !slugs.every(slug => commonErrors.includes(slug))) return response;
    this.named.set(name, response);
    return { $ref: `#/components/responses/${name}` };
  }
}
