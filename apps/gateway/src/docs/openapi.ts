import {
  anyMember,
  anyUser,
  commonErrors,
  currencies,
  type ErrorKind,
  errors,
  type Operation,
  type Slug,
} from '@recur/contracts';
import { z } from 'zod';

type Json = Record<string, unknown>;

/** The `commonErrors` that only a body, or an honoured Idempotency-Key, can cause. */
const ofBodies: readonly Slug[] = ['malformed_json', 'body_too_large', 'unsupported_media_type'];
const ofKeys: readonly Slug[] = ['idempotency_in_use', 'idempotency_reused'];

const headersOf = {
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
    schema: { const: 'true' },
  },
} as const;
const header = (name: keyof typeof headersOf) => ({ [name]: { $ref: `#/components/headers/${name}` } });
const onEvery = {
  ...header('X-Request-Id'),
  ...header('RateLimit-Limit'),
  ...header('RateLimit-Remaining'),
  ...header('RateLimit-Reset'),
};

/** The OpenAPI 3.1 document of the operations, derived from the contract table. */
export function openApi(operations: readonly Operation[], version: string, baseUrl: string): Json {
  const schemas = new Schemas();
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const item: Json = {};
    for (const method of operation.methods) item[method.toLowerCase()] = endpoint(operation, method, schemas);
    paths[operation.path] = item;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'recur',
      version,
      description:
        'Subscription billing: invoices, payments and signed webhooks. Every answer is the same envelope: `code` is 0 ' +
        'on success; a failure has an `error` with its `type` and every problem of the input. Optional fields may be ' +
        'null, which means absent. Amounts are integers in the minor unit of their currency, times are unix seconds, ' +
        '10000 is 100 %.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: baseUrl }],
    security: [{ apiKey: [] }],
    tags: [...new Set(operations.map(tagOf))].map(name => ({ name })),
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'An API key or a member token; the scheme may be omitted',
        },
      },
      headers: headersOf,
      parameters: { IdempotencyKey: idempotencyKey },
      schemas: {
        ...envelopes,
        CurrencyCode: currencyCode,
        ...Object.fromEntries([...schemas.named].sort(([a], [b]) => (a < b ? -1 : 1))),
      },
    },
  };
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Makes repeats safe for 30 days: a repeat with the same key and input gets the first answer, byte for byte',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
};

const members = {
  merchantId: { type: 'integer', description: '0 if the caller is unknown' },
  redirect: { const: '' },
  requestId: { type: 'string' },
};
const issue = {
  type: 'object',
  properties: {
    path: { type: 'string', description: 'JSON pointer into the input, or the name of a header' },
    message: { type: 'string' },
  },
  required: ['path', 'message'],
};

/** The two envelopes; each operation details `data` of a success and `code` and `error.type` of a failure. */
const envelopes = {
  Success: {
    type: 'object',
    properties: { code: { const: 0 }, data: { type: 'object' }, message: { const: '' }, ...members },
    required: ['code', 'data', 'merchantId', 'message', 'redirect', 'requestId'],
  },
  Failure: {
    type: 'object',
    properties: {
      code: { type: 'integer', description: 'The kind of failure' },
      data: { type: 'object', maxProperties: 0 },
      message: { type: 'string', description: 'For people; may change' },
      ...members,
      error: {
        type: 'object',
        properties: { type: { type: 'string' }, issues: { type: 'array', items: issue } },
        required: ['type', 'issues'],
      },
    },
    required: ['code', 'data', 'merchantId', 'message', 'redirect', 'requestId', 'error'],
  },
};

/** Inputs may be in lower case; answers never are. */
const currencyCode = {
  type: 'string',
  description: 'An active ISO 4217 code, upper-cased on input',
  enum: [...currencies.keys()],
};

const tagOf = ({ name }: Operation) => name.split('.')[0];

function endpoint(operation: Operation, method: 'GET' | 'POST', schemas: Schemas): Json {
  const input = schemas.of(operation.input, 'input');
  const honoursKey = method === 'POST' && operation.effect === 'write';
  const headers = headersAsked(operation, honoursKey);
  return {
    operationId: `${operation.service}.${operation.name}${operation.methods.length > 1 ? `.${method.toLowerCase()}` : ''}`,
    summary: operation.summary,
    description: descriptionOf(operation),
    ...(operation.anonymous && { security: [] }),
    tags: [tagOf(operation)],
    ...(method === 'GET' && { parameters: queryOf(input) }),
    ...(headers.length > 0 && { parameters: headers }),
    ...(method === 'POST' && { requestBody: { required: true, content: contentOf(operation, input) } }),
    responses: {
      200: {
        description: 'Success',
        headers: { ...onEvery, ...header('X-Ignored-Fields'), ...(honoursKey && header('Idempotency-Replayed')) },
        content: json({ properties: { data: schemas.of(operation.output, 'output') } }, 'Success'),
      },
      ...failuresOf(operation, method === 'POST', honoursKey),
    },
  };
}

/** NDJSON has a JSON value per line, which a schema of the whole text cannot describe. */
const contentOf = ({ ndjson }: Operation, input: object) =>
  ndjson === undefined
    ? { 'application/json': { schema: input } }
    : { 'application/x-ndjson': { schema: { type: 'string' } } };

function descriptionOf({ permission, also, memberOnly, anonymous, oneOfHeaders }: Operation): string {
  return [
    anonymous ? 'Needs no credential.' : permissionText(permission, also),
    memberOnly ? 'For member tokens only, not API keys.' : '',
    oneOfHeaders ? `Exactly one of the headers ${oneOfHeaders.join(', ')} is required.` : '',
  ]
    .filter(sentence => sentence !== '')
    .join(' ');
}

function permissionText(permission: Operation['permission'], also: Operation['also'] = []): string {
  if (permission === anyMember) return 'Any signed-in member may call it.';
  if (permission === anyUser) return 'For user tokens of the hosted pages only.';
  const more = also.map(each => `\`${each.permission}\`${each.by ? ` with ${each.by.join(' or ')}` : ''}`);
  return `Permission: ${[`\`${permission}\``, ...more].join(', and ')}.`;
}

/** Which one of several headers is needed cannot be said here: none is required by itself. */
function headersAsked({ oneOfHeaders = [] }: Operation, honoursKey: boolean): Json[] {
  const tokens = oneOfHeaders.map(name => ({
    name,
    in: 'header',
    description: 'The identity token of the member',
    schema: { type: 'string' },
  }));
  return [...(honoursKey ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []), ...tokens];
}

/** Fields of a query: lists are repeated keys. */
function queryOf(input: Json): Json[] {
  const required = (input.required ?? []) as string[];
  return Object.entries((input.properties ?? {}) as Record<string, Json>).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(schema.type === 'array' && { style: 'form', explode: true }),
    schema,
  }));
}

/** A response for each status, naming its errors. */
function failuresOf({ errors: own }: Operation, hasBody: boolean, honoursKey: boolean): Json {
  const byStatus = new Map<number, Slug[]>();
  for (const slug of [...commonErrors, ...own]) {
    if ((ofBodies.includes(slug) && !hasBody) || (ofKeys.includes(slug) && !honoursKey)) continue;
    const { http } = errors[slug];
    byStatus.set(http, [...(byStatus.get(http) ?? []), slug]);
  }
  const responses = [...byStatus].map(([http, slugs]): [string, Json] => [String(http), failureOf(http, slugs)]);
  return Object.fromEntries(responses);
}

function failureOf(http: number, slugs: readonly Slug[]): Json {
  const kinds: ErrorKind[] = slugs.map(slug => errors[slug]);
  return {
    description: slugs.map(slug => `- \`${slug}\` (${errors[slug].code}): ${errors[slug].message}`).join('\n'),
    headers: { ...onEvery, ...((http === 429 || http === 503) && header('Retry-After')) },
    content: json(
      {
        properties: {
          code: { enum: [...new Set(kinds.map(({ code }) => code))] },
          error: { properties: { type: { enum: slugs } } },
        },
      },
      'Failure',
    ),
  };
}

const json = (detail: Json, envelope: keyof typeof envelopes) => ({
  'application/json': { schema: { allOf: [{ $ref: `#/components/schemas/${envelope}` }, detail] } },
});

/** JSON Schemas of contract shapes; those with a name stand once, under components. */
class Schemas {
  readonly named = new Map<string, Json>();

  of(type: z.ZodType, io: 'input' | 'output'): Json {
    const { $schema: _, $defs = {}, ...root } = z.toJSONSchema(type, { target: 'draft-2020-12', io }) as Json;
    for (const [id, shape] of Object.entries($defs as Record<string, Json>)) {
      const moved = this.moved(shape, io);
      const known = this.named.get(nameOf(id, io));
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(moved)) {
        throw new Error(`Two shapes are named ${id}`);
      }
      this.named.set(nameOf(id, io), moved);
    }
    return this.moved(root, io);
  }

  private moved<T>(schema: T, io: 'input' | 'output'): T {
    return JSON.parse(JSON.stringify(schema), (key, value) => {
      if (key === '$ref' && typeof value === 'string') {
        return value.replace(/^#\/\$defs\/(.+)$/, (_, id: string) => `#/components/schemas/${nameOf(id, io)}`);
      }
      if (value?.['x-openapi'] !== undefined) {
        const { 'x-openapi': keywords, ...others } = value;
        return { ...others, ...keywords };
      }
      return isBounded(value) ? { ...value, examples: [Math.max(1, value.minimum ?? 1)] } : value;
    });
  }
}

/** A number of which readers of the docs would else be shown a bound itself, or 1 instead of what it is by default. */
const isBounded = (schema: Json | null): schema is { minimum?: number } =>
  (schema?.type === 'integer' || schema?.type === 'number') &&
  !('default' in schema || 'enum' in schema) &&
  ('minimum' in schema || 'maximum' in schema);

/** The name of a shape; inputs and outputs of one name may differ. */
const nameOf = (id: string, io: 'input' | 'output') => (io === 'input' ? `${id}Input` : id);
