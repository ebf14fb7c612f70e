import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { checkoutRoot } from '../local/home.js';
import { say } from '../local/progress.js';
import { firstFailure, type JestOptions, type JestRun, runJest } from './jest.js';
import { type Options, randomSeed } from './options.js';

/** A test that did not pass in every run of a hunt. */
export interface Caught {
  file: string;
  test: string;
  /** Runs in which it failed, counted from 1. */
  runs: number[];
  /** Lines of its first failure. */
  reason: string;
}

type Hunt = Pick<Options, 'load' | 'seed' | 'rest'> & { repeat: number };

const burners = 2;
const shuffled = `--testSequencer=${path.join(checkoutRoot(), 'tools/suite/shuffled.mjs')}`;

/**
 * Runs tests again and again, their files in an order that a seed decides, and names each test that did not pass every
 * time. The tests of a file may tell a story, and keep their order unless jest's --randomize is given too. `load`: beside
 * processes that keep two processors busy.
 */
export async function hunt({ repeat, load, seed, rest }: Hunt, options: JestOptions = {}): Promise<number> {
  const first = seed ?? randomSeed();
  const burning = load ? Array.from({ length: burners }, burn) : [];
  const runs: JestRun[] = [];
  try {
    for (let at = 0; at < repeat; at++) {
      say(`run ${at + 1} of ${repeat}: "npm test -- ${[...rest, `--repeat 1 --seed ${first + at}`].join(' ')}"`);
      runs.push(await runJest([...rest, shuffled, `--seed=${first + at}`], options));
    }
  } finally {
    for (const process of burning) process.kill('SIGKILL');
  }
  const found = caught(runs);
  for (const { file, test, runs: failed, reason } of found) {
    say(`failed in ${failed.length} of ${repeat} runs (${failed.join(', ')}): ${file}: ${test}`);
    for (const line of reason.split('\n')) say(`    ${line}`);
  }
  const broken = runs.filter(({ result, exitCode }) => result === undefined || (exitCode !== 0 && found.length === 0));
  if (broken.length > 0) say(`${broken.length} of ${repeat} runs failed without a failed test; jest said why above`);
  const tests = runs[0]?.result?.numPassedTests ?? 0;
  say(`${tests} tests, ${repeat} runs, seed ${first}: ${found.length} did not pass every time`);
  return found.length === 0 && broken.length === 0 && tests > 0 ? 0 : 1;
}

/** The tests that failed in some run, or in all. */
export function caught(runs: readonly JestRun[]): Caught[] {
  const found = new Map<string, Caught>();
  runs.forEach(({ result }, at) => {
    for (const file of result?.testResults.filter(({ status }) => status === 'failed') ?? []) {
      const failed = file.assertionResults.filter(({ status }) => status === 'failed');
      const each = failed.length === 0 ? [file] : failed.map(test => ({ ...file, assertionResults: [test] }));
      for (const one of each) {
        const [test = '', ...reason] = firstFailure(one).split('\n');
        const name = path.relative(checkoutRoot(), file.name);
        const known = found.get(`${name} ${test}`);
        if (known) known.runs.push(at + 1);
        else found.set(`${name} ${test}`, { file: name, test, runs: [at + 1], reason: reason.join('\n') });
      }
    }
  });
  return [...found.values()];
}

/** A process that keeps one processor busy until it is killed, or this process has ended. */
function burn(): ChildProcess {
  const program = `const owner = ${process.pid};
    const alive = () => { try { process.kill(owner, 0); return true; } catch { return false; } };
    while (alive()) for (let i = 0; i < 1e8; i++);`;
  return spawn(process.execPath, ['-e', program], { stdio: 'ignore' });
}
