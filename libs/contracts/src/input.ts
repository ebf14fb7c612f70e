import { z } from 'zod';
import type { CodeTable } from './codes.js';
import { currencies } from './currencies.js';
import { meanings } from './field.js';

// The words in which inputs are written. Where one is stricter than the wire's type, deviations.ts says why.

export const limits = {
  line: 2_000,
  externalId: 255,
  indexedName: 500,
  prose: 10_000,
  entries: 1_000,
  objectDepth: 32,
  email: 320,
  pageSize: 100,
} as const;
/** No |unit amount| may pass this. What comes of it and a quantity may still be too large: billing checks that. */
export const largestAmount = 1_000_000_000_000;

/** Adds a rule that JSON Schema cannot say. The sentence completes "<field> …", and stands in the docs as `x-rule`. */
export function rule<S extends z.ZodType>(
  schema: S,
  sentence: string,
  holds: (value: z.output<S>) => boolean,
  path: string[] = [],
): S {
  return schema.refine(holds, { error: sentence, path }).meta({ 'x-rule': sentence });
}

/** What PostgreSQL can store as text and as JSON: no NUL, no half of a surrogate pair. */
const storable = (value: string) => /^[^\0\p{Cs}]*$/u.test(value);
const string = (most: number) =>
  z.string().max(most).refine(storable, { error: 'must be valid Unicode text without the NUL character' });

/** A short text, such as a name; may be blank. */
export const line = string(limits.line);
/** The caller's own id of an object; short enough for an index. */
export const externalId = string(limits.externalId);
/** The name of something that lists find by the beginning of its name; short enough for an index. */
export const indexedName = string(limits.indexedName);
/** A text that people write: a description, a reason. */
export const prose = string(limits.prose);
/** A short text that may not be blank. */
export const filled = rule(string(limits.line), 'may not be blank', value => value.trim() !== '');
/** The same, short enough for an index. */
export const filledKey = rule(externalId, 'may not be blank', value => value.trim() !== '');
export const email = rule(string(limits.email), 'must be an e-mail address', value =>
  /^[^\s@]+@[^\s@]+$/.test(value),
).meta({ examples: ['ada@example.com'] });
/** A password to set, in characters. */
export const newPassword = string(128).min(8);

/** Not by `URL.canParse`: once that is compiled, Node 20 misreads texts whose letters all are of Latin-1. */
function isHttpUrl(value: string): boolean {
  try {
    return /^https?:\/\//i.test(value) && new URL(value).host !== '';
  } catch {
    return false;
  }
}
/** A URL to call or to show. */
export const httpUrl = rule(string(limits.line), 'must be an http or https URL', isHttpUrl).meta({
  examples: ['https://example.com/hook'],
});
/** A URL to return to; blank means none. */
export const optionalUrl = rule(
  string(limits.line),
  'must be an http or https URL, or blank',
  value => value === '' || isHttpUrl(value),
);

/** An ISO 4217 code; upper-cased. */
export const Currency = rule(
  z.string().toUpperCase(),
  'must be the code of an active ISO 4217 currency, such as USD',
  value => currencies.has(value),
).meta({ examples: ['USD'] });

/** The same; blank means none is given. */
export const optionalCurrency = rule(
  z.string().toUpperCase(),
  'must be the code of an active ISO 4217 currency, such as USD, or blank',
  value => value === '' || currencies.has(value),
)
  .meta({ examples: ['USD'] })
  .default('');

export const integer = z.int();
/** An amount of one unit, in the currency's minor unit; may be negative. */
export const unitAmount = z.int().min(-largestAmount).max(largestAmount);
/** A price: not negative. */
export const price = z.int().min(0).max(largestAmount);
/** How much of one currency a major unit of another is; 0 where none is given. */
export const rate = rule(
  z.number().min(0).max(1_000_000_000),
  'must be a decimal of at most 12 fractional digits',
  value => fractionalDigits(value) <= 12,
);
/** 10000 is 100 %. */
export const percent = z.int().min(0).max(10_000);
/** A duration. */
export const seconds = z.int().min(0).max(10_000_000_000);
export const flag = z.boolean();
export const yesNo = z.int().min(0).max(1);

/** One of a table's codes. */
export function code(table: CodeTable) {
  const schema = z.int().refine(value => Object.values(table).includes(value), {
    error: `must be one of ${meanings(table)}`,
  });
  return schema.meta({ enum: Object.values(table), description: meanings(table) });
}

/** Of the shortest decimal that the number is: 0.25 has 2, 1e-7 has 7. */
function fractionalDigits(value: number): number {
  const [, fraction = '', exponent = '0'] = /^\d+(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? [];
  return fraction.length - Number(exponent);
}

/** A JSON object of the caller's own. */
export const anyObject = rule(
  z.record(z.string(), z.unknown()),
  `must be an object of valid Unicode text without NUL, nested at most ${limits.objectDepth} deep`,
  value => isStorableJson(value, limits.objectDepth),
);

function isStorableJson(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return storable(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth === 0) return false;
  // the places of a long list are no keys to be looked at
  if (Array.isArray(value)) return value.every(member => isStorableJson(member, depth - 1));
  return Object.entries(value).every(([key, member]) => storable(key) && isStorableJson(member, depth - 1));
}

/** The same under the name metadata: also as its JSON text, "" for none. */
export const metadata = z.preprocess(value => {
  if (typeof value !== 'string') return value;
  return value === '' ? {} : (jsonIn(value) ?? value);
}, anyObject);

/** The value of a JSON text; undefined where it is not one. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const list = <S extends z.ZodType>(entry: S, most: number = limits.entries) => z.array(entry).max(most);

/** The same, in which no two entries have the same `field`. */
export const distinct = <S extends z.ZodType, F extends keyof z.output<S> & string>(entry: S, field: F) =>
  rule(list(entry), `must name each ${field} once`, entries => {
    const values = entries.map(one => one[field]);
    return new Set(values).size === values.length;
  });

/** An integer that may also come as a query's text. */
const asInteger = (value: unknown) => (typeof value === 'string' && /^-?\d{1,30}$/.test(value) ? Number(value) : value);
const words: Record<string, boolean> = { true: true, false: false, '1': true, '0': false };
const asFlag = (value: unknown) => (typeof value === 'string' ? (words[value] ?? value) : value);
const asList = (value: unknown) => {
  if (value === '') return [];
  const parts = typeof value === 'string' ? [value] : value;
  return Array.isArray(parts) ? parts.flatMap(part => (typeof part === 'string' ? part.split(',') : [part])) : value;
};

/**
 * Fields of an operation that is (also) a GET. A query holds only text: integers in decimal, booleans true, false, 1
 * or 0, lists as repeated keys or commas. The real JSON types of a body are accepted too, and are what the docs show.
 */
export const q = {
  int: (inner: z.ZodInt = integer) => z.preprocess(asInteger, inner),
  bool: () => z.preprocess(asFlag, flag),
  ints: () => z.preprocess(asList, list(z.preprocess(asInteger, integer))),
  strings: () => z.preprocess(asList, list(line)),
};

/** The fields of a list's page: `page` from 0, `count` entries each. See `paged`. */
export const paging = {
  page: q.int(z.int().min(0)).default(0),
  count: q.int(z.int().min(1).max(limits.pageSize)).default(20),
};
/** How a list is sorted: by one of `fields`, the first unless asked otherwise, and largest first unless `asc`. */
export const sorting = <const F extends string>(...fields: readonly [F, ...F[]]) => ({
  sortField: z.enum(['', ...fields]).optional(),
  sortType: z.enum(['', 'asc', 'desc']).optional(),
});

/** How many entries of a list fit its filters. */
export const total = z.int().describe(`Counted up to 10000: no page shows more`);

/** Bounds of a list on when its entries were created, in unix seconds, both included. */
export const createdWithin = { createTimeStart: q.int().optional(), createTimeEnd: q.int().optional() };

const deepestEntry = 10_000;
const tooDeep = `must end within the first ${deepestEntry} entries ((page + 1) × count): narrow the time range`;

/** The input of an operation that answers a page of a list; it has the fields of `paging`. */
export const paged = <S extends z.ZodType<{ page: number; count: number }>>(schema: S) =>
  rule(schema, tooDeep, ({ page, count }) => (page + 1) * count <= deepestEntry, ['page']);
