import { z } from 'zod';
import { emptyIfAny } from './empty.js';

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
 * back. What may be null is written as it is: slim, it could not be told from null. So is what has no empty value.
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

const ofAny = (shape: z.core.$ZodType) =>
  shape instanceof z.ZodObject ? ofObject(shape) : shape instanceof z.ZodArray ? ofArray(shape) : plain;

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
      const written = (value as unknown[]).map(each => of(element).write(each));
      return {
        whole: `[${written.map(({ whole }) => whole).join()}]`,
        slim: `[${written.map(({ slim }) => slim).join()}]`,
      };
    },
    complete: value => (value as unknown[]).map(each => of(element).complete(each)),
  };
}

interface Field {
  name: string;
  /** What stands before its value. */
  head: string;
  /** The value that is left out. */
  empty: unknown;
  /** The whole field with that value. */
  text: string;
  /** Of a list, map or object: how it is written, and what it is when nothing is left of it. */
  parts: { slimming: Slimming; nothing: string } | undefined;
}

function ofObject({ shape }: z.ZodObject): Slimming {
  const fields = Object.entries(shape).map(([name, schema]) => fieldOf(name, schema));
  const lists = fields.filter(({ parts }) => parts && parts.slimming !== plain);
  const base = Object.fromEntries(fields.map(({ name, empty }) => [name, empty]));
  return {
    write: value => {
      let whole = '';
      let slim = '';
      for (const { name, head, empty, text, parts } of fields) {
        const member = (value as Record<string, unknown>)[name];
        if (member === undefined) continue;
        if (member === empty) {
          whole += text;
        } else if (parts) {
          const written = parts.slimming.write(member);
          whole += head + written.whole;
          if (written.slim !== parts.nothing) slim += head + written.slim;
        } else {
          const field = head + (Number.isInteger(member) ? member : JSON.stringify(member));
          whole += field;
          slim += field;
        }
      }
      return { whole: `{${whole.slice(1)}}`, slim: `{${slim.slice(1)}}` };
    },
    complete: value => {
      const completed: Record<string, unknown> = { ...base, ...(value as object) };
      for (const { name, parts } of lists) completed[name] = parts?.slimming.complete(completed[name]);
      return completed;
    },
  };
}

function fieldOf(name: string, schema: z.core.$ZodType): Field {
  const head = `,${JSON.stringify(name)}:`;
  const empty = emptyIfAny(schema);
  const text = head + JSON.stringify(empty);
  if (typeof empty !== 'object' || empty === null) return { name, head, empty, text, parts: undefined };
  return { name, head, empty, text, parts: { slimming: of(schema), nothing: Array.isArray(empty) ? '[]' : '{}' } };
}
