import { spawn } from 'node:child_process';
import path from 'node:path';
import { checkoutRoot } from '../local/home.js';
import { inSeconds, say } from '../local/progress.js';

export interface Ended {
  exitCode: number;
  output: string;
}

export interface Execution {
  output: 'shown' | 'captured';
  /** Past this time the program is stopped, which counts as a failure of its own. */
  withinMs?: number | undefined;
  env?: NodeJS.ProcessEnv;
}

/** A program of the installed packages. */
export function bin(name: string): string {
  return path.join(checkoutRoot(), 'node_modules/.bin', name);
}

/** Runs a program in the checkout to its end. */
export function execute(command: string, args: readonly string[], { output, withinMs, env = {} }: Execution) {
  const child = spawn(command, args, {
    cwd: checkoutRoot(),
    env: { ...process.env, ...env },
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
  return new Promise<Ended>(resolve => {
    const done = (exitCode: number, more: string) => {
      clearTimeout(timer);
      process.off('SIGINT', wait);
      resolve({ exitCode, output: text + more });
    };
    child.once('error', error => done(1, error.message));
    child.once('close', code => done(code ?? 1, ''));
  });
}
