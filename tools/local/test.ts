import { spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { checkoutRoot, openHome } from './home.js';
import { inSeconds, say } from './progress.js';
import { deprecations, provocationFaults } from './provoked.js';
import { readJson } from './settings.js';

/** Counts in jest's --json output. */
interface JestResult {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  /** Test files that could not even be loaded: their tests are in no other number. */
  numRuntimeErrorTestSuites: number;
}

/** A whole run that takes longer than this hangs. */
const allTestsWithinMs = 60 * 60_000;
const checkWithinMs = 5 * 60_000;

/**
 * `npm test`: linter, type check and all tests. With arguments, jest alone with these arguments:
 * `npm test -- libs/kernel`, `npm test -- -t refund`. Ends with the Node that it ran on and "N passed, N failed"; linter,
 * type check and what the tests provoked count as one each.
 */
export async function run(args: readonly string[]): Promise<number> {
  const whole = args.length === 0;
  const checks: boolean[] = whole ? await Promise.all([lint(), typecheck()]) : [];
  const records = path.join(openHome().state, `test-records-${process.pid}`);
  mkdirSync(records, { recursive: true });
  const jest = await runJest(args, records);
  if (whole) checks.push(report('contracts provoked', provocationFaults(records)));
  const warned = deprecations(records);
  if (warned.length > 0) checks.push(report('no deprecation warnings', warned));
  rmSync(records, { recursive: true });
  const failed = checks.filter(passed => !passed).length + jest.failed;
  const passed = checks.filter(Boolean).length + jest.passed;
  say(`Node ${process.versions.node}`);
  say(`${passed} passed, ${failed} failed${jest.skipped > 0 ? `, ${jest.skipped} skipped` : ''}`);
  return failed === 0 && jest.exitCode === 0 ? 0 : 1;
}

/** Prints a check of the whole run with its faults; true when there are none. */
function report(title: string, faults: readonly string[]): boolean {
  say(`  ${faults.length === 0 ? '✓' : '✗'} ${title}`);
  for (const fault of faults) say(`    ${fault}`);
  return faults.length === 0;
}

const lint = () => check('lint', 'biome', ['check', '--error-on-warnings', '--colors=off', '.']);
const typecheck = () => check('typecheck', 'tsc', ['-p', 'tsconfig.json']);

/** Quiet when it passes; shows all its output when it does not. */
async function check(title: string, command: string, args: readonly string[]): Promise<boolean> {
  const since = Date.now();
  const { exitCode, output } = await execute(bin(command), args, 'captured', checkWithinMs);
  say(`  ${exitCode === 0 ? '✓' : '✗'} ${title} (${inSeconds(Date.now() - since)})`);
  if (exitCode !== 0) say(output.trimEnd());
  return exitCode === 0;
}

async function runJest(args: readonly string[], records: string) {
  const home = openHome();
  const file = path.join(home.state, `test-result-${process.pid}.json`);
  const command = [bin('jest'), '--json', `--outputFile=${file}`, ...args];
  const { exitCode } = await execute(
    process.execPath,
    command,
    'shown',
    args.length > 0 ? undefined : allTestsWithinMs,
    records,
  );
  const result = readJson<JestResult>(file);
  rmSync(file, { force: true });
  if (result === undefined) return { exitCode, passed: 0, failed: 1, skipped: 0 };
  const failed = result.numFailedTests + result.numRuntimeErrorTestSuites;
  const passed = result.numPassedTests;
  // A run can fail without a failed test: no test ran, or the services did not stop. That is one failure too.
  const otherwiseFailed = failed === 0 && (exitCode !== 0 || passed === 0);
  return {
    exitCode,
    passed,
    failed: otherwiseFailed ? 1 : failed,
    skipped: result.numPendingTests,
  };
}

function bin(name: string): string {
  return path.join(checkoutRoot(), 'node_modules/.bin', name);
}

/** Runs a program in the checkout. Past the deadline it is stopped, which counts as a failure of its own. */
function execute(
  command: string,
  args: readonly string[],
  output: 'shown' | 'captured',
  withinMs?: number,
  records = '',
) {
  const nodeOptions = [
    process.env.NODE_OPTIONS ?? '',
    '--experimental-vm-modules --disable-warning=ExperimentalWarning',
    records && `--require "${path.join(checkoutRoot(), 'tools/testWarnings.cjs')}"`,
  ].join(' ');
  const child = spawn(command, args, {
    cwd: checkoutRoot(),
    env: { ...process.env, NODE_OPTIONS: nodeOptions.trim(), ...(records && { TEST_RECORD_DIR: records }) },
    stdio: output === 'shown' ? 'inherit' : ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => (text += chunk));
  // Ctrl-C reaches the program too: it ends, and then we do.
  const wait = () => undefined;
  process.on('SIGINT', wait);
  const late = () => {
    say(`${path.basename(args[0] ?? command)} did not end within ${inSeconds(withinMs ?? 0)} and is stopped.`);
    child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), 10_000).unref();
  };
  const timer = withinMs === undefined ? undefined : setTimeout(late, withinMs);
  return new Promise<{ exitCode: number; output: string }>(resolve => {
    const done = (exitCode: number, more: string) => {
      clearTimeout(timer);
      process.off('SIGINT', wait);
      resolve({ exitCode, output: text + more });
    };
    child.once('error', error => done(1, error.message));
    child.once('close', code => done(code ?? 1, ''));
  });
}
