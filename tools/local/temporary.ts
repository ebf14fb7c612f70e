import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openStack, type Stack } from './control.js';
import { eraseHome, type Home, openHome } from './home.js';
import { identify, isAlive, type ProcessIdentity } from './identity.js';
import type { Say } from './progress.js';
import { writePrivately } from './settings.js';
import { type StackOptions, startStack, stopStack } from './stack.js';

const prefix = 'recur-test-';
const ownerFile = 'owner.json';

/** A whole stack of this checkout's apps in a folder of its own: for tests and measurements, which leave nothing. */
export interface TemporaryStack extends Stack {
  /** Stops everything and starts it again on the same data. */
  again(): Promise<void>;
  close(): Promise<void>;
}

/** Listens on free ports only, so that it never takes the one that `npm start` would print. */
export async function temporaryStack(tell: Say, env: StackOptions['env'] = {}): Promise<TemporaryStack> {
  const home = await openTemporaryHome();
  const close = () => removeHome(home);
  const interrupted = () => void close().then(() => process.exit(130));
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, interrupted);
  try {
    await startStack(home, { tell, env, port: 'any' });
    return {
      ...openStack(home),
      again: async () => {
        await stopStack(home);
        await startStack(home, { tell, env, port: 'any' });
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * A home in a temporary folder, for one test run or one stack; removeHome ends it. What runs whose process was killed
 * left behind is ended and erased first.
 */
export async function openTemporaryHome(): Promise<Home> {
  await removeAbandoned();
  const state = mkdtempSync(path.join(tmpdir(), prefix));
  writePrivately(path.join(state, ownerFile), identify(process.pid));
  return openHome(state);
}

/** Stops whatever runs in a temporary home and erases it. */
export async function removeHome(home: Home): Promise<void> {
  await stopStack(home);
  eraseHome(home);
  rmSync(home.state, { recursive: true, force: true });
}

async function removeAbandoned(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter(entry => entry.startsWith(prefix))) {
    const state = path.join(tmpdir(), name);
    const owner = ownerOf(state);
    if (owner !== undefined && !isAlive(owner)) await removeHome(openHome(state)).catch(() => undefined);
  }
}

/** Undefined for a folder that a run is only just making, or that is not ours: what it says is not to be trusted. */
function ownerOf(state: string): ProcessIdentity | undefined {
  try {
    if (statSync(state).uid !== process.getuid?.()) return undefined;
    return JSON.parse(readFileSync(path.join(state, ownerFile), 'utf8')) as ProcessIdentity;
  } catch {
    return undefined;
  }
}
