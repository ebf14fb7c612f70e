import { z } from 'zod';
import type { CodeTable } from './codes.js';

// Building blocks of answers. Every field is always present.

/**
 * A named shape. Each is exported with an interface of the same name, so that compilers and editors
 * show `Invoice` instead of thousands of nested lines.
 */
export type Shape<T> = z.ZodType<T, T>;

export const text = z.string();
export const flag = z.boolean();
/** A whole number within ±(2^53−1). */
export const integer = z.int();
/** A number that may have a fraction: a rate, never money. */
export const decimal = z.number();
export const amount = z.int().describe('Amount in the minor unit of the currency');
export const percent = z.int().describe('10000 is 100 %');
export const time = z.int().describe('Unix seconds; 0 if it has not happened');
export const deletion = z.int().describe('0, or the unix second of deletion');
export const seconds = z.int().describe('Duration in seconds');
export const isoTime = z.string().describe('ISO 8601, UTC');
export const anyObject = z.record(z.string(), z.unknown());

/** An integer code; the docs name the meaning of each number. */
export const code = (table: CodeTable) => z.int().describe(meanings(table));

/** A code table as text: "1 active · 2 inactive". */
export const meanings = (table: CodeTable) =>
  Object.entries(table)
    .map(([name, number]) => `${number} ${name}`)
    .join(' · ');

/** The answer of an operation without output: `{}`. */
export const Empty = z.object({});
