import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

const recorded = new Set<string>();

/**
 * Records what a test provoked, once per test file: `error <operation> <slug>` or `event <type>`, as a line of a file per
 * process in TEST_RECORD_DIR. `npm test` compares the lines with the contract table after a whole run.
 */
export function record(kind: 'error' | 'event', what: string): void {
  const folder = process.env.TEST_RECORD_DIR;
  const line = `${kind} ${what}\n`;
  if (!folder || recorded.has(line)) return;
  recorded.add(line);
  appendFileSync(join(folder, `${process.pid}.txt`), line);
}
