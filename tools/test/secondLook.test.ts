import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { checkoutRoot } from '../local/home.js';
import { hunt } from '../suite/hunt.js';
import { optionsIn } from '../suite/options.js';
import { flakyLines, lookTwice } from '../suite/secondLook.js';

const passing = "it('passes', () => {});";
const failing = "it('fails', () => { throw new Error('broken for good'); });";
const unloadable = "throw new Error('not even loaded');";
/** Fails when it is run for the first time. */
const flaky = `const { existsSync, writeFileSync } = require('node:fs');
  it('passes before long', () => {
    if (existsSync(__filename + '.seen')) return;
    writeFileSync(__filename + '.seen', '');
    throw new Error('not yet');
  });`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'recur-planted-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

let plants = 0;

/** Arguments of jest for test files of these texts alone. */
function planted(...texts: string[]): string[] {
  const rootDir = path.join(folder, String(plants++));
  mkdirSync(rootDir);
  texts.forEach((text, at) => {
    writeFileSync(path.join(rootDir, `planted${at}.test.js`), text);
  });
  return [`--config=${JSON.stringify({ rootDir, testEnvironment: 'node' })}`];
}

const look = (strict: boolean, ...texts: string[]) => lookTwice(planted(...texts), { output: 'captured' }, strict);

describe('a whole run', () => {
  it('passes where everything passes, and names nothing', async () => {
    const tally = await look(false, passing, passing);
    expect(tally).toEqual({ passed: 2, failed: 0, skipped: 0, flaky: [] });
    expect(flakyLines(tally.flaky)).toEqual([]);
  });

  it('is not failed by a flaky test, which it names with its first failure', async () => {
    const tally = await look(false, passing, flaky);
    expect(tally).toMatchObject({ passed: 2, failed: 0 });
    expect(flakyLines(tally.flaky)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^flaky: .*planted1\.test\.js: passes before long$/),
        '    Error: not yet',
        'flaky: 1 failed, then passed alone; a run may have 5',
      ]),
    );
  });

  it('is failed by a test that fails again, and by a file that cannot be loaded', async () => {
    expect(await look(false, passing, flaky, failing, unloadable)).toMatchObject({
      passed: 2,
      failed: 2,
      flaky: [{ failure: expect.stringContaining('not yet') }],
    });
  });

  it('takes five flaky files, and no sixth', async () => {
    const five = Array<string>(5).fill(flaky);
    expect(await look(false, ...five)).toMatchObject({ passed: 5, failed: 0, flaky: { length: 5 } });
    expect(await look(false, ...five, flaky)).toMatchObject({ passed: 6, failed: 6, flaky: { length: 6 } });
  });

  it('counts a flaky test as failed where it is strict', async () => {
    expect(await look(true, passing, flaky)).toMatchObject({ passed: 2, failed: 1, flaky: { length: 1 } });
  });

  it('fails where no test ran', async () => {
    expect(await look(false)).toMatchObject({ passed: 0, failed: 1 });
  });
});

describe('a hunt', () => {
  const hunted = async (...texts: string[]) => {
    const said: string[] = [];
    const write = jest.spyOn(process.stdout, 'write').mockImplementation(text => said.push(String(text)) > 0);
    const wanted = { repeat: 3, load: true, seed: 7, rest: planted(...texts) };
    const code = await hunt(wanted, { output: 'captured' }).finally(() => write.mockRestore());
    return { code, said: said.join('') };
  };

  it('names each test that did not pass every time, with its runs, and the seed', async () => {
    const { code, said } = await hunted(passing, flaky, failing);
    expect(code).toBe(1);
    expect(said).toMatch(/failed in 1 of 3 runs \(1\): .*planted1\.test\.js: passes before long\n {4}Error: not yet/);
    expect(said).toMatch(/failed in 3 of 3 runs \(1, 2, 3\): .*planted2\.test\.js: fails/);
    expect(said).toContain('3 runs, seed 7: 2 did not pass every time');
  });

  it('runs files in an order that the seed decides', async () => {
    const { default: Shuffled } = await import(path.join(checkoutRoot(), 'tools/suite/shuffled.mjs'));
    const files = Array.from({ length: 20 }, (_, at) => ({ path: `${at}.test.ts` }));
    const orderOf = (seed: number) => new Shuffled({ globalConfig: { seed } }).sort(files);
    expect(orderOf(1)).toEqual(orderOf(1));
    expect(orderOf(2)).not.toEqual(orderOf(1));
    expect(new Set(orderOf(2))).toEqual(new Set(files));
  });

  it('is content where all pass every time', async () => {
    expect(await hunted(passing)).toMatchObject({
      code: 0,
      said: expect.stringContaining('0 did not pass every time'),
    });
  });
});

describe('options of npm test', () => {
  it("are taken out of jest's", () => {
    expect(optionsIn(['libs/kernel', '--repeat', '5', '--load', '--seed=7', '-t', 'x'])).toEqual({
      strict: false,
      load: true,
      repeat: 5,
      seed: 7,
      rest: ['libs/kernel', '-t', 'x'],
    });
    // as jest prints it
    expect(optionsIn(['--seed', '-1816398822'])).toMatchObject({ seed: -1_816_398_822, rest: [] });
    expect(optionsIn(['--strict'])).toMatchObject({ strict: true, rest: [] });
  });

  it.each([
    [['--repeat'], '--repeat must be a number from 1 to 1000, and is "".'],
    [['--repeat', '0'], '--repeat must be a number from 1 to 1000, and is "0".'],
    [['--seed=x'], '--seed must be a number from -2147483648 to 2147483647, and is "x".'],
    [['--load'], '--load belongs to --repeat <times>.'],
  ])('%j are refused, with the reason', (args, reason) => {
    expect(() => optionsIn(args)).toThrow(reason);
  });
});
