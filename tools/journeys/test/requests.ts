import { randomUUID } from 'node:crypto';
import { creditAccountType, type Operation } from '@recur/contracts';
import fc from 'fast-check';
import { z } from 'zod';
import { type Id, type Kind, named, namedIn } from './world.js';

/** As much of JSON Schema as the inputs of operations use. */
export interface Json {
  type?: string;
  properties?: Record<string, Json>;
  required?: string[];
  items?: Json;
  anyOf?: Json[];
  enum?: unknown[];
  const?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  'x-rule'?: string;
  /** Which kind of object the field names, where its name alone does not say so. */
  'x-kind'?: Kind;
}

export function schemaOf({ name, input }: Operation): Json {
  const schema = z.toJSONSchema(input, { io: 'input', reused: 'inline' }) as Json;
  for (const [field, kind] of Object.entries(namedIn[name] ?? {})) {
    const property = schema.properties?.[field];
    if (property) property['x-kind'] = kind;
  }
  return schema;
}

export const kindOf = (name: string, schema: Json): Kind | undefined => schema['x-kind'] ?? named[name];

export const isList = ({ type, anyOf = [] }: Json): boolean => type === 'array' || anyOf.some(isList);

export interface Field {
  /** `lines`, `[]`, `planId` … */
  path: readonly string[];
  name: string;
  schema: Json;
}

/** Every field of an input at any depth, `[]` being the entries of a list. */
export function fieldsOf(schema: Json, path: readonly string[] = []): Field[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
    { path: [...path, name], name, schema: field },
    ...fieldsOf(field, [...path, name]),
  ]);
  const entries = schema.items ? fieldsOf(schema.items, [...path, '[]']) : [];
  return [...own, ...entries, ...(schema.anyOf ?? []).flatMap(branch => fieldsOf(branch, path))];
}

/** A value for a rule that JSON Schema cannot express: the words are the rule's own (`x-rule`). */
const byRule: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  'must be the code of an active ISO 4217 currency, such as USD': fc.constantFrom('EUR', 'usd', 'JPY', 'KWD'),
  'must be a decimal with at most 12 fractional digits': fc.constantFrom(0, 1, 149.5, 0.0021, 1e-12),
  'must be an e-mail address': fc.nat(500).map(n => `member-${n}@example.com`),
  'must be an http or https URL': fc.constant('http://127.0.0.1:9/hook'),
  'must be an http or https URL, or blank': fc.constantFrom('', 'https://example.com/back'),
  'must be a time zone of the IANA database, such as Europe/Berlin, or blank': fc.constantFrom('', 'Asia/Tokyo'),
  'must be 1 to 20 letters, digits, - or _': fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/),
  'must be base64 of a file that is not empty': fc
    .uint8Array({ minLength: 1, maxLength: 60 })
    .map(bytes => Buffer.from(bytes).toString('base64')),
  'may not be blank': fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }).filter(text => text.trim() !== ''),
};

export type Ids = Readonly<Record<Kind, readonly Id[]>>;

/** Inputs that fit the schema; fields that name an object mostly name one that there is. */
export function fitting(schema: Json, ids: Ids, name = ''): fc.Arbitrary<unknown> {
  const kind = kindOf(name, schema);
  const known = kind && ids[kind].length > 0 ? fc.constantFrom(...ids[kind]) : undefined;
  const free = shaped(schema, ids, name);
  return known && !isList(schema) ? fc.oneof({ arbitrary: known, weight: 8 }, free) : free;
}

/** Most texts are short; few are needed to find what a text can break, and they are made faster. */
const words = fc.constantFrom('', 'Ada', 'x'.repeat(12), 'Größe', '中文', 'a,b', '👩‍👩‍👧', '%_\\', "O'Neill", '  ');

function shaped(schema: Json, ids: Ids, name: string): fc.Arbitrary<unknown> {
  const { minimum = -1000, maximum = 1000, minLength = 0, maxLength = 2_000, minItems = 0, maxItems = 4 } = schema;
  const rule = byRule[schema['x-rule'] ?? ''];
  if (rule) return rule;
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(branch => fitting(branch, ids, name)));
  switch (schema.type) {
    case 'integer':
      if (name === 'count') return fc.integer({ min: 1, max: 3 });
      return fc.oneof(
        fc.constantFrom(minimum, maximum),
        fc.integer({ min: Math.max(minimum, 0), max: Math.min(maximum, 5000) }),
      );
    case 'boolean':
      return fc.boolean();
    case 'string': {
      const made = fc.string({ unit: 'grapheme', minLength, maxLength: Math.max(minLength, 20) });
      return (minLength > 10 ? made : fc.oneof({ arbitrary: words, weight: 4 }, made)).filter(
        text => text.length >= minLength && text.length <= maxLength,
      );
    }
    case 'array':
      return fc.array(fitting(schema.items ?? {}, ids, name), {
        minLength: minItems,
        maxLength: Math.min(maxItems, Math.max(minItems, 3)),
      });
    case 'object':
      return schema.properties
        ? record(schema, ids)
        : fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });
    default:
      return fc.jsonValue({ maxDepth: 1 });
  }
}

function record({ properties = {}, required = [] }: Json, ids: Ids): fc.Arbitrary<object> {
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, field]) => [name, fitting(field, ids, name)]),
  );
  return fc.record(fields, { requiredKeys: required.filter(name => name in fields) });
}

/** Values that nobody means to send. */
const junk: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    '',
    -1,
    0.5,
    2 ** 53,
    1e308,
    true,
    [],
    {},
    [[[[]]]],
    '\0',
    '\ud800',
    '__proto__',
    'NaN',
    `' or 1=1 --`,
  ),
  fc.string({ unit: 'binary', maxLength: 50 }),
  fc.constant('x'.repeat(20_000)),
  fc.jsonValue({ maxDepth: 3 }),
);

/** The same input with one thing wrong, or too much. */
export const spoilt = (input: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.tuple(input, junk, fc.nat(), fc.constantFrom('replace', 'drop', 'add', 'whole')).map(([value, bad, at, how]) => {
    if (how === 'whole' || typeof value !== 'object' || value === null) return bad;
    const keys = Object.keys(value);
    const key = keys[at % Math.max(keys.length, 1)];
    if (how === 'add' || key === undefined)
      return { ...value, [['constructor', 'isDeleted', 'merchantId'][at % 3] as string]: bad };
    return how === 'drop' ? { ...value, [key]: undefined } : { ...value, [key]: bad };
  });

/** Additions to an input: more headers, and a body that is longer or has more members than was meant. */
export interface Distortion {
  headers: Record<string, string>;
  body(text: string): string;
}

const kib = 1_024;
const plainly: Distortion = { headers: {}, body: text => text };
/** JSON may have space around it: around the limits of bodies with and without a credential, and of a token's worth. */
const sizes = [1, 15, 16, 17, 64, 1_000, 1_025].map(size => size * kib);
/** Around the limits of a free-form object and of a whole body. */
const memberCounts = [1, 999, 1_001, 9_990, 10_001, 60_000];

const membersBefore = (count: number) => (text: string) => {
  if (!text.startsWith('{') || text === '{}' || text === '{') return text;
  return `{${Array.from({ length: count }, (_, at) => `"x${at}":0`).join()},${text.slice(1)}`;
};

/** Headers that clients and proxies send, or that an attacker would try; each is a header that HTTP permits. */
const oddHeaders: readonly Record<string, string>[] = [
  { 'x-forwarded-for': '192.0.2.7, 2001:db8::1, unknown' },
  { 'x-forwarded-host': 'evil.example', forwarded: 'for="[::1]:80";host=evil.example' },
  { 'x-http-method-override': 'DELETE', 'x-original-url': '/metrics' },
  { traceparent: '00-00000000000000000000000000000000-0000000000000000-zz', tracestate: 'x'.repeat(600) },
  { 'user-agent': 'x'.repeat(8_000) },
  { 'content-encoding': 'gzip', 'accept-encoding': 'br;q=nan' },
  { accept: 'text/html', cookie: '__proto__=1; constructor=2', origin: 'null' },
  { 'x-request-id': '../../req_1', 'x-merchant-id': '1', 'x-caller': '{"merchantId":1}' },
  { 'nats-msg-id': '1', 'recur-caller': '{}' },
  Object.fromEntries(Array.from({ length: 90 }, (_, at) => [`x-${at}`, 'x'.repeat(100)])),
];

/** Most requests are plain, so that most are still about what their input says. */
export const distortions: fc.Arbitrary<Distortion> = fc.oneof(
  { arbitrary: fc.constant(plainly), weight: 60 },
  { arbitrary: fc.constantFrom(...oddHeaders).map(headers => ({ ...plainly, headers })), weight: 6 },
  {
    arbitrary: fc.constantFrom(...sizes).map(size => ({ ...plainly, body: (text: string) => text.padEnd(size) })),
    weight: 1,
  },
  { arbitrary: fc.constantFrom(...memberCounts).map(count => ({ ...plainly, body: membersBefore(count) })), weight: 1 },
);

/** A limit of the plan, which has more fields than the metric that it is asked about. */
const limited = ({ metric }: Ids, field: string) =>
  field === 'metricId' ? { metricLimits: [{ metricId: metric[0], metricLimit: 1 }] } : {};

/** The two fields of which one names the object: by recur's id, or by the caller's own. */
const alternatives = [
  ['planId', 'externalPlanId'],
  ['userId', 'externalUserId'],
] as const;

/** Fields that the smallest input lacks because of a rule that looks at several fields, where `field` is what is asked about. */
const needed: Readonly<Record<string, (ids: Ids, field: string) => object>> = {
  'clock.advance': () => ({ seconds: 1 }),
  'invoice.new': () => ({ lines: [{ unitAmountExcludingTax: 500 }] }),
  'auth.provider_new': () => ({ issuer: randomUUID(), audience: 'portal', secret: 'x'.repeat(32) }),
  'credit.credit_transaction_list': () => ({ accountType: creditAccountType.promo }),
  'credit.new_credit_recharge': ({ user }, field) =>
    field === 'creditAccountId' ? {} : { userId: user[0], currency: 'EUR' },
  'currency.rate': () => ({ fromCurrency: 'EUR', toCurrency: 'JPY' }),
  'discount.new': () => ({
    code: randomUUID(),
    billingType: 1,
    discountType: 1,
    discountPercentage: 1_000,
    startTime: 1,
    endTime: 0,
  }),
  'discount.batch_template_new': () => ({
    codePrefix: randomUUID().slice(0, 18),
    quantity: 5,
    billingType: 1,
    discountType: 1,
    discountPercentage: 1_000,
    startTime: 1,
    endTime: 0,
  }),
  'discount.batch_children_generate': ({ template }) => ({ templateId: template[0], quantity: 1 }),
  'gateway.edit_sort': ({ gateway }) => ({ gatewaySorts: [{ gatewayId: gateway[0], sort: 1 }] }),
  'vat.setup_gateway': () => ({ data: '' }),
  'refund.new': () => ({ currency: 'EUR', externalRefundId: randomUUID() }),
  'plan.new': (ids, field) => ({ intervalUnit: 'month', intervalCount: 1, ...limited(ids, field) }),
  'plan.edit': limited,
  // the price of the world's plan
  'plan.active_price_change_confirm': () => ({ confirmOldAmount: 4900, newAmount: 5000 }),
  // here they are filters, and the caller need not choose
  'user.list': () => ({}),
  'payment.new': ({ user, gateway }, field) => ({
    ...(field !== 'gatewayId' && { gatewayId: gateway[0] }),
    ...(field !== 'externalUserId' && field !== 'invoiceId' && { userId: user[0] }),
    ...(field !== 'planId' && field !== 'invoiceId' && { currency: 'EUR', totalAmount: 500 }),
  }),
};

/** The smallest input that an operation takes, out of one merchant's objects. */
export function smallestOf(operation: Operation, ids: Ids, field = ''): object {
  const schema = schemaOf(operation);
  const needs = needed[operation.name];
  const open = needs ? [] : alternatives.filter(names => names.every(name => schema.properties?.[name]));
  const idOf = (name: string) => ids[kindOf(name, schema.properties?.[name] ?? {}) as Kind][0];
  const chosen = open.map(([name, other]) => (other === field ? {} : { [name]: idOf(name) }));
  return Object.assign({}, ...chosen, smallest(schema, ids), needs?.(ids, field));
}

function smallest(schema: Json, ids: Ids, name = ''): unknown {
  const kind = kindOf(name, schema);
  if (kind && !isList(schema)) return ids[kind][0];
  const rule = byRule[schema['x-rule'] ?? ''];
  if (rule) return fc.sample(rule, { numRuns: 1, seed: 1 })[0];
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return smallest(schema.anyOf[0] ?? {}, ids, name);
  switch (schema.type) {
    case 'integer':
      return Math.max(schema.minimum ?? 1, 1);
    case 'boolean':
      return false;
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, () => smallest(schema.items ?? {}, ids, name));
    case 'object': {
      const required = (schema.required ?? []).map(field => [
        field,
        smallest(schema.properties?.[field] ?? {}, ids, field),
      ]);
      return Object.fromEntries(required);
    }
    default:
      return 'x'.repeat(Math.max(schema.minLength ?? 0, 1));
  }
}

/** The input with `value` at the path; lists and objects on the way are made where there are none. */
export function withAt(input: unknown, [first, ...rest]: readonly string[], value: unknown): unknown {
  if (first === undefined) return value;
  if (first === '[]') {
    const [head, ...others] = Array.isArray(input) ? input : [];
    return [withAt(head, rest, value), ...others];
  }
  const before = (input ?? {}) as Record<string, unknown>;
  return { ...before, [first]: withAt(before[first], rest, value) };
}

/** As a query says it: lists as repeated keys, a text as a key; what has no form in a query is left out. */
export function queryOf(input: unknown): string {
  const query = new URLSearchParams();
  const entries = typeof input === 'string' ? [[input, ''] as const] : Object.entries(input ?? {});
  for (const [name, value] of entries) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (['string', 'number', 'boolean'].includes(typeof each)) query.append(name, String(each));
    }
  }
  return query.toString();
}
