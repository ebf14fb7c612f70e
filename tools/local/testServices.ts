import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { find } from './binaries.js';
import { Failure } from './failure.js';
import { eraseHome, type Home, openHome } from './home.js';
import { identify, isAlive, type ProcessIdentity } from './identity.js';
import { natsUrl } from './nats.js';
import { sayOnStderr } from './progress.js';
import { redisUrl } from './redis.js';
import { databaseUrl, readSettings, writePrivately } from './settings.js';
import { startDependencies, stopStack } from './stack.js';
import { withProgramsOf } from './temporary.js';

/**
 * PostgreSQL, NATS and Redis for one test run, in a temporary folder. A process of its own (see tools/testSetup.mjs):
 * it prints one line of JSON, the environment for the tests, and stops and erases everything when its standard input
 * ends, which the system sees to however the test run ends.
 */
const prefix = 'recur-test-';
const ownerFile = 'owner.json';

async function serve(): Promise<void> {
  await removeAbandoned();
  const state = mkdtempSync(path.join(tmpdir(), prefix));
  writePrivately(path.join(state, ownerFile), identify(process.pid));
  const home = withProgramsOf(openHome(), openHome(state));
  const interrupted = new AbortController();
  const end = async () => {
    interrupted.abort();
    await remove(home);
    process.exit(0);
  };
  process.stdin.once('end', end).once('error', end).resume();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, end);
  try {
    process.stdout.write(`${JSON.stringify(await start(home, interrupted.signal))}\n`);
  } catch (error) {
    if (interrupted.signal.aborted) return;
    await remove(home);
    throw error;
  }
}

async function start(home: Home, signal: AbortSignal): Promise<Record<string, string>> {
  const settings = readSettings(home);
  await startDependencies(home, settings, { tell: sayOnStderr, signal }, true);
  return {
    TEST_PG_ADMIN_URL: databaseUrl(settings, 'postgres', 'postgres'),
    TEST_NATS_URL: natsUrl(settings),
    TEST_REDIS_URL: redisUrl(settings),
    TEST_NATS_SERVER_BIN: find(home, 'nats-server') ?? '',
    TEST_REDIS_SERVER_BIN: find(home, 'redis-server') ?? '',
  };
}

async function remove(home: Home): Promise<void> {
  await stopStack(home);
  eraseHome(home);
  rmSync(home.state, { recursive: true, force: true });
}

/** Ends and erases what a test run left behind whose process was killed together with ours. */
async function removeAbandoned(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter(entry => entry.startsWith(prefix))) {
    const state = path.join(tmpdir(), name);
    const owner = ownerOf(state);
    if (owner !== undefined && !isAlive(owner)) await remove(openHome(state)).catch(() => undefined);
  }
}

/** Undefined for a folder that another account owns, or that a run is only just making. */
function ownerOf(state: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(path.join(state, ownerFile), 'utf8')) as ProcessIdentity;
  } catch {
    return undefined;
  }
}

try {
  await serve();
} catch (error) {
  process.stderr.write(`recur: ${error instanceof Failure ? error.message : (error as Error).stack}\n`);
  process.exit(1);
}
