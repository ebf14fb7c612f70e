import { anyMember, anyUser, currencies, type Operation, patternOf, webhookEventNames } from '@recur/contracts';
import type { Examples } from './examples.js';
import { empty, Failures, members } from './failures.js';
import { header, headersOf, onEvery, parameter, parameters } from './headers.js';
import { Components, type Json, pascal } from './schemas.js';
import { tagOf, tagsOf } from './tags.js';
import { webhooksOf } from './webhooks.js';

const apiSummary = 'Subscription billing: plans, subscriptions, usage, invoices, payments and signed webhooks';

const description = (baseUrl: string) => `
The back end of subscription billing. [Guides](${baseUrl}/docs/guides) lead through it step by step.

Every answer is the same envelope: \`code\` is 0 on success; a failure has an \`error\` with its \`type\` and every problem
of the input. Optional fields may be null, which means absent. Amounts are integers in the minor unit of their currency,
times are unix seconds, 10000 is 100 %.

Answers may have new fields, and failures new values of \`error.type\`, at any time: a client must accept them.
`;

/** The OpenAPI 3.1 document of the operations, derived from the contract table; `examples` are shown where recorded. */
export function openApi(
  operations: readonly Operation[],
  version: string,
  baseUrl: string,
  examples: Examples = {},
): Json {
  const components = new Components();
  const failures = new Failures(components);
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const described = new Described(operation, components, examples[operation.name]);
    const item: Json = {};
    for (const method of operation.methods) item[method.toLowerCase()] = described.endpoint(method, failures);
    paths[operation.path] = item;
  }
  components.add('CurrencyCode', currencyCode);
  const webhooks = webhooksOf(components);
  return {
    openapi: '3.1.0',
    info: {
      title: 'recur',
      summary: apiSummary,
      version,
      description: description(baseUrl).trim(),
      contact: { name: 'The recur project' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    externalDocs: { description: 'Guides', url: `${baseUrl}/docs/guides` },
    servers: [{ url: baseUrl }],
    security: [{ apiKey: [] }],
    tags: tagsOf([...operations.map(({ name }) => name), ...webhookEventNames]),
    paths,
    webhooks,
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
      parameters,
      responses: failures.all,
      schemas: components.all,
    },
  };
}

/** Inputs may be in lower case; answers never are. */
const currencyCode = {
  type: 'string',
  description: 'An active ISO 4217 code, upper-cased on input',
  enum: [...currencies.keys()],
};

/** The endpoints of an operation, one per method, which share its named schemas. */
class Described {
  constructor(
    private readonly operation: Operation,
    private readonly components: Components,
    private readonly example: Examples[string] | undefined,
  ) {}

  endpoint(method: 'GET' | 'POST', failures: Failures): Json {
    const { operation } = this;
    const honoursKey = method === 'POST' && operation.effect === 'write';
    const asked = [...(method === 'GET' ? this.query() : []), ...headersAsked(operation, honoursKey)];
    return {
      operationId: `${operation.service}.${operation.name}${operation.methods.length > 1 ? `.${method.toLowerCase()}` : ''}`,
      summary: operation.summary,
      description: descriptionOf(operation),
      ...(operation.anonymous && { security: [] }),
      tags: [tagOf(operation.name)],
      ...(asked.length > 0 && { parameters: asked }),
      ...(method === 'POST' && { requestBody: { required: true, content: this.body() } }),
      responses: {
        200: {
          description: 'Success',
          headers: { ...onEvery, ...header('X-Ignored-Fields'), ...(honoursKey && header('Idempotency-Replayed')) },
          content: { 'application/json': { schema: this.response(), ...shown(this.example?.response) } },
        },
        ...failures.of(operation, method === 'POST', honoursKey),
      },
    };
  }

  /** NDJSON has a JSON value per line, which a schema of the whole text cannot describe. */
  private body(): Json {
    const { input, ndjson, multipart } = this.operation;
    if (ndjson !== undefined) {
      const text = { type: 'string', description: 'A JSON value per line' };
      return { 'application/x-ndjson': { schema: this.named('Request', text) } };
    }
    const schema = this.named('Request', this.components.of(input, 'input'));
    return {
      'application/json': { schema, ...shown(this.example?.request) },
      ...(multipart !== undefined && { 'multipart/form-data': { schema: this.form(multipart) } }),
    };
  }

  /** The input as a form, whose file is sent as it is. */
  private form(file: string): Json {
    const schema = this.components.of(this.operation.input, 'input');
    const properties = { ...(schema.properties as Json), [file]: { type: 'string', format: 'binary' } };
    return this.named('Form', { ...schema, properties });
  }

  /** The whole envelope, so that generated clients have one type for it. */
  private response(): Json {
    const data = this.components.of(this.operation.output, 'output');
    const isEmpty = Object.keys(data.properties ?? {}).length === 0;
    return this.named('Response', {
      type: 'object',
      properties: {
        code: { type: 'integer', const: 0 },
        data: isEmpty ? this.components.add('Empty', empty) : this.named('Data', data),
        message: { type: 'string', const: '' },
        ...members,
      },
      required: ['code', 'data', 'merchantId', 'message', 'redirect', 'requestId'],
    });
  }

  private named(part: 'Request' | 'Form' | 'Response' | 'Data', schema: Json): Json {
    return this.components.add(`${pascal(this.operation.name)}${part}`, schema, patternOf(this.operation));
  }

  /** Fields of a query: lists are repeated keys. */
  private query(): Json[] {
    const { properties = {}, required = [] } = this.components.of(this.operation.input, 'input') as {
      properties?: Record<string, Json>;
      required?: string[];
    };
    return Object.entries(properties).map(([name, schema]) => ({
      name,
      in: 'query',
      required: required.includes(name),
      ...(schema.type === 'array' && { style: 'form', explode: true }),
      schema,
      ...shown(this.example?.request[name]),
    }));
  }
}

const shown = (example: unknown) => (example === undefined ? {} : { example });

function descriptionOf({ permission, also, memberOnly, otherPaths, anonymous, oneOfHeaders }: Operation): string {
  return [
    anonymous ? 'Needs no credential.' : permissionText(permission, also),
    otherPaths ? `Also at ${otherPaths.map(path => `\`${path}\``).join(', ')}.` : '',
    memberOnly ? 'For member tokens only, not API keys.' : '',
    oneOfHeaders ? `Exactly one of the headers ${oneOfHeaders.join(', ')} is required.` : '',
  ]
    .filter(sentence => sentence !== '')
    .join(' ');
}

function permissionText(permission: Operation['permission'], also: Operation['also'] = []): string {
  if (permission === anyMember) return 'Any signed-in member may call it.';
  if (permission === anyUser) return 'For user tokens of the hosted pages only.';
  const more = also.map(({ permission, by, is }) => {
    const fields = by ? ` with ${by.join(' or ')}${is ? ` of ${is.join(' or ')}` : ''}` : '';
    return `\`${permission}\`${fields}`;
  });
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
  return [...(honoursKey ? [parameter('IdempotencyKey')] : []), ...tokens];
}
