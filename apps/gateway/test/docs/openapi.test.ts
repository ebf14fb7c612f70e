import { describe, expect, it } from '@jest/globals';
import { currencies, type Operation, operation, operations } from '@recur/contracts';
import { Validator } from '@seriousme/openapi-schema-validator';
import { z } from 'zod';
import { openApi } from '../../src/docs/openapi.js';

interface Endpoint {
  operationId: string;
  parameters?: { $ref?: string; name?: string; in?: string; required?: boolean }[];
  requestBody?: { content: { 'application/json': { schema: unknown } } };
  responses: Record<string, { description: string }>;
}
interface Document {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, Endpoint>>;
  components: { schemas: Record<string, unknown> };
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
    expect(detail?.get?.responses['400']?.description).not.toContain('malformed_json');
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
    const create = document.paths['/merchant/invoice/new']?.post?.requestBody?.content['application/json'].schema;
    expect(create).toMatchObject({
      properties: {
        currency: { examples: ['USD'] },
        taxPercentage: { examples: [1] },
        lines: { items: { properties: { unitAmountExcludingTax: { examples: [1] } } } },
      },
    });
    expect(create).not.toHaveProperty('properties.gatewayId.examples');
    const session = document.paths['/merchant/session/new_session']?.post?.requestBody?.content['application/json'];
    expect(session?.schema).toMatchObject({ properties: { email: { examples: ['ada@example.com'] } } });
  });

  it('is as strict as the server about texts', () => {
    type Field = { pattern?: string; format?: string; $ref?: string; anyOf?: { const?: string; $ref?: string }[] };
    const field = (path: string, name: string): Field => {
      const schema = document.paths[path]?.post?.requestBody?.content['application/json'].schema;
      return (schema as { properties: Record<string, Field> }).properties[name] ?? {};
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
    expect(JSON.stringify(document)).not.toContain('x-openapi');
  });

  it('tells what needs no credential, and what needs an identity token', () => {
    const login = document.paths['/merchant/auth/sso/login']?.post;
    expect(login).toMatchObject({ security: [], description: 'Needs no credential.' });
    const oauth = document.paths['/merchant/auth/sso/oauth/login']?.post;
    expect(oauth?.parameters?.map(({ name }) => name)).toEqual([
      ...[undefined, 'X-Auth-JS-Token', 'X-Auth-Token', 'X-OAuth-Token'],
    ]);
    expect(oauth).not.toHaveProperty('security');
    expect(document.paths['/merchant/invoice/list']?.post).not.toHaveProperty('parameters');
  });

  it('refuses two shapes of one name', () => {
    const sample = (path: `/merchant/${string}`, shape: z.ZodType) =>
      operation({
        ...{ service: 'billing', name: path, path, methods: ['GET'], effect: 'read', permission: 'invoice.read' },
        ...{ summary: '', errors: [], input: z.object({}), output: z.object({ shape }) },
      });
    const shape = (type: z.ZodType) => z.object({ shape: type }).meta({ id: 'Sample' });
    const text = shape(z.string());
    expect(() => documentOf([sample('/merchant/a', text), sample('/merchant/b', text)])).not.toThrow();
    const two = [sample('/merchant/a', text), sample('/merchant/b', shape(z.number()))];
    expect(() => documentOf(two)).toThrow('Two shapes are named Sample');
  });
});
