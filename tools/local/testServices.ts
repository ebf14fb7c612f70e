import { find } from './binaries.js';
import { Failure } from './failure.js';
import type { Home } from './home.js';
import { natsUrl } from './nats.js';
import { sayOnStderr } from './progress.js';
import { redisUrl } from './redis.js';
import { databaseUrl, readSettings } from './settings.js';
import { startDependencies } from './stack.js';
import { openTemporaryHome, removeHome } from './temporary.js';

/**
 * PostgreSQL, NATS and Redis for one test run, in a temporary folder. A process of its own (see tools/testSetup.mjs):
 * it prints one line of JSON, the environment for the tests, and stops and erases everything when its standard input
 * ends, which the system sees to however the test run ends.
 */
async function serve(): Promise<void> {
  const home = await openTemporaryHome();
  const interrupted = new AbortController();
  const end = async () => {
    interrupted.abort();
    await removeHome(home);
    process.exit(0);
  };
  process.stdin.once('end', end).once('error', end).resume();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, end);
  try {
    process.stdout.write(`${JSON.stringify(await start(home, interrupted.signal))}\n`);
  } catch (error) {
    if (interrupted.signal.aborted) return;
    await removeHome(home);
    throw error;
  }
}

async function start(home: Home, signal: AbortSignal): Promise<Record<string, string>> {
  const settings = readSettings(home);
  await startDependencies(home, settings, { tell: sayOnStderr, signal }, true);
  return {
    TEST_PG_ADMIN_URL: databaseUrl(settings, 'postgres', 'postgres'),
    TEST_NATS_URL: natsUrl(settings, 'operator'),
    TEST_REDIS_URL: redisUrl(settings),
    TEST_NATS_SERVER_BIN: find(home, 'nats-server') ?? '',
    TEST_REDIS_SERVER_BIN: find(home, 'redis-server') ?? '',
  };
}

try {
  await serve();
} catch (error) {
  process.stderr.write(`recur: ${error instanceof Failure ? error.message : (error as Error).stack}\n`);
  process.exit(1);
}
