import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { operations, webhookEventNames } from '@recur/contracts';
import { notProvoked } from './notProvoked.js';

/** Differences between the contract table and the provocations that a whole test run recorded, a sentence each. */
export function provocationFaults(folder: string): string[] {
  return faults(declared(), recorded(folder), notProvoked);
}

/** Deprecation warnings that a test run recorded. */
export function deprecations(folder: string): string[] {
  return [...recorded(folder)].filter(line => line.startsWith('warning '));
}

/** Compares; an exception that is provoked or not declared is a fault too, so the list of exceptions only shrinks. */
export function faults(
  all: readonly string[],
  seen: ReadonlySet<string>,
  exceptions: Readonly<Record<string, string>>,
): string[] {
  return [
    ...all.filter(line => !seen.has(line) && !(line in exceptions)).map(line => `${line} is provoked by no test`),
    ...Object.keys(exceptions)
      .filter(line => seen.has(line) || !all.includes(line))
      .map(line => `${line} is provoked or not declared: remove it from tools/suite/notProvoked.ts`),
  ];
}

/** Lines that a whole run has to record: every error of an operation's contract, every event that is emitted. */
export function declared(): string[] {
  return [
    ...operations.flatMap(({ name, errors }) => errors.map(slug => `error ${name} ${slug}`)),
    ...webhookEventNames.map(type => `event ${type}`),
  ];
}

function recorded(folder: string): ReadonlySet<string> {
  const files = readdirSync(folder).map(file => readFileSync(path.join(folder, file), 'utf8'));
  return new Set(files.flatMap(text => text.split('\n').filter(line => line !== '')));
}
