import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { takesNoArguments } from '../local/failure.js';
import { firstWords } from '../local/firstWords.js';
import type { Home } from '../local/home.js';
import { choosePorts } from '../local/ports.js';
import { startServer } from '../local/processes.js';
import { say } from '../local/progress.js';
import { openTemporaryHome, removeHome } from '../local/temporary.js';
import { run as test } from '../suite/test.js';

/**
 * Servers that stand in for Stripe: the variable that tells the tests their address, how they are installed, and what the
 * tests leave out because the server does not know it.
 */
const standIns = {
  'stripe-mock': {
    variable: 'STRIPE_MOCK_URL',
    install: 'go install github.com/stripe/stripe-mock@v0.203.0',
    lacks: 'the page that takes a card: the parameter that limits it to cards is newer',
    args: (port: number) => ['-http-addr', `127.0.0.1:${port}`],
  },
  localstripe: {
    variable: 'LOCALSTRIPE_URL',
    install: 'pip install localstripe==1.15.10',
    lacks:
      'charge, saveMethod, status by key, whose parameters it refuses, and the money of a payment, which it does not state',
    args: (port: number) => ['--from-scratch', '--port', String(port)],
  },
} as const;
type StandIn = keyof typeof standIns;
const names = Object.keys(standIns) as StandIn[];
const question = 'GET /v1/charges HTTP/1.0\r\n\r\n';

/**
 * `npm run stripe-test`: runs the Stripe adapter against stripe-mock and localstripe, those of them that are installed or
 * whose address the environment tells, and ends with what it did not run. Fails where there is neither.
 */
export async function run(words: readonly string[]): Promise<number> {
  takesNoArguments('npm run stripe-test', words);
  const home = await openTemporaryHome();
  const interrupted = () => void removeHome(home).then(() => process.exit(130));
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, interrupted);
  const absent: StandIn[] = [];
  let exitCode = 1;
  try {
    for (const name of names) if (!(await provided(home, name))) absent.push(name);
    if (absent.length < names.length) exitCode = await test(['--selectProjects', 'stripe']);
  } finally {
    await removeHome(home);
  }
  for (const name of names) say(`not run with ${name}: ${leftOut(name, absent.includes(name))}.`);
  return exitCode;
}

function leftOut(name: StandIn, isAbsent: boolean): string {
  const { install, lacks, variable } = standIns[name];
  return isAbsent ? `anything, as it is not found: "${install}", or tell its address by ${variable}` : lacks;
}

/** Starts a stand-in, unless the environment tells one's address. False where it is not installed. */
async function provided(home: Home, name: StandIn): Promise<boolean> {
  const { variable, args } = standIns[name];
  if (process.env[variable]) return true;
  const command = found(name);
  if (command === undefined) return false;
  const { [name]: port } = await choosePorts([name], {});
  const isReady = async () => (await firstWords(port, question)).startsWith('HTTP/');
  const part = { name, command, args: args(port), env: process.env, cwd: home.state };
  await startServer(home, { ...part, isReady, readyWithinMs: 30_000 });
  process.env[variable] = `http://127.0.0.1:${port}`;
  return true;
}

/** The program on PATH, or where `go install` and `pip install --user` put it. */
function found(name: StandIn): string | undefined {
  const beside = ['go/bin', '.local/bin'].map(folder => path.join(process.env.HOME ?? '', folder, name));
  return [name, ...beside].find(place => spawnSync(place, ['--help'], { stdio: 'ignore' }).status === 0);
}
