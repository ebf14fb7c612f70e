import { z } from 'zod';
import { emptyIfAny, emptyOf } from './empty.js';

/** JSON of one value: whole, as the API answers it, and slim, without empty fields. */
export interface Written {
  whole: string;
  slim: string;
}

/** Serializes values of a shape, and completes slim ones. */
export interface Slimming<T = unknown> {
  /** Writes the fields of the shape, in its order, and no others. */
  write(value: T): Written;
  /** Restores the whole value from slim or whole JSON. */
  complete(value: unknown): T;
}

const made = new WeakMap<z.core.$ZodType, Slimming>();

/**
 * Serialization of a shape as slim JSON. Most fields of an API object are usually empty (two thirds of an invoice's
 * bytes): slim JSON omits the fields that have the empty value of their shape (see `emptyOf`), and a reader that knows
 * the shape restores them. An empty nullable object is kept as {} to tell it from null; a shape without an empty value
 * is written whole.
 */
export function slimming<T>(shape: z.ZodType<T>): Slimming<T> {
  return of(shape) as Slimming<T>;
}

function of(shape: z.core.$ZodType): Slimming {
  const found = made.get(shape);
  if (found) return found;
  const slimming = emptyIfAny(shape) === undefined ? plain : ofAny(shape);
  made.set(shape, slimming);
  return slimming;
}

function ofAny(shape: z.core.$ZodType): Slimming {
  if (shape instanceof z.ZodObject) return ofObject(shape);
  if (shape instanceof z.ZodArray) return ofArray(shape);
  return shape instanceof z.ZodNullable && shape.unwrap() instanceof z.ZodObject ? ofNullable(shape) : plain;
}

const plain: Slimming = {
  write: value => {
    const text = JSON.stringify(value);
    return { whole: text, slim: text };
  },
  complete: value => value,
};

function ofArray({ element }: z.ZodArray): Slimming {
  if (!(element instanceof z.ZodObject)) return plain;
  return {
    write: value => {
      let whole = '[';
      let slim = '[';
      for (const [at, each] of (value as unknown[]).entries()) {
        const written = of(element).write(each);
        whole += at > 0 ? `,${written.whole}` : written.whole;
        slim += at > 0 ? `,${written.slim}` : written.slim;
      }
      return { whole: `${whole}]`, slim: `${slim}]` };
    },
    complete: value => (value as unknown[]).map(each => of(element).complete(each)),
  };
}

/** Resolves the inner shape lazily, since shapes refer to each other recursively. */
const ofNullable = (shape: z.ZodNullable): Slimming => ({
  write: value => (value === null ? plain : of(shape.unwrap())).write(value),
  complete: value => (value === null ? null : of(shape.unwrap()).complete(value)),
});

interface Field {
  name: string;
  label: string;
  /** The empty value, and the field's range in the JSON of an object whose fields are all empty. */
  empty: unknown;
  begin: number;
  end: number;
  /** For a list, map or object: its serializer, and the slim form at which it can be omitted. */
  parts: { slimming: Slimming; nothing: string | undefined } | undefined;
}

function ofObject(shape: z.ZodObject): Slimming {
  const base = emptyOf(shape);
  let nothing = '';
  const fields = Object.entries(base).map(([name, empty]): Field => {
    const label = `${JSON.stringify(name)}:`;
    const begin = nothing.length;
    nothing += (nothing === '' ? '{' : ',') + label + JSON.stringify(empty);
    return { name, label, empty, begin, end: nothing.length, parts: partsOf(shape.shape[name], empty) };
  });
  nothing += nothing === '' ? '{}' : '}';
  const nested = fields.filter(({ parts }) => parts && parts.slimming !== plain);
  return {
    write: value => {
      let whole = '';
      let slim = '';
      // runs of empty fields are copied in one slice
      let copied = 0;
      for (const { name, label, empty, begin, end, parts } of fields) {
        const member = (value as Record<string, unknown>)[name];
        if (member === empty || member === undefined) continue;
        const written = parts?.slimming.write(member);
        const text = written?.whole ?? (Number.isInteger(member) ? member : JSON.stringify(member));
        whole += `${nothing.slice(copied, begin)}${begin === 0 ? '{' : ','}${label}${text}`;
        copied = end;
        if (written && written.slim === parts?.nothing) continue;
        slim += `${slim === '' ? '{' : ','}${label}${written?.slim ?? text}`;
      }
      return { whole: whole + nothing.slice(copied), slim: slim === '' ? '{}' : `${slim}}` };
    },
    complete: value => {
      const completed: Record<string, unknown> = { ...base, ...(value as object) };
      for (const { name, parts } of nested) completed[name] = parts?.slimming.complete(completed[name]);
      return completed;
    },
  };
}

function partsOf(schema: z.core.$ZodType | undefined, empty: unknown): Field['parts'] {
  if (schema === undefined || typeof empty !== 'object') return undefined;
  return { slimming: of(schema), nothing: empty === null ? undefined : Array.isArray(empty) ? '[]' : '{}' };
}
