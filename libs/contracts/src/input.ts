import { z } from 'zod';
import { currencies } from './catalog/currencies.js';
import type { CodeTable } from './codes.js';
import { meanings } from './field.js';
import { membersIn } from './validate.js';

// Building blocks of inputs. `x-openapi` holds keywords of JSON Schema for rules that are checked in code; the OpenAPI
// document has them in its place. `x-shape` names a nested schema, which the document then has once, as a component; unlike
// zod's `id` it leaves the schema inline in the JSON Schema of an input. deviations.ts gives the reason wherever an input
// is stricter than the wire's type.

export const limits = {
  line: 2_000,
  externalId: 255,
  indexedName: 500,
  prose: 10_000,
  entries: 1_000,
  objectDepth: 32,
  email: 320,
  pageSize: 1_000,
  /** Members of a free-form object, and of each object in it. */
  objectMembers: 200,
  /** Members and entries of a free-form object, at all depths together. */
  objectTotal: 1_000,
} as const;
/** Largest |unit amount|. Its product with a quantity may still be too large, which billing checks. */
export const largestAmount = 1_000_000_000_000;

/** Adds a rule that JSON Schema cannot express. The sentence completes "<field> …" and is the docs' `x-rule`. */
export function rule<S extends z.ZodType>(
  schema: S,
  sentence: string,
  holds: (value: z.output<S>) => boolean,
  path: string[] = [],
): S {
  return schema.refine(holds, { error: sentence, path }).meta({ 'x-rule': sentence });
}

/** True if PostgreSQL can store a text as text and in JSON: no NUL, no lone surrogate. */
const storable = (value: string) => /^[^\0\p{Cs}]*$/u.test(value);
/** In OpenAPI: no NUL. */
const storablePattern = '^[^\\u0000]*$';
const string = (most: number) =>
  z
    .string()
    .max(most)
    .refine(storable, { error: 'must be valid Unicode text without the NUL character' })
    .meta({ 'x-openapi': { pattern: storablePattern } });
/** In OpenAPI: a storable text that is not blank. */
const notBlank = { 'x-openapi': { pattern: `^(?=[^\\u0000]*$)[\\s\\S]*\\S` } };
const urlPattern = '[hH][tT][tT][pP][sS]?://[^\\u0000]+$';

/** A short text, such as a name; may be blank. */
export const line = string(limits.line);
/** The caller's own id of an object; short enough to be indexed. */
export const externalId = string(limits.externalId);
/** A name that lists search by prefix; short enough to be indexed. */
export const indexedName = string(limits.indexedName);
/** A long text, such as a description or a reason. */
export const prose = string(limits.prose);
/** A short text that is not blank. */
export const filled = rule(string(limits.line), 'may not be blank', value => value.trim() !== '').meta(notBlank);
/** A text that is not blank and short enough to be indexed. */
export const filledKey = rule(externalId, 'may not be blank', value => value.trim() !== '').meta(notBlank);
/** A single mailbox, without anything that a header would read as several, as a group or as a name: `ada@example.com`. */
const mailbox = '[^\\s@,;:<>()\\[\\]"\\\\\\u0000-\\u001f\\u007f-\\u009f]+';
const mailboxPattern = `^${mailbox}@${mailbox}$`;
const isMailbox = new RegExp(mailboxPattern);
export const email = rule(string(limits.email), 'must be an e-mail address', value => isMailbox.test(value)).meta({
  examples: ['ada@example.com'],
  'x-openapi': { pattern: mailboxPattern },
});
/** A password to set; lengths are in characters. */
export const newPassword = string(128).min(8);

/** Avoids `URL.canParse`: once optimized, Node 20 misreads one-byte (Latin-1) strings in it. */
function isHttpUrl(value: string): boolean {
  try {
    return /^https?:\/\//i.test(value) && new URL(value).host !== '';
  } catch {
    return false;
  }
}
/** An http(s) URL. */
export const httpUrl = rule(string(limits.line), 'must be an http or https URL', isHttpUrl).meta({
  examples: ['https://example.com/hook'],
  'x-openapi': { format: 'uri', pattern: `^${urlPattern}` },
});
/** An http(s) URL to return to; blank means none. */
export const optionalUrl = rule(
  string(limits.line),
  'must be an http or https URL, or blank',
  value => value === '' || isHttpUrl(value),
).meta({ 'x-openapi': { pattern: `^$|^${urlPattern}` } });

/** A page that recur leads back to; in production it must be https. Blank means none. */
export const returnUrl = optionalUrl.meta({ 'x-production': 'https only in production' });

/** The names of an input's fields that are a `returnUrl`. */
export function returnFields(input: z.ZodType): string[] {
  if (!(input instanceof z.ZodObject)) return [];
  return Object.keys(input.shape).filter(name => isReturnUrl(input.shape[name]));
}

function isReturnUrl(schema: z.core.$ZodType | undefined): boolean {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return isReturnUrl(schema.unwrap());
  return schema === returnUrl;
}

/** An ISO 4217 code, upper-cased. */
export const Currency = rule(
  z.string().toUpperCase(),
  'must be the code of an active ISO 4217 currency, such as USD',
  value => currencies.has(value),
).meta({ examples: ['USD'], 'x-openapi': { $ref: '#/components/schemas/CurrencyCode' } });

/** An ISO 4217 code, upper-cased; blank means none. */
export const optionalCurrency = rule(
  z.string().toUpperCase(),
  'must be the code of an active ISO 4217 currency, such as USD, or blank',
  value => value === '' || currencies.has(value),
)
  .meta({
    examples: ['USD'],
    'x-openapi': { anyOf: [{ const: '' }, { $ref: '#/components/schemas/CurrencyCode' }] },
  })
  .default('');

export const integer = z.int();
/** The price of one unit in the currency's minor unit; may be negative. */
export const unitAmount = z.int().min(-largestAmount).max(largestAmount);
/** A price in the currency's minor unit, not negative. */
export const price = z.int().min(0).max(largestAmount);
/** An exchange rate, units of one currency per major unit of another; 0 means none. */
export const rate = rule(
  z.number().min(0).max(1_000_000_000),
  'must be a decimal with at most 12 fractional digits',
  value => fractionalDigits(value) <= 12,
);
/** A percentage in basis points: 10000 is 100 %. */
export const percent = z.int().min(0).max(10_000);
/** A duration in seconds. */
export const seconds = z.int().min(0).max(10_000_000_000);
export const flag = z.boolean();
export const yesNo = z.int().min(0).max(1);

/** An integer code of the table. */
export function code(table: CodeTable) {
  const schema = z.int().refine(value => Object.values(table).includes(value), {
    error: `must be one of ${meanings(table)}`,
  });
  return schema.meta({ enum: Object.values(table), description: meanings(table) });
}

/** Fractional digits of a number's shortest decimal form: 0.25 has 2, 1e-7 has 7. */
function fractionalDigits(value: number): number {
  const [, fraction = '', exponent = '0'] = /^\d+(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? [];
  return fraction.length - Number(exponent);
}

const objectRule =
  `must be an object of valid Unicode text without NUL, nested at most ${limits.objectDepth} deep, ` +
  `with at most ${limits.objectMembers} members, ${limits.objectTotal} at all depths`;
/** A record whose members were counted: zod's own check of a record takes a microsecond for each. */
const countedObject = rule(z.record(z.string(), z.unknown()), objectRule, value =>
  isStorableJson(value, limits.objectDepth, { left: limits.objectTotal }),
);

/** A free-form JSON object. */
export const anyObject = z.preprocess(counted, countedObject);

function counted(value: unknown, ctx: z.RefinementCtx): unknown {
  const isCounted = typeof value !== 'object' || value === null || Object.keys(value).length <= limits.objectMembers;
  return isCounted ? value : refuseObject(ctx);
}

function refuseObject(ctx: z.RefinementCtx) {
  ctx.addIssue({ code: 'custom', message: objectRule });
  return z.NEVER;
}

/** `members` counts down over the whole value. */
function isStorableJson(value: unknown, depth: number, members: { left: number }): boolean {
  if (typeof value === 'string') return storable(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth === 0) return false;
  // not Object.entries: the indexes of a long list need no check
  if (Array.isArray(value)) {
    members.left -= value.length;
    return members.left >= 0 && value.every(member => isStorableJson(member, depth - 1, members));
  }
  const entries = Object.entries(value);
  members.left -= entries.length;
  if (entries.length > limits.objectMembers || members.left < 0) return false;
  return entries.every(([key, member]) => storable(key) && isStorableJson(member, depth - 1, members));
}

/** A free-form object named metadata, which clients also send as its JSON text, or "" for none. */
export const metadata = z.preprocess((value, ctx) => {
  if (value === '') return {};
  if (typeof value !== 'string') return counted(value, ctx);
  // counted before it is parsed, as a body is
  const members = membersIn(value, { depth: limits.objectDepth, members: limits.objectTotal });
  return typeof members === 'string' ? refuseObject(ctx) : counted(jsonIn(value) ?? value, ctx);
}, countedObject);

/** The value of a JSON text; undefined if it is invalid. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const list = <S extends z.ZodType>(entry: S, most: number = limits.entries) => z.array(entry).max(most);

/** A list in which no two entries have the same `field`. */
export const distinct = <S extends z.ZodType, F extends keyof z.output<S> & string>(entry: S, field: F) =>
  rule(list(entry), `must name each ${field} once`, entries => {
    const values = entries.map(one => one[field]);
    return new Set(values).size === values.length;
  });

/** Reads an integer from a query's text. */
const asInteger = (value: unknown) => (typeof value === 'string' && /^-?\d{1,30}$/.test(value) ? Number(value) : value);
const words: Record<string, boolean> = { true: true, false: false, '1': true, '0': false };
const asFlag = (value: unknown) => (typeof value === 'string' ? (words[value] ?? value) : value);
const asList = (value: unknown) => {
  if (value === '') return [];
  const parts = typeof value === 'string' ? [value] : value;
  return Array.isArray(parts) ? parts.flatMap(part => (typeof part === 'string' ? part.split(',') : [part])) : value;
};

/**
 * Fields of an operation with GET. A query holds only text: integers in decimal, booleans as true, false, 1 or 0, lists
 * as repeated keys or separated by commas. The JSON types of a body are accepted too; the docs show those.
 */
export const q = {
  int: (inner: z.ZodInt = integer) => z.preprocess(asInteger, inner),
  bool: () => z.preprocess(asFlag, flag),
  code: (table: CodeTable) => z.preprocess(asInteger, code(table)),
  ints: () => z.preprocess(asList, list(z.preprocess(asInteger, integer))),
  strings: () => z.preprocess(asList, list(line)),
};

/** Fields of a page of a list: `page` from 0, `count` entries each. See `paged`. */
export const paging = {
  page: q.int(z.int().min(0)).default(0),
  count: q.int(z.int().min(1).max(limits.pageSize)).default(20),
};
const sortType = z.enum(['', 'asc', 'desc']).meta({ 'x-shape': 'SortType' });
/** Names of sort fields that are not the field in snake case. */
const sortAliases: Record<string, string> = {
  gmt_create: 'createTime',
  gmtCreate: 'createTime',
  gmt_modify: 'modifyTime',
  gmtModify: 'modifyTime',
};
const asSortField = (value: unknown) =>
  typeof value === 'string'
    ? (sortAliases[value] ?? value.replace(/(?<=[a-z])_([a-z])/g, (_, letter: string) => letter.toUpperCase()))
    : value;

/**
 * Sorting of a list: by one of `fields` (default the first), descending unless `asc`. A field may be sent in snake case,
 * and the times as gmt_create and gmt_modify.
 */
export const sorting = <const F extends string>(...fields: readonly [F, ...F[]]) => ({
  sortField: z.preprocess(asSortField, z.enum(['', ...fields])).optional(),
  sortType: sortType.optional(),
});

/** The number of entries that match a list's filters. */
export const total = z.int().describe(`Number of matches, counted up to 10000, the end of the last page`);

/** Bounds on the creation time of a list's entries, in unix seconds, both inclusive. */
export const createdWithin = { createTimeStart: q.int().optional(), createTimeEnd: q.int().optional() };

const deepestEntry = 10_000;
const tooDeep = `must end within the first ${deepestEntry} entries ((page + 1) × count): narrow the time range`;

/** Limits how deep into a list a page may lie; the schema has the fields of `paging`. */
export const paged = <S extends z.ZodType<{ page: number; count: number }>>(schema: S) =>
  rule(schema, tooDeep, ({ page, count }) => (page + 1) * count <= deepestEntry, ['page']);
