import { deviations, type Operation, webhookEventNames } from '@recur/contracts';
import { z } from 'zod';

/** Parts of a JSON Schema that are read; `x-rule` is a rule it cannot express, `x-of` the field of that rule. */
export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string;
  description?: string;
  default?: unknown;
  enum?: readonly unknown[];
  properties?: Record<string, Schema>;
  required?: readonly string[];
  items?: Schema;
  anyOf?: readonly Schema[];
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  'x-rule'?: string;
  'x-of'?: string;
}

/** The JSON Schema of a contract's shape, with the field that each rule is about. */
export function schemaOf(shape: z.ZodType, io: 'input' | 'output'): Schema {
  return z.toJSONSchema(shape, {
    io,
    override: ({ zodSchema, jsonSchema }) => {
      const checks: readonly { _zod: { def: object } }[] = zodSchema._zod.def.checks ?? [];
      const paths = checks.flatMap(({ _zod: { def } }) => ('path' in def && Array.isArray(def.path) ? [def.path] : []));
      const [field] = paths.flat();
      if (jsonSchema['x-rule'] !== undefined && typeof field === 'string') jsonSchema['x-of'] = field;
    },
  }) as Schema;
}

/** The rows of an operation's input: every field that may be sent, those within objects and lists included. */
export function inputTable(operation: Operation): string {
  const schema = schemaOf(operation.input, 'input');
  const rows = rowsOf(schema, '', operation.name);
  if (rows.length === 0) return 'No fields.';
  const whole =
    schema['x-rule'] !== undefined && schema['x-of'] === undefined ? `\n\nThe input ${schema['x-rule']}.` : '';
  return `${table(['field', 'type', 'required', 'rules'], rows)}${whole}`;
}

/** The rows of a shape of answers, in which every field is always present. */
export function shapeTable(schema: Schema): string {
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) => [
    `\`${name}\``,
    typeOf(field),
    field.description ?? '',
  ]);
  return table(['field', 'type', 'meaning'], rows);
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The name of the shape that a reference leads to. */
export const nameIn = (reference: string) => reference.replace(/^.*\//, '');

export function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return `[${nameIn(schema.$ref)}](#${nameIn(schema.$ref).toLowerCase()}-shape)`;
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(' or ');
  if (schema.type === 'array') {
    const entry = typeOf(schema.items ?? {});
    return `list of ${entry.includes(' or ') ? `(${entry})` : entry}`;
  }
  if (schema.type === 'string' && schema.enum) {
    const isEvent = schema.enum.includes(webhookEventNames[0]);
    return isEvent ? '[event name](#event-names)' : schema.enum.map(word => `"${word}"`).join(' or ');
  }
  return { string: 'text', boolean: 'true or false' }[schema.type ?? ''] ?? schema.type ?? 'anything';
}

function rowsOf(schema: Schema, prefix: string, operation: string): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const required = schema.required?.includes(name) ? 'yes' : fallback(field);
    const own = schema['x-of'] === name ? [schema['x-rule'] ?? ''] : [];
    const row = [`\`${path}\``, typeOf(field), required, [...rulesOf(field, path, operation), ...own].join('; ')];
    return [row, ...inner(field).flatMap(([mark, object]) => rowsOf(object, `${path}${mark}.`, operation))];
  });
}

/** The objects within a field whose own fields are shown. */
function inner(field: Schema): [string, Schema][] {
  if (field.items) return inner(field.items).map(([mark, object]) => [`[]${mark}`, object]);
  if (field.anyOf) return field.anyOf.flatMap(inner);
  return field.properties ? [['', field]] : [];
}

const fallback = (field: Schema) => (field.default === undefined ? '' : `default \`${JSON.stringify(field.default)}\``);

function rulesOf(field: Schema, path: string, operation: string): string[] {
  const branches = field.anyOf ?? [];
  const why = deviations.find(one => one.field === path && one.operations.includes(operation) && branches.length > 0);
  const rules = [
    field.description ?? '',
    bounds(field.minimum, field.maximum),
    bounds(field.minLength, field.maxLength, ' characters'),
    bounds(field.minItems, field.maxItems, ' entries'),
    field['x-of'] === undefined ? (field['x-rule'] ?? '') : '',
    why?.why ?? '',
  ];
  return rules.filter(rule => rule !== '');
}

/** `1..500 entries`, `at least 0`; what only says that a number is exact is left out. */
export function bounds(least: number | undefined, most: number | undefined, unit = ''): string {
  const lower = least === undefined || least <= Number.MIN_SAFE_INTEGER ? undefined : least;
  const upper = most === undefined || most >= Number.MAX_SAFE_INTEGER ? undefined : most;
  if (lower !== undefined && upper !== undefined) return `${lower}..${upper}${unit}`;
  if (lower !== undefined) return `at least ${lower}${unit}`;
  return upper === undefined ? '' : `at most ${upper}${unit}`;
}
