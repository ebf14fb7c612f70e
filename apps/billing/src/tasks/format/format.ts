import { csvOf } from './csv.js';
import type { Slice, Written } from './slice.js';
import { xlsxOf } from './xlsx.js';

/** The bytes of the next rows of a file; the first ones begin it. */
export const written = (slice: Slice): Written => (slice.format === 'csv' ? csvOf(slice) : xlsxOf(slice));
