import { z } from 'zod';

/** One thing that is wrong with an input: a JSON pointer into it ('' for the whole) and a sentence for a person. */
export interface Issue {
  path: string;
  message: string;
}

export type Validated<T> = { ok: true; value: T } | { ok: false; issues: Issue[] };

/** More than this is not read by anybody, and a hostile body could ask for millions. */
const mostIssues = 500;

/** Checks an input against its schema and answers the parsed value, or all that is wrong. Never repeats the input. */
export function validate<S extends z.ZodType>(schema: S, input: unknown): Validated<z.output<S>> {
  const result = schema.safeParse(input);
  if (result.success) return { ok: true, value: result.data };
  // once more for the sentences: with them in hand, zod takes longer for what is right
  const found = schema.safeParse(input, { error: predicate }).error?.issues ?? [];
  // of a list where a text belongs, the length would be told too
  const mistyped = new Set(found.filter(({ code }) => code === 'invalid_type').map(({ path }) => pointer(path)));
  const telling = found.filter(({ code, path }) => code === 'invalid_type' || !mistyped.has(pointer(path)));
  const issues = telling.flatMap(issue => leaves(issue, []));
  return { ok: false, issues: issues.slice(0, mostIssues) };
}

/** Of a union that no branch accepts, what is wrong with the branch that was meant: the one of the right type. */
function leaves(issue: z.core.$ZodIssue, above: PropertyKey[]): Issue[] {
  const path = [...above, ...issue.path];
  const branches = issue.code === 'invalid_union' ? issue.errors : [];
  const meant = branches.find(branch => !branch.some(({ code, path }) => code === 'invalid_type' && path.length === 0));
  if (meant !== undefined) return meant.flatMap(inner => leaves(inner, path));
  return [{ path: pointer(path), message: `${subject(path)} ${issue.message}` }];
}

const pointer = (path: PropertyKey[]) =>
  path.map(key => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** `lines[0].quantity`; the whole is "The input". */
const subject = (path: PropertyKey[]) =>
  path.map((key, at) => (typeof key === 'number' ? `[${key}]` : `${at > 0 ? '.' : ''}${String(key)}`)).join('') ||
  'The input';

const kinds: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

/** What completes the sentence "<field> …"; a schema's own message goes before it. */
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
      return 'is of a wrong type';
    default:
      return 'is not valid';
  }
}

const bound = (origin: string, side: string, limit: number | bigint) => {
  if (origin === 'string') return `have ${side} ${limit} characters`;
  return origin === 'array' ? `have ${side} ${limit} entries` : `be ${side} ${limit}`;
};
