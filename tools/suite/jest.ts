import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { checkoutRoot } from '../local/home.js';
import { readJson } from '../local/settings.js';
import { bin, type Execution, execute } from './programs.js';

/** A test file in jest's --json output. One that could not be loaded has failed without a test. */
export interface FileResult {
  /** Path of the file. */
  name: string;
  status: string;
  /** Why the file failed, as jest prints it. */
  message: string;
  assertionResults: readonly { fullName: string; status: string; failureMessages: readonly string[] }[];
}

/** The part of jest's --json output that is used. */
export interface JestResult {
  numPassedTests: number;
  testResults: readonly FileResult[];
}

/** A run of jest; without a result it did not get as far as to write one. */
export interface JestRun {
  exitCode: number;
  result: JestResult | undefined;
}

export interface JestOptions extends Partial<Execution> {
  /** Folder in which tests record what they provoked. */
  records?: string;
}

/** Runs jest with these arguments. */
export async function runJest(args: readonly string[], options: JestOptions = {}): Promise<JestRun> {
  const { records = '', output = 'shown', withinMs, env } = options;
  const folder = mkdtempSync(path.join(tmpdir(), 'recur-jest-'));
  const file = path.join(folder, 'result.json');
  const nodeOptions = [
    process.env.NODE_OPTIONS ?? '',
    '--experimental-vm-modules --disable-warning=ExperimentalWarning',
    records && `--require "${path.join(checkoutRoot(), 'tools/testWarnings.cjs')}"`,
  ].join(' ');
  const { exitCode } = await execute(process.execPath, [bin('jest'), '--json', `--outputFile=${file}`, ...args], {
    output,
    withinMs,
    env: {
      DEADLINE_FACTOR: '3',
      ...process.env,
      NODE_OPTIONS: nodeOptions.trim(),
      ...(records && { TEST_RECORD_DIR: records }),
      ...env,
    },
  });
  const result = readJson<JestResult>(file);
  rmSync(folder, { recursive: true, force: true });
  return { exitCode, result };
}

export const failedFiles = ({ result }: JestRun): readonly FileResult[] =>
  result?.testResults.filter(({ status }) => status === 'failed') ?? [];

/** The first failure of a file: the test, or that the file could not be loaded, and the first lines of the reason. */
export function firstFailure({ assertionResults, message }: FileResult): string {
  const failed = assertionResults.find(({ status }) => status === 'failed');
  const reason = stripVTControlCharacters(failed?.failureMessages[0] ?? message).trim();
  const lines = reason.split('\n').filter(line => line.trim() !== '');
  return [failed?.fullName ?? 'the file itself', ...lines.slice(0, shownLines)].join('\n');
}

const shownLines = 6;
