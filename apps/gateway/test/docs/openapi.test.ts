import { describe, expect, it } from '@jest/globals';
import {
  currencies,
  errors,
  type Operation,
  operation,
  operations,
  patternOf,
  webhookEventNames,
} from '@recur/contracts';
import { Validator } from '@seriousme/openapi-schema-validator';
import { z } from 'zod';
import { openApi } from '../../src/docs/openapi.js';

interface Endpoint {
  operationId: string;
  parameters?: { $ref?: string; name?: string; in?: string; required?: boolean }[];
  requestBody?: { content: { 'application/json': { schema: { $ref: string } } } };
  responses: Record<string, { $ref?: string; description: string; 'x-error-types'?: string[] }>;
}
interface Document {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, Endpoint>>;
  webhooks: Record<string, { post: Endpoint }>;
  tags: { name: string; description?: string }[];
  components: {
    schemas: Record<string, Record<string, unknown>>;
    responses: Record<string, { 'x-error-types': string[] }>;
  };
}

const documentOf = (operations: readonly Operation[]) =>
  openApi(operations, 'daily,buildtime:1', 'https://api.example.com') as unknown as Document;
const document = documentOf(operations);

/** Every `$ref` in it, and whether there is something at its end. */
function danglingIn(whole: Document): string[] {
  const refs = [...JSON.stringify(whole).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref = '']) => ref);
  const at = (ref: string) =>
    ref
      .slice(2)
      .split('/')
      .reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], whole);
  return refs.filter(ref => !ref.startsWith('#/') || at(ref) === undefined);
}

/** The schema of an operation's body, which is a component. */
const bodyOf = (path: string): unknown => {
  const { $ref = '' } = document.paths[path]?.post?.requestBody?.content['application/json'].schema ?? {};
  return document.components.schemas[$ref.split('/').at(-1) ?? ''];
};

/** Objects with fields of their own that have no name. */
function inlineIn(whole: unknown): string[] {
  const found: string[] = [];
  JSON.stringify(whole, (_, value) => {
    if (value?.type === 'object' && value.properties) found.push(Object.keys(value.properties).join(' '));
    return value;
  });
  return found;
}

/** The types of error that a response says it can have, be it shared or not. */
const typesOf = (whole: Document, { $ref, ...own }: Endpoint['responses'][string]) =>
  ($ref === undefined ? own : whole.components.responses[$ref.split('/').at(-1) ?? ''])?.['x-error-types'] ?? [];

const planted = (name: string, shapes: { input?: z.ZodType; output?: z.ZodType }): Operation =>
  operation({
    service: 'billing',
    name,
    path: `/merchant/${name}`,
    methods: ['POST'],
    effect: 'read',
    permission: 'invoice.read',
    summary: '',
    errors: [],
    input: z.object({}),
    output: z.object({}),
    ...shapes,
  });

/** What the document has, as `GET /path`. */
const endpointsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, item]) => Object.keys(item).map(method => `${method.toUpperCase()} ${path}`));
const tableOf = (operations: readonly Operation[]) =>
  operations.flatMap(({ methods, path }) => methods.map(method => `${method} ${path}`));

describe('the OpenAPI document', () => {
  it('is valid, and every reference in it leads somewhere', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(document.info.version).toBe('daily,buildtime:1');
    expect(danglingIn(document)).toEqual([]);
  });

  it('would be found invalid, or with a reference to nowhere', async () => {
    const broken = structuredClone(document) as unknown as { info: object };
    broken.info = {};
    expect((await new Validator().validate(broken as never)).valid).toBe(false);
    const dangling = JSON.parse(JSON.stringify(document).replace('#/components/schemas/Invoice"', '#/nowhere"'));
    expect(danglingIn(dangling)).toEqual(['#/nowhere']);
  });

  it('has exactly what is routed', () => {
    expect(endpointsOf(document).sort()).toEqual(tableOf(operations).sort());
    expect(endpointsOf(documentOf(operations.slice(1))).sort()).not.toEqual(tableOf(operations).sort());
    const ids = Object.values(document.paths).flatMap(item =>
      Object.values(item).map(({ operationId }) => operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('tells of each operation what it takes and what it may answer', () => {
    const detail = document.paths['/merchant/invoice/detail'];
    expect(detail?.get?.parameters).toMatchObject([{ name: 'invoiceId', in: 'query', required: true }]);
    expect(detail?.get?.requestBody).toBeUndefined();
    expect(detail?.post?.requestBody).toBeDefined();
    expect(detail?.post?.responses['404']?.description).toContain('invoice_not_found');
    expect(typesOf(document, detail?.get?.responses['400'] ?? { description: '' })).toEqual([
      'invalid_parameters',
      'answer_too_large',
    ]);
    const create = document.paths['/merchant/invoice/new']?.post;
    expect(create?.parameters).toEqual([{ $ref: '#/components/parameters/IdempotencyKey' }]);
    expect(Object.keys(create?.responses ?? {})).toEqual([
      '200',
      '400',
      '401',
      '403',
      '404',
      '409',
      '413',
      '415',
      '422',
      '429',
      '500',
      '503',
    ]);
    expect(Object.keys(document.components.schemas)).toEqual(expect.arrayContaining(['Invoice', 'Plan', 'Payment']));
  });

  it('gives examples that a service takes, where one made of the bounds would be refused', () => {
    expect(bodyOf('/merchant/invoice/new')).toMatchObject({
      properties: {
        currency: { examples: ['USD'] },
        taxPercentage: { examples: [1] },
        lines: { items: { $ref: '#/components/schemas/InvoiceLineInput' } },
      },
    });
    expect(document.components.schemas.InvoiceLineInput).toMatchObject({
      properties: { unitAmountExcludingTax: { examples: [1] } },
    });
    expect(bodyOf('/merchant/invoice/new')).not.toHaveProperty('properties.gatewayId.examples');
    expect(bodyOf('/merchant/session/new_session')).toMatchObject({
      properties: { email: { examples: ['ada@example.com'] } },
    });
  });

  it('is as strict as the server about texts', () => {
    type Field = { pattern?: string; format?: string; $ref?: string; anyOf?: { const?: string; $ref?: string }[] };
    const field = (path: string, name: string): Field => {
      return (bodyOf(path) as { properties: Record<string, Field> }).properties[name] ?? {};
    };
    const inputOf = (path: string) => {
      const found = operations.find(operation => operation.path === path);
      if (found === undefined) throw new Error(path);
      return found.input;
    };
    const samples = ['', ' ', 'x', 'a\0b', 'Ada', 'ada@example.com', 'a@b@c', 'a b@c', 'javascript:alert(1)'];
    samples.push('https://example.com/a?b', 'HTTP://example.com', 'ftp://example.com', ' https://example.com', '//a.b');
    for (const [path, name] of [
      ['/merchant/product/new', 'homeUrl'],
      ['/merchant/product/new', 'productName'],
      ['/merchant/webhook/new_endpoint', 'url'],
      ['/merchant/session/new_session', 'returnUrl'],
      ['/merchant/session/new_session', 'email'],
      ['/merchant/payment/cancel', 'paymentId'],
    ] as const) {
      const { pattern = '' } = field(path, name);
      for (const sample of samples) {
        const issues = inputOf(path).safeParse({ [name]: sample }).error?.issues ?? [];
        const isTaken = !issues.some(issue => issue.path[0] === name);
        expect([path, name, sample, new RegExp(pattern, 'u').test(sample)]).toEqual([path, name, sample, isTaken]);
      }
    }
    expect(field('/merchant/webhook/new_endpoint', 'url').format).toBe('uri');
    expect(field('/merchant/invoice/new', 'currency').$ref).toBe('#/components/schemas/CurrencyCode');
    expect(document.components.schemas.CurrencyCode).toMatchObject({ enum: [...currencies.keys()] });
    expect(JSON.stringify(document)).not.toMatch(/"x-(openapi|shape)"/);
  });

  it('tells what needs no credential, and what needs an identity token', () => {
    const login = document.paths['/merchant/auth/sso/login']?.post;
    expect(login).toMatchObject({ security: [], description: 'Needs no credential.' });
    const oauth = document.paths['/merchant/auth/sso/oauth/login']?.post;
    expect(oauth?.parameters?.map(({ name }) => name)).toEqual([
      undefined,
      'X-Auth-JS-Token',
      'X-Auth-Token',
      'X-OAuth-Token',
    ]);
    expect(oauth).not.toHaveProperty('security');
    expect(document.paths['/merchant/invoice/list']?.post).not.toHaveProperty('parameters');
  });

  it('names every body and answer after its operation', () => {
    const { schemas } = document.components;
    for (const name of ['PaymentNewRequest', 'PaymentNewResponse', 'PaymentNewData', 'InvoicePaidEvent']) {
      expect(schemas).toHaveProperty(name);
    }
    expect(schemas.PaymentDetailResponse).toMatchObject({
      properties: { code: { const: 0 }, data: { $ref: '#/components/schemas/PaymentDetailData' } },
    });
    expect(JSON.stringify(document)).not.toContain('"allOf"');
    const list = document.paths['/merchant/invoice/list'];
    expect(list?.get?.responses['200']).toEqual(list?.post?.responses['200']);
    expect(inlineIn(document.paths)).toEqual([]);
    const nested = Object.values(schemas).flatMap(({ properties }) => inlineIn(properties ?? {}));
    expect(nested).toEqual([]);
    expect(inlineIn({ a: { type: 'object', properties: { b: {}, c: {} } } })).toEqual(['b c']);
  });

  it('has one schema of failures, and tells the types of each', () => {
    for (const one of operations) {
      for (const { responses } of Object.values(document.paths[one.path] ?? {})) {
        const told = Object.values(responses).flatMap(response => typesOf(document, response));
        expect([one.name, told]).toEqual([one.name, expect.arrayContaining([...one.errors, 'internal_error'])]);
        expect(new Set(told).size).toBe(told.length);
      }
    }
    const used = Object.values(document.components.responses).flatMap(response => response['x-error-types']);
    expect(used.filter(slug => !(slug in errors))).toEqual([]);
    expect(typesOf(documentOf([planted('plan.a', {})]), { description: '', 'x-error-types': ['a'] })).toEqual(['a']);
  });

  it('has a webhook for each event that is emitted', () => {
    expect(Object.keys(document.webhooks)).toEqual(webhookEventNames);
    const { post } = document.webhooks['invoice.paid'] ?? {};
    expect(post?.parameters).toHaveLength(3);
    expect(Object.keys(post?.responses ?? {})).toContain('2XX');
    expect(document.components.schemas.InvoicePaidEvent).toMatchObject({
      properties: { type: { const: 'invoice.paid' }, data: { $ref: '#/components/schemas/Invoice' } },
      required: ['type', 'timestamp', 'merchantId', 'sequence', 'data'],
    });
  });

  it('groups operations by tags that are described, in the order of learning', () => {
    const names = document.tags.map(({ name }) => name);
    expect(names.slice(0, 3)).toEqual(['product', 'plan', 'user']);
    expect(new Set(names)).toEqual(new Set(operations.map(({ name }) => name.split('.')[0])));
    const undescribed = ({ tags }: typeof document) => tags.filter(({ description }) => !description);
    expect(undescribed(document)).toEqual([]);
    expect(undescribed(documentOf([planted('toaster.new', {})]))).toEqual([{ name: 'toaster' }]);
  });

  it('refuses two shapes of one name', () => {
    const shape = (type: z.ZodType) => z.object({ shape: type }).meta({ id: 'Sample' });
    const text = planted('plan.a', { output: z.object({ shape: shape(z.string()) }) });
    const number = planted('plan.b', { output: z.object({ shape: shape(z.number()) }) });
    expect(() => documentOf([text, { ...text, name: 'plan.b', path: '/merchant/b' }])).not.toThrow();
    expect(() => documentOf([text, number])).toThrow('Two shapes are named Sample');
  });

  it('refuses two operations, or an operation and a shape, of one name', () => {
    const one = planted('plan.a_b', {});
    expect(() => documentOf([one, planted('plan.a.b', {})])).toThrow('Two shapes are named PlanABRequest');
    const other = { ...one, service: 'catalog' } as const;
    expect(patternOf(one)).not.toBe(patternOf(other));
    expect(() => documentOf([one, { ...other, path: '/merchant/c' }])).toThrow('Two shapes are named PlanABRequest');
    const named = z.object({ a: z.object({}).meta({ id: 'PlanNewRequest' }) });
    expect(() => documentOf([planted('plan.new', { output: named })])).toThrow('Two shapes are named PlanNewRequest');
  });
});
