import { spawnSync } from 'node:child_process';
import { Failure } from '../local/failure.js';
import type { Home } from '../local/home.js';
import { badSettings, identityPart, noStack, sentences } from '../merchant/merchant.js';

/** A log of many millions of entries is read as a whole. */
const withinMs = 12 * 3_600_000;

/** `npm run log -- verify`: tells whether the operation log is as it was written; exit code 1 where it is not. */
export async function run(words: readonly string[]): Promise<number> {
  const { out, code } = log(words, process.env);
  process.stdout.write(out);
  return code;
}

/**
 * Runs identity's command `log` as `npm run merchant` runs the other. Returns what it found, and the exit code.
 * @throws Failure where it could not look.
 */
export function log(words: readonly string[], env: NodeJS.ProcessEnv, home?: Home): { out: string; code: 0 | 1 } {
  const { command, args, ...options } = identityPart('log', words, env, home);
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    ...options,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: withinMs,
    maxBuffer: 2 ** 30,
  });
  if (status === 0) return { out: stdout, code: 0 };
  // faults of the log are told on stdout
  if (status === 1 && stdout !== '') return { out: stdout, code: 1 };
  if (status === badSettings && options.env.DATABASE_URL === undefined) throw new Failure(noStack, 69);
  const known = ([64, 69, badSettings] as const).find(code => code === status);
  throw new Failure(error?.message ?? sentences(stderr), known);
}
