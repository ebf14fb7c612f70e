/**
 * Before the first test that needs them: starts PostgreSQL, NATS and Redis for this run and tells the tests where they
 * are (TEST_PG_ADMIN_URL, TEST_NATS_URL, TEST_REDIS_URL, TEST_NATS_SERVER_BIN, TEST_REDIS_SERVER_BIN). Whoever sets the
 * three URLs beforehand gets tests on these servers, and none are started.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('dist/local/testServices.js', import.meta.url));
const readyWithinMs = 600_000;

export default async function setup() {
  if (['TEST_PG_ADMIN_URL', 'TEST_NATS_URL', 'TEST_REDIS_URL'].every(name => process.env[name])) return;
  if (!existsSync(program))
    throw new Error('tests with services need the tools built: run "npx turbo run build" first, or "npm test".');
  // In a session of its own Ctrl-C does not reach it; it ends when its standard input does, so with this process at the latest.
  const services = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  const ended = once(services, 'exit').then(() => undefined);
  // cleared below: the tests themselves may take longer than that
  const late = setTimeout(() => services.stdin.end(), readyWithinMs);
  const line = await Promise.race([once(createInterface(services.stdout), 'line'), ended]);
  clearTimeout(late);
  if (line === undefined) throw new Error('the services for the tests did not start; the reason is above.');
  Object.assign(process.env, JSON.parse(line[0]));
  globalThis.recurTestServices = { services, ended };
}
