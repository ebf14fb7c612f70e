import { z } from 'zod';

/**
 * The empty value of a shape: 0, '', false, [], {}, and null for an absent nested object. Views start from
 * it, so that no field is ever missing: `const empty = emptyOf(Invoice)`, then `{ ...empty, ...known }`.
 * Call it once, at module load. Nested values are frozen, since all answers share them; the value itself is not, and is
 * made by JSON.parse, because V8 copies such an object many times faster than a frozen or assembled one.
 * Throws for a schema without an empty value (an optional field, a pipe), which shapes of answers do not have.
 */
export function emptyOf<S extends z.ZodType>(shape: S): Readonly<z.output<S>> {
  const empty = emptyIfAny(shape);
  if (empty === undefined) throw new Error(`This ${shape._zod.def.type} has no empty value`);
  const value: unknown = JSON.parse(JSON.stringify(empty));
  if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) freeze(part);
  return value as Readonly<z.output<S>>;
}

/** The empty value of any schema, or undefined if it has none. */
export function emptyIfAny(shape: z.core.$ZodType): unknown {
  if (shape instanceof z.ZodNullable) return null;
  if (shape instanceof z.ZodString) return '';
  if (shape instanceof z.ZodNumber) return 0;
  if (shape instanceof z.ZodBoolean) return false;
  if (shape instanceof z.ZodArray) return [];
  if (shape instanceof z.ZodRecord) return {};
  if (!(shape instanceof z.ZodObject)) return undefined;
  const fields = Object.entries(shape.shape as Record<string, z.core.$ZodType>);
  const empty = fields.map(([name, field]) => [name, emptyIfAny(field)] as const);
  return empty.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(empty);
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const part of Object.values(value)) freeze(part);
  Object.freeze(value);
}
