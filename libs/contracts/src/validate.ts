import { z } from 'zod';

/** A problem with an input: a JSON pointer into it ('' for the whole) and a sentence for people. */
export interface Issue {
  path: string;
  message: string;
}

export type Validated<T> = { ok: true; value: T } | { ok: false; issues: Issue[] };

/** Bounds the answer: a hostile body could cause millions. */
const mostIssues = 500;
/** Bounds the fields that are named as unknown. */
const mostIgnored = 20;
/** Up to so many issues an input is parsed again for messages of ours; beyond, the first parse has to do. */
const mostExplained = 100;

/**
 * Checks an input, read as `spelled` describes, against its schema. Answers the parsed value or every issue. Messages
 * do not repeat the input, except for an unknown word where a schema's own message quotes it.
 */
export function validate<S extends z.ZodType>(schema: S, sent: unknown): Validated<z.output<S>> {
  const input = spelled(schema, sent);
  const result = schema.safeParse(input);
  if (result.success) return { ok: true, value: result.data };
  const found = explained(schema, input, result.error.issues);
  // a list in place of a text also fails the length check: report the type only
  const mistyped = new Set(found.filter(({ code }) => code === 'invalid_type').map(({ path }) => pointer(path)));
  const telling = found.filter(({ code, path }) => code === 'invalid_type' || !mistyped.has(pointer(path)));
  const issues = telling.flatMap(issue => leaves(issue, []));
  return { ok: false, issues: issues.slice(0, mostIssues) };
}

/**
 * The issues with messages of ours. An input is parsed again for them only on failure, since the message callback slows
 * the happy path, and only while there are few: a hostile body would cost the same time twice.
 */
function explained(schema: z.ZodType, input: unknown, issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue[] {
  if (issues.length <= mostExplained) return schema.safeParse(input, { error: predicate }).error?.issues ?? [];
  return issues.slice(0, mostIssues).map(issue => {
    if (issue.code === 'custom') return issue;
    return { ...issue, message: predicate({ ...issue, input: valueAt(input, issue.path) } as z.core.$ZodRawIssue) };
  });
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const key of path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[key];
  return value;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The fields of an input that its schema does not know: those that are not part of `value`, to which it was parsed. The first
 * 20, as issues. What is within an unknown field, or within a free-form object, is not named.
 */
export function ignoredFields(sent: unknown, value: unknown): Issue[] {
  const found: Issue[] = [];
  const look = (given: unknown, kept: unknown, path: readonly PropertyKey[]): void => {
    if (found.length >= mostIgnored) return;
    if (Array.isArray(given) && Array.isArray(kept)) {
      for (const [at, entry] of given.entries()) look(entry, kept[at], [...path, at]);
    } else if (isObject(given) && isObject(kept)) {
      for (const name of Object.keys(given)) {
        if (found.length >= mostIgnored) return;
        const member = given[name];
        // null is absent, whatever its name
        if (member === null) continue;
        const at = [...path, name];
        const field = spelledIn(kept, name);
        // a field's own spelling takes precedence
        if (field !== undefined && (field === name || !Object.hasOwn(given, field))) look(member, kept[field], at);
        else {
          found.push({ path: pointer(at), message: `${subject(at)} is not a field of this operation` });
        }
      }
    }
  };
  look(sent, value, []);
  return found;
}

/** The name of a field of an object as the object spells it; undefined if it has none that is equal but for case. */
function spelledIn(kept: Record<string, unknown>, name: string): string | undefined {
  if (Object.hasOwn(kept, name)) return name;
  const lower = name.toLowerCase();
  return Object.keys(kept).find(field => field.toLowerCase() === lower);
}

/** Issues of a union that no branch accepts: those of the branch with the right type. */
function leaves(issue: z.core.$ZodIssue, above: PropertyKey[]): Issue[] {
  const path = [...above, ...issue.path];
  const branches = issue.code === 'invalid_union' ? issue.errors : [];
  const meant = branches.find(branch => !branch.some(({ code, path }) => code === 'invalid_type' && path.length === 0));
  if (meant !== undefined) return meant.flatMap(inner => leaves(inner, path));
  return [{ path: pointer(path), message: `${subject(path)} ${issue.message}` }];
}

const pointer = (path: readonly PropertyKey[]): string =>
  path.map(key => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** The subject of a message: `lines[0].quantity`, or "The input" for the whole. */
const subject = (path: readonly PropertyKey[]): string =>
  path.map((key, at) => (typeof key === 'number' ? `[${key}]` : `${at > 0 ? '.' : ''}${String(key)}`)).join('') ||
  'The input';

const kinds: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

/** Completes the sentence "<field> …"; a schema's own message takes precedence. */
function predicate(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      if (issue.inst instanceof z.ZodNumberFormat) return 'must be an integer';
      return `must be ${kinds[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return `must ${bound(issue.origin, 'at least', issue.minimum)}`;
    case 'too_big':
      return `must ${bound(issue.origin, 'at most', issue.maximum)}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(value => JSON.stringify(value)).join(', ')}`;
    case 'invalid_union':
      return 'has the wrong type';
    default:
      return 'is not valid';
  }
}

const bound = (origin: string, side: string, limit: number | bigint) => {
  if (origin === 'string') return `have ${side} ${limit} characters`;
  return origin === 'array' ? `have ${side} ${limit} entries` : `be ${side} ${limit}`;
};

type Speller = (value: unknown) => unknown;
const unchanged: Speller = value => value;
const spellers = new WeakMap<z.core.$ZodType, Speller>();

/**
 * An input with the spelling of its schema, for clients compiled from other languages. A field that is null is left out,
 * unless null is a value of it. A key that is no field is renamed to the field that it equals but for case; a field's own
 * spelling takes precedence. Within free-form objects nothing changes. Returns the same value if nothing has to change.
 */
export function spelled(schema: z.core.$ZodType, value: unknown): unknown {
  return spellerOf(schema)(value);
}

function spellerOf(schema: z.core.$ZodType): Speller {
  const known = spellers.get(schema);
  if (known !== undefined) return known;
  const speller = newSpeller(schema);
  spellers.set(schema, speller);
  return speller;
}

function newSpeller(schema: z.core.$ZodType): Speller {
  if (schema instanceof z.ZodObject) return objectSpeller(schema);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable) {
    return spellerOf(schema.unwrap());
  }
  if (schema instanceof z.ZodPipe) return spellerOf(schema.in instanceof z.ZodTransform ? schema.out : schema.in);
  if (schema instanceof z.ZodArray) return arraySpeller(spellerOf(schema.element));
  if (schema instanceof z.ZodUnion) {
    const branches = schema.options.map(spellerOf).filter(branch => branch !== unchanged);
    return branches.length === 0 ? unchanged : value => branches.reduce((spelt, branch) => branch(spelt), value);
  }
  return unchanged;
}

function arraySpeller(entry: Speller): Speller {
  if (entry === unchanged) return unchanged;
  return value => {
    if (!Array.isArray(value)) return value;
    return value.every(member => entry(member) === member) ? value : value.map(entry);
  };
}

/** True if null is a value of the field and so must not be dropped. */
function takesNull(field: z.core.$ZodType): boolean {
  if (field instanceof z.ZodOptional || field instanceof z.ZodDefault) return takesNull(field.unwrap());
  return field instanceof z.ZodNullable || field instanceof z.ZodUnknown;
}

function objectSpeller({ shape }: z.ZodObject): Speller {
  const fields = new Map(Object.entries(shape).map(([name, field]) => [name, spellerOf(field)]));
  const names = new Map([...fields.keys()].map(name => [name.toLowerCase(), name]));
  const lengths = new Set([...fields.keys()].map(({ length }) => length));
  const nullable = new Set(Object.keys(shape).filter(name => takesNull(shape[name] as z.core.$ZodType)));
  const isSpelt = (object: Record<string, unknown>) => {
    for (const key of Object.keys(object)) {
      const field = fields.get(key);
      const member = object[key];
      if (field === undefined && lengths.has(key.length) && names.has(key.toLowerCase())) return false;
      if (field !== undefined && (field(member) !== member || (member === null && !nullable.has(key)))) return false;
    }
    return true;
  };
  return value => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    if (isSpelt(value as Record<string, unknown>)) return value;
    const named = Object.entries(value).flatMap(([key, member]) => {
      const name = fields.has(key) ? key : names.get(key.toLowerCase());
      const isGiven = name !== undefined && (member !== null || nullable.has(name));
      return isGiven ? [{ name, isExact: name === key, member: fields.get(name)?.(member) }] : [];
    });
    // the exact spelling comes last and so takes precedence
    const ordered = named.sort((one, other) => Number(one.isExact) - Number(other.isExact));
    return Object.fromEntries(ordered.map(({ name, member }) => [name, member]));
  };
}

/** Bounds of a JSON text: how deeply it is nested, and the members of all its objects and lists together. */
export interface JsonBounds {
  depth: number;
  members: number;
}

const [quote, backslash, openList, closeList, openObject, closeObject, comma] = [...'"\\[]{},'].map(c =>
  c.charCodeAt(0),
);

/**
 * Counts the members of a JSON text, or of its UTF-8, without parsing it: a list or object counts as one at least, each
 * comma as another. Answers the name of the bound that it exceeds, and looks no further there. What is no JSON is counted
 * as far as it looks like it.
 */
export function membersIn(json: string | Uint8Array, bounds: JsonBounds): number | keyof JsonBounds {
  const codeAt = typeof json === 'string' ? (at: number) => json.charCodeAt(at) : (at: number) => json[at];
  let depth = 0;
  let members = 0;
  let inText = false;
  for (let at = 0; at < json.length; at++) {
    const code = codeAt(at);
    if (inText) {
      if (code === backslash) at++;
      else if (code === quote) inText = false;
    } else if (code === quote) {
      inText = true;
    } else if (code === openObject || code === openList) {
      if (++depth > bounds.depth) return 'depth';
      if (++members > bounds.members) return 'members';
    } else if (code === closeObject || code === closeList) {
      depth--;
    } else if (code === comma && ++members > bounds.members) {
      return 'members';
    }
  }
  return members;
}
