/**
 * Entry of every npm script: installs and builds when needed, then runs the compiled command.
 * Plain JavaScript on Node's own modules, because it runs before anything is installed or built.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, statSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const commands = {
  start: 'local/start.js',
  up: 'local/up.js',
  down: 'local/down.js',
  reset: 'local/reset.js',
  test: 'suite/test.js',
  demo: 'journeys/demo.js',
  bench: 'bench/bench.js',
  chaos: 'chaos/chaos.js',
  import: 'import/import.js',
  simulate: 'simulate/simulate.js',
  merchant: 'merchant/merchant.js',
  log: 'log/log.js',
  mails: 'mails/mails.js',
  migration: 'migration/migration.js',
  charts: 'charts/charts.js',
  'stripe-test': 'stripe/stripe.js',
  'api-test': 'api/api.js',
  'deploy-test': 'deploy/deploy.js',
  'upgrade-test': 'upgrade/upgrade.js',
};
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const startedAt = Date.now();
const installWithinMs = 20 * 60_000;
const [name = '', ...args] = process.argv.slice(2);
/** Progress; what these print on stdout may be read by a program. */
const progress = ['merchant', 'log', 'import', 'simulate'].includes(name) ? 2 : 1;
const tell = progress === 2 ? console.error : console.log;

function stop(exitCode, sentence) {
  console.error(`recur: ${sentence}`);
  if (name === 'test') console.log('0 passed, 1 failed');
  process.exit(exitCode);
}

function checkMachine() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    stop(
      69,
      `Node.js 20.19 or newer is needed, and this is ${process.versions.node}: install it from https://nodejs.org.`,
    );
  }
  if (process.platform === 'win32') stop(69, 'Windows is supported through WSL 2: run this command in a WSL shell.');
  if (!Object.hasOwn(commands, name)) {
    stop(64, `there is no command "${name}"; there are: ${Object.keys(commands).join(', ')}.`);
  }
}

const changedAt = file => (existsSync(path.join(root, file)) ? statSync(path.join(root, file)).mtimeMs : 0);

function seconds(since) {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`;
}

/** npm as the npm that runs this script, else the one on PATH. */
function npm(args, stdio) {
  const own = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ['npm'];
  const [command, ...before] = own;
  const options = { cwd: root, stdio, encoding: 'utf8', timeout: installWithinMs };
  return spawnSync(command, [...before, ...args], options);
}

/** Why the registry cannot be reached, or undefined when it answers, be it with an error. */
function networkError() {
  const { stderr } = npm(['ping', '--fetch-retries=0', '--fetch-timeout=10000', '--loglevel=error'], 'pipe');
  return /code (E(AI_AGAIN|NOTFOUND|CONNREFUSED|CONNRESET|HOSTUNREACH|NETUNREACH|TIMEDOUT))/.exec(stderr ?? '')?.[1];
}

/** Returns the seconds spent on the network and the disk; no dependency's install script is run. */
function install() {
  const stamp = 'node_modules/.package-lock.json';
  if (changedAt(stamp) > 0 && (changedAt(stamp) >= changedAt('package-lock.json') || stopsOnly())) return 0;
  const since = Date.now();
  tell('  · downloading and installing dependencies (npm install); the first time takes a minute or two');
  // Without a network npm would try each of hundreds of packages again and again; its cache may still hold them all.
  const unreachable = networkError();
  const source = unreachable ? '--offline' : '--prefer-offline';
  const quiet = ['--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, error } = npm(
    ['install', '--include=dev', '--ignore-scripts', source, ...quiet],
    ['inherit', progress, 'inherit'],
  );
  if (status !== 0 && unreachable) {
    stop(
      69,
      `the npm registry cannot be reached (${unreachable}) and npm's cache does not hold everything: connect to the network, then run this again.`,
    );
  }
  if (status !== 0) stop(69, `npm install failed (${error?.message ?? `exit ${status}`}); npm said why above.`);
  if (changedAt(stamp) > 0) utimesSync(path.join(root, stamp), new Date(), new Date());
  tell(`  ✓ dependencies downloaded and installed (${seconds(since)})`);
  return (Date.now() - since) / 1000;
}

/** A stack can be stopped and erased even while the source does not compile. */
function stopsOnly() {
  return (name === 'down' || name === 'reset') && existsSync(path.join(root, 'tools/dist', commands[name]));
}

async function build() {
  if (stopsOnly()) return;
  const since = Date.now();
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: '1', TURBO_NO_UPDATE_NOTIFIER: '1', DO_NOT_TRACK: '1' };
  const flags = ['run', 'build', '--output-logs=errors-only', '--ui=stream'];
  const turbo = spawn(path.join(root, 'node_modules/.bin/turbo'), flags, { cwd: root, env });
  const timer = setTimeout(() => tell('  · building …'), 2000);
  let output = '';
  for (const stream of [turbo.stdout, turbo.stderr]) stream.on('data', chunk => (output += chunk));
  const status = await new Promise(resolve => {
    turbo.once('error', error => resolve(error.message)).once('close', resolve);
  });
  clearTimeout(timer);
  if (status !== 0) {
    console.error(output);
    stop(1, `the build failed (${status}); the compiler said why above.`);
  }
  if (Date.now() - since > 2000) tell(`  ✓ built (${seconds(since)})`);
}

checkMachine();
if ((name === 'down' || name === 'reset') && !existsSync(process.env.RECUR_STATE || path.join(root, '.local'))) {
  console.log('Nothing was running, and there are no local data.');
  process.exit(0);
}
const installSeconds = install();
await build();
const file = path.join(root, 'tools/dist', commands[name]);
if (!existsSync(file)) stop(64, `"npm run ${name}" is not part of this version.`);
try {
  const { run } = await import(pathToFileURL(file).href);
  process.exit((await run(args, { startedAt, installSeconds })) ?? 0);
} catch (error) {
  // A failure with an exit code is meant for the person at the terminal; anything else is a bug and shows its stack.
  if (typeof error?.exitCode !== 'number') throw error;
  stop(error.exitCode, error.message);
}
