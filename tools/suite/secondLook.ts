import path from 'node:path';
import { checkoutRoot } from '../local/home.js';
import { say } from '../local/progress.js';
import { type FileResult, failedFiles, firstFailure, type JestOptions, type JestRun, runJest } from './jest.js';

/**
 * `flaky`: more flaky files than this fail the run. `looked`: more failed files than this are not looked at again; they
 * have a common cause.
 */
const limits = { flaky: 5, looked: 20 } as const;

/** A test file that failed in the run and passed alone. */
export interface Flaky {
  /** Path within the checkout. */
  file: string;
  failure: string;
}

/** The outcome of a run of tests. */
export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
  flaky: readonly Flaky[];
}

/**
 * Runs jest with these arguments, which name no test files, and then once more, one after the other, the files that
 * failed. What fails again has failed. What passes then is flaky: at most five such files leave the run green, unless it
 * is strict.
 */
export async function lookTwice(args: readonly string[], options: JestOptions, strict: boolean): Promise<Tally> {
  const first = await runJest(args, options);
  const files = failedFiles(first).map(({ name }) => name);
  if (files.length === 0 || files.length > limits.looked) return tallyOf(first, undefined, strict);
  say(`${files.length} of the test files failed and run once more, alone`);
  return tallyOf(first, await runJest([...args, '--runInBand', '--runTestsByPath', ...files], options), strict);
}

/** The counts of a run with those of the second look in the place of the first for the files that were looked at twice. */
export function tallyOf(first: JestRun, again: JestRun | undefined, strict: boolean): Tally {
  if (first.result === undefined) return { passed: 0, failed: 1, skipped: 0, flaky: [] };
  const second = new Map(again?.result?.testResults.map(file => [file.name, file]));
  const failed = failedFiles(first);
  const flaky = failed
    .filter(({ name }) => second.get(name)?.status === 'passed')
    .map(file => ({ file: path.relative(checkoutRoot(), file.name), failure: firstFailure(file) }));
  const files = first.result.testResults.map(file => second.get(file.name) ?? file);
  const tally = { passed: count(files, 'passed'), failed: count(files, 'failed'), skipped: count(files, 'pending') };
  tally.failed += files.filter(unloaded).length;
  if (strict || flaky.length > limits.flaky) tally.failed += flaky.length;
  // A run can fail without a failed test: no test ran, or the services did not stop.
  const otherwise = failed.length === 0 && (first.exitCode !== 0 || tally.passed === 0);
  if (otherwise) tally.failed += 1;
  return { ...tally, flaky };
}

const count = (files: readonly FileResult[], status: string) =>
  files.reduce((sum, file) => sum + file.assertionResults.filter(test => test.status === status).length, 0);

/** A file that failed without a failed test: it could not be loaded, or a hook of the file failed. */
const unloaded = ({ status, assertionResults }: FileResult) =>
  status === 'failed' && assertionResults.every(test => test.status !== 'failed');

/** Lines that name the flaky files, each with its first failure, and their number; none where there are none. */
export function flakyLines(flaky: readonly Flaky[]): string[] {
  if (flaky.length === 0) return [];
  const named = flaky.flatMap(({ file, failure }) => {
    const [name = '', ...reason] = failure.split('\n');
    return [`flaky: ${file}: ${name}`, ...reason.map(line => `    ${line}`)];
  });
  return [...named, `flaky: ${flaky.length} failed, then passed alone; a run may have ${limits.flaky}`];
}
