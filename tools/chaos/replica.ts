import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { appServer, type ExtraEnv } from '../local/apps.js';
import type { Home } from '../local/home.js';
import { type App, readSettings } from '../local/settings.js';

const readyWithinMs = 60_000;

/** Starts another replica of an app, beside the one that the stack runs; it is not in the stack's record. */
export async function startReplica(home: Home, app: App, extra: ExtraEnv = {}) {
  const port = await unusedPort();
  const {
    command,
    args,
    env,
    cwd,
    account = {},
  } = appServer(home, readSettings(home), app, { ...extra, OPS_PORT: String(port) });
  const child = spawn(command, args, { env, cwd, stdio: 'ignore', ...account });
  const ready = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  for (const deadline = Date.now() + readyWithinMs; !(await ready()); ) {
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`the replica of ${app} did not get ready`);
    }
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  return {
    pid: child.pid ?? 0,
    /** SIGKILL, and waits until the process has ended. False: it had ended before. */
    kill: () => ended(child, 'SIGKILL'),
    /** Asks the process to end, and waits until it has. */
    stop: () => ended(child, 'SIGTERM'),
  };
}

async function ended(child: ChildProcess, by: NodeJS.Signals): Promise<boolean> {
  if (child.exitCode !== null || child.signalCode !== null) return false;
  const exit = once(child, 'exit');
  child.kill(by);
  await exit;
  return true;
}

/** A port of this machine that nothing listens on. */
export async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return address.port;
}
