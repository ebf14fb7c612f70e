import { z } from 'zod';
import { emptyIfAny, emptyOf } from './empty.js';

/** JSON of one value: whole, as the API answers it, and slim, without what is empty. */
export interface Written {
  whole: string;
  slim: string;
}

/** How values of a shape are written, and completed where they were written slim. */
export interface Slimming<T = unknown> {
  /** Fields in the order of the shape, and no others. */
  write(value: T): Written;
  /** The whole value; of one that was written whole, too. */
  complete(value: unknown): T;
}

const made = new WeakMap<z.core.$ZodType, Slimming>();

/**
 * Most of what the API shows of an object is empty most of the time: of an invoice it is two thirds of the bytes. Slim
 * JSON leaves out the fields that have the empty value of their shape (see `emptyOf`); whoever knows the shape puts them
 * back. What may be null and is empty is kept as {}, which tells it from null. What has no empty value is written whole.
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

/** Shapes name each other in circles, so what it may be is looked up when it is needed. */
const ofNullable = (shape: z.ZodNullable): Slimming => ({
  write: value => (value === null ? plain : of(shape.unwrap())).write(value),
  complete: value => (value === null ? null : of(shape.unwrap()).complete(value)),
});

interface Field {
  name: string;
  label: string;
  /** Its empty value, and where the field begins and ends in the JSON of an object that is all empty. */
  empty: unknown;
  begin: number;
  end: number;
  /** Of a list, map or object: how it is written, and what is left of it when it may be left out. */
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
      // fields that are empty are copied together with their neighbours
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
