import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { plannedPackages } from '../local/apt.js';
import { takesNoArguments } from '../local/failure.js';
import { checkoutRoot, openHome } from '../local/home.js';
import { log } from '../log/log.js';
import { merchant } from '../merchant/merchant.js';

describe('tools/run.mjs', () => {
  it.each([
    ['', /there is no command ""/],
    ['stat', /there is no command "stat"; there are: start, up, down/],
  ])('refuses a command it does not have: "%s"', (command, sentence) => {
    const { status, stderr } = spawnSync(process.execPath, [path.join(checkoutRoot(), 'tools/run.mjs'), command], {
      encoding: 'utf8',
    });
    expect(status).toBe(64);
    expect(stderr).toMatch(sentence);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});

describe('a build', () => {
  it('is made anew where a source of any command has changed', () => {
    const read = (file: string) => JSON.parse(readFileSync(path.join(checkoutRoot(), file), 'utf8'));
    const compiled: string[] = read('tools/tsconfig.json').include;
    const { inputs } = read('turbo.json').tasks.build;
    expect(inputs).toEqual(expect.arrayContaining(compiled.map(folder => `${folder}/**`)));
  });
});

describe('commands without arguments', () => {
  it('refuse any, naming them', () => {
    expect(() => takesNoArguments('npm start', ['--port', '80'])).toThrow(
      'npm start takes no arguments, and was given --port 80.',
    );
    expect(() => takesNoArguments('npm start', [])).not.toThrow();
  });
});

describe('npm run merchant', () => {
  /** What it fails with where no stack runs. */
  function failure(env: Record<string, string>, ...words: string[]) {
    const state = mkdtempSync(path.join(tmpdir(), 'recur-merchant-'));
    try {
      return merchant(words, { PATH: process.env.PATH, ...env }, openHome(state));
    } catch (error) {
      return error;
    } finally {
      rmSync(state, { recursive: true });
    }
  }
  const usage = /^There is no command "keys"\.\nUsage: npm run merchant -- /;
  const noStack = /^no stack of this checkout is running: start one with "npm run up"/;
  const settings = /^The configuration is not usable:\n[\s\S]*SECRET_KEYS/;

  it('says how it is used, what is missing, and what is wrong with the settings', () => {
    const list = ['keys', 'list', '--merchant', '1'];
    expect(failure({}, 'keys')).toMatchObject({ exitCode: 64, message: expect.stringMatching(usage) });
    expect(failure({}, ...list)).toMatchObject({ exitCode: 69, message: expect.stringMatching(noStack) });
    const half = failure({ DATABASE_URL: 'postgres://x' }, ...list);
    expect(half).toMatchObject({ exitCode: 78, message: expect.stringMatching(settings) });
  });
});

describe('npm run log', () => {
  /** What it fails with where no stack runs. */
  function failure(...words: string[]) {
    const state = mkdtempSync(path.join(tmpdir(), 'recur-log-'));
    try {
      return log(words, { PATH: process.env.PATH }, openHome(state));
    } catch (error) {
      return error;
    } finally {
      rmSync(state, { recursive: true });
    }
  }

  it('says how it is used, and what is missing', () => {
    const usage = /^There is no command "keys"\.\nUsage: npm run log -- verify/;
    expect(failure('keys')).toMatchObject({ exitCode: 64, message: expect.stringMatching(usage) });
    const noStack = /^no stack of this checkout is running: start one with "npm run up"/;
    expect(failure('verify')).toMatchObject({ exitCode: 69, message: expect.stringMatching(noStack) });
  });
});

describe('the plan of a simulated installation', () => {
  it('names every package with its version, new ones and newer ones', () => {
    const simulation = [
      'NOTE: This is only a simulation!',
      'The following NEW packages will be installed:',
      '  liblzf1 redis-server',
      'Inst liblzf1 (3.6-3 Debian:12.1/stable [amd64])',
      'Inst libc6 [2.36-8] (2.36-9 Debian:12.1/stable [amd64]) []',
      'Inst redis-server (5:7.0.15-1 Debian:12.1/stable [amd64])',
      'Conf liblzf1 (3.6-3 Debian:12.1/stable [amd64])',
    ].join('\n');
    expect(plannedPackages(simulation)).toEqual(['liblzf1=3.6-3', 'libc6=2.36-9', 'redis-server=5:7.0.15-1']);
  });
});
