import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { openHome } from '../local/home.js';
import { inSeconds, say } from '../local/progress.js';
import { hunt } from './hunt.js';
import { runJest } from './jest.js';
import { optionsIn } from './options.js';
import { bin, execute } from './programs.js';
import { deprecations, provocationFaults } from './provoked.js';
import { flakyLines, lookTwice, tallyOf } from './secondLook.js';

/** A whole run that takes longer than this hangs. */
const allTestsWithinMs = 60 * 60_000;
const checkWithinMs = 5 * 60_000;

/**
 * `npm test`: linter, type check and all tests. With arguments, jest alone with these arguments:
 * `npm test -- libs/kernel`, `npm test -- -t refund`. In a whole run the files that fail run once more, alone, at its end
 * (`--strict` counts what passes then as failed too). Ends with the Node that it ran on and "N passed, N failed"; linter,
 * type check and what the tests provoked count as one each. `--repeat` hunts for tests that do not always pass.
 */
export async function run(args: readonly string[]): Promise<number> {
  const { strict, repeat, load, seed, rest } = optionsIn(args);
  if (repeat !== undefined) return hunt({ repeat, load, seed, rest });
  const whole = rest.length === 0;
  const jestArgs = seed === undefined ? rest : [...rest, `--seed=${seed}`];
  const checks: boolean[] = whole ? await Promise.all([lint(), typecheck()]) : [];
  const records = path.join(openHome().state, `test-records-${process.pid}`);
  mkdirSync(records, { recursive: true });
  const tally = whole
    ? await lookTwice(jestArgs, { records, withinMs: allTestsWithinMs }, strict)
    : tallyOf(await runJest(jestArgs, { records }), undefined, strict);
  if (whole) checks.push(report('contracts provoked', provocationFaults(records)));
  const warned = deprecations(records);
  if (warned.length > 0) checks.push(report('no deprecation warnings', warned));
  rmSync(records, { recursive: true });
  const failed = checks.filter(passed => !passed).length + tally.failed;
  const passed = checks.filter(Boolean).length + tally.passed;
  for (const line of flakyLines(tally.flaky)) say(line);
  say(`Node ${process.versions.node}`);
  say(`${passed} passed, ${failed} failed${tally.skipped > 0 ? `, ${tally.skipped} skipped` : ''}`);
  return failed === 0 ? 0 : 1;
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
  const { exitCode, output } = await execute(bin(command), args, { output: 'captured', withinMs: checkWithinMs });
  say(`  ${exitCode === 0 ? '✓' : '✗'} ${title} (${inSeconds(Date.now() - since)})`);
  if (exitCode !== 0) say(output.trimEnd());
  return exitCode === 0;
}
