import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type TestService, testService } from '@recur/platform/testing';
import { identity } from '../../src/service.js';
import { logScene } from './log-scene.js';

let t: TestService;
beforeAll(async () => {
  t = await testService(identity);
});
afterAll(() => t.close());

const { append, headOf, asOwner } = logScene(() => t);

describe('log verify', () => {
  // one merchant with a broken log, and three with whole ones
  beforeAll(async () => {
    for (const merchantId of [101, 20, 22, 23]) await append(merchantId, 2);
    await asOwner(101, `update operation_logs set opt_content = 'x' where n = 1`);
  });

  /** Runs the command as the command line would; returns its output and exit code. */
  async function run(...words: string[]) {
    const printed = { out: '', err: '' };
    const into = (stream: 'out' | 'err') => (text: string | Uint8Array) => {
      printed[stream] += text;
      return true;
    };
    jest.spyOn(process.stdout, 'write').mockImplementation(into('out'));
    jest.spyOn(process.stderr, 'write').mockImplementation(into('err'));
    const code = await identity.commands?.log?.(t.app, words);
    jest.restoreAllMocks();
    return { ...printed, code };
  }

  it('tells of one merchant, for a person and for a program', async () => {
    await append(500, 2);
    const hash = String((await headOf(500))?.hash);
    expect(await run('verify', '--merchant', '500')).toEqual({
      out: `Merchant 500: all 2 entries are as they were written. ${hash}\n`,
      err: '',
      code: 0,
    });
    const { out, code } = await run('verify', '--merchant', '500', '--json');
    expect(JSON.parse(out)).toEqual({ holds: true, merchants: [{ merchantId: 500, entries: 2, hash, problems: [] }] });
    expect(code).toBe(0);
    await asOwner(500, `update operation_logs set opt_content = 'x' where n = 2`);
    const broken = await run('verify', '--merchant', '500');
    expect(broken.out).toMatch(/^Merchant 500: entry 2 \(id \d+\) is not as it was written\.\n$/);
    expect(broken.code).toBe(1);
  });

  it('does not tell of a merchant that is not there that all is well', async () => {
    for (const more of [[], ['--json']]) {
      const refused = await run('verify', '--merchant', '999999', ...more);
      expect(refused).toEqual({ out: '', err: 'There is no merchant 999999.\n', code: 64 });
    }
  });

  it('tells of all merchants, and names each that is broken', async () => {
    const { out, code } = await run('verify', '--json');
    const { holds, merchants } = JSON.parse(out);
    expect([code, holds]).toEqual([1, false]);
    const broken = new Set(
      merchants.flatMap((one: { merchantId: number; problems: string[] }) =>
        one.problems.length > 0 ? [one.merchantId] : [],
      ),
    );
    expect(broken).toContain(500);
    expect(broken).toContain(101);
    expect(broken).not.toContain(20);
    expect(merchants.map((one: { merchantId: number }) => one.merchantId)).toEqual(
      expect.arrayContaining([20, 22, 23]),
    );
  });

  it.each([
    [[], 'A command is missing.'],
    [['prove'], 'There is no command "prove".'],
    [['verify', '--merchant', '0'], '--merchant must be a positive integer.'],
    [['verify', '--all'], "Unknown option '--all'"],
  ])('is told what is wrong with its words: %j', async (words, sentence) => {
    const { out, err, code } = await run(...words);
    expect([out, code]).toEqual(['', 64]);
    expect(err).toContain(sentence);
    expect(err).toContain('Usage: npm run log -- verify');
  });
});
