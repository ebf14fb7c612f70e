import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { logCommand, merchantCommand } from '../local/apps.js';
import { readFacts } from '../local/facts.js';
import { Failure } from '../local/failure.js';
import { checkoutRoot, type Home, openHome } from '../local/home.js';
import { readSettings } from '../local/settings.js';

const withinMs = 60_000;
export const badSettings = 78;

/** `npm run merchant -- …`: makes merchants, and lists, revokes and rotates their API keys. */
export async function run(words: readonly string[]): Promise<number> {
  process.stdout.write(merchant(words, process.env));
  return 0;
}

/**
 * Runs identity's command `merchant`: with the environment as it is where that names a database, else on the running
 * stack of the home, by default this checkout's. Returns what it printed. @throws Failure with what it said and its
 * exit code.
 */
export function merchant(words: readonly string[], env: NodeJS.ProcessEnv, home?: Home): string {
  const { command, args, ...options } = identityPart('merchant', words, env, home);
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    ...options,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: withinMs,
  });
  if (status === 0) return stdout;
  // the words were right, but there is nothing to do them with
  if (status === badSettings && options.env.DATABASE_URL === undefined) throw new Failure(noStack, 69);
  const known = ([64, 69, badSettings] as const).find(code => code === status);
  throw new Failure(error?.message ?? sentences(stderr), known);
}

const commands = { merchant: merchantCommand, log: logCommand };

/** A command of identity with a deployment's settings where the environment has them, else on the running stack. */
export function identityPart(
  name: keyof typeof commands,
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  home?: Home,
) {
  const local = env.DATABASE_URL === undefined ? (home ?? openHome()) : undefined;
  if (local && readFacts(local)) return commands[name](local, readSettings(local), words);
  const cwd = path.join(checkoutRoot(), 'apps/identity');
  return { command: process.execPath, args: [path.join(cwd, 'dist/main.js'), name, ...words], env, cwd };
}

export const noStack =
  'no stack of this checkout is running: start one with "npm run up". For a deployment, set identity\'s settings (DATABASE_URL, NATS_URL, SECRET_KEYS, CALLER_KEY, RECUR_ENV).';

/** Output of the command, with the messages of its log lines. */
export const sentences = (stderr: string) => stderr.trim().split('\n').map(told).join('\n');

function told(line: string): string {
  try {
    return (JSON.parse(line) as { msg: string }).msg;
  } catch {
    return line;
  }
}
