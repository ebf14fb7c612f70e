import { z } from 'zod';
import type { CodeTable } from './codes.js';

// The words in which shapes are written: what a field of an answer can be. All are always present.

/**
 * A shape under its own name. Each is exported this way, with an interface beside it, so that compilers and editors
 * read `Invoice` where they would else spell out thousands of nested lines.
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
export const time = z.int().describe('Unix seconds, 0 when it has not happened');
export const deletion = z.int().describe('0 while it lives, else the unix second of its deletion');
export const seconds = z.int().describe('Duration in seconds');
export const isoTime = z.string().describe('ISO 8601, UTC');
export const anyObject = z.record(z.string(), z.unknown());

/** An integer code; the docs name the meaning of each number. */
export const code = (table: CodeTable) => z.int().describe(meanings(table));

/** "1 active · 2 inactive" */
export const meanings = (table: CodeTable) =>
  Object.entries(table)
    .map(([name, number]) => `${number} ${name}`)
    .join(' · ');

/** What an operation answers that has nothing to say: `{}`. */
export const Empty = z.object({});
