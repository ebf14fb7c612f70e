import { chownSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Failure } from './failure.js';
import { canReach, type Home, makeFolder } from './home.js';
import { commandLine, identify } from './identity.js';
import { findPostgres, type PostgresPrograms } from './postgresPrograms.js';
import { type Running, runToEnd, type Server, startServer, stopProcess } from './processes.js';
import { readPsqlScript } from './psqlScript.js';
import { databaseUrl, portOf, type Settings } from './settings.js';

/** Written into the data folder when everything is in it: a folder without it is made anew. */
const complete = 'recur.complete';

/** The server's words where processes of a killed one still hold its shared memory. */
export const memoryInUse = 'pre-existing shared memory block';

const retryMs = 250;

/** Durable as a production server is: fsync, full page writes and synchronous commit keep their defaults (on). */
const configuration = {
  listen_addresses: '127.0.0.1',
  // Clients use the port; a socket's path can be too long, or in a folder of another account.
  unix_socket_directories: '',
  // Five apps with their pools, or the test files of one run, with room for a person and a benchmark.
  max_connections: '300',
  shared_buffers: '128MB',
  max_wal_size: '2GB',
  // Pages that leave its memory go to the disk at once, little by little. By itself the kernel keeps them for half a minute,
  // then writes hundreds of megabytes, and commits wait behind them for up to a tenth of a second.
  bgwriter_delay: '50ms',
  bgwriter_lru_maxpages: '1000',
  backend_flush_after: '256kB',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
} as const;

/**
 * Starts the database server of a home. The first time it makes the data folder and, when asked for, the four
 * databases with their eight roles.
 */
export async function startPostgres(home: Home, settings: Settings, withDatabases: boolean): Promise<Running> {
  const folder = dataFolder(home);
  const server = postgresServer(home, settings);
  const isNew = !existsSync(path.join(folder, complete));
  if (isNew) await initialise(home, settings, folder);
  else checkVersion(folder, findPostgres(home));
  await endStrayServer(folder);
  const running = await startOnceFree(home, server);
  if (isNew && withDatabases) await createDatabases(home, settings);
  if (isNew) writeFileSync(path.join(folder, complete), '');
  return running;
}

/** Starts the server, as often as it finds its memory in use: the processes of one that was killed go one by one. */
async function startOnceFree(home: Home, server: Server): Promise<Running> {
  const deadline = Date.now() + server.readyWithinMs;
  for (;;) {
    try {
      return await startServer(home, server);
    } catch (error) {
      const isHeld = error instanceof Failure && error.message.includes(memoryInUse);
      if (!isHeld || Date.now() > deadline) throw error;
      await sleep(retryMs);
    }
  }
}

export function postgresServer(home: Home, settings: Settings): Server {
  const programs = findPostgres(home);
  const folder = dataFolder(home);
  const options = Object.entries(configuration).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return {
    name: 'postgres',
    command: programs.postgres,
    args: ['-D', folder, '-p', String(portOf(settings, 'postgres')), ...options],
    ...asDatabaseAccount(home),
    isReady: () => answers(databaseUrl(settings, 'postgres', 'postgres')),
    readyWithinMs: 90_000,
  };
}

/** In the state folder; outside of it when the database's account cannot go there. */
export function dataFolder(home: Home): string {
  const account = home.databaseAccount;
  const inside = account === undefined || canReach(account, home.state);
  return path.join(inside ? home.state : home.outside, 'postgres');
}

/** macOS refuses to start PostgreSQL without a locale, and messages in plain C are the ones people search for. */
function asDatabaseAccount(home: Home) {
  return { env: { PATH: process.env.PATH, LC_ALL: 'C' }, cwd: '/', account: home.databaseAccount };
}

async function initialise(home: Home, settings: Settings, folder: string): Promise<void> {
  const programs = findPostgres(home);
  if (path.dirname(folder) === home.outside) makeFolder(home.outside, 0o711);
  const passwordFile = `${folder}.password`;
  rmSync(folder, { recursive: true, force: true });
  makeFolder(folder, 0o700);
  writeFileSync(passwordFile, `${settings.passwords.postgres}\n`, { mode: 0o600 });
  if (home.databaseAccount !== undefined) {
    for (const file of [folder, passwordFile]) chownSync(file, home.databaseAccount.uid, home.databaseAccount.gid);
  }
  // Letters of every language fold case the same on every machine: the provider built into 17, else the system's.
  const locale =
    programs.major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : ['--lc-ctype=C.UTF-8'];
  const access = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  try {
    await runToEnd(home, {
      name: 'initdb',
      command: programs.initdb,
      args: [`--pgdata=${folder}`, '--encoding=UTF8', '--locale=C', ...locale, ...access],
      ...asDatabaseAccount(home),
    });
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

/** The four databases with their eight roles. */
export async function createDatabases(home: Home, settings: Settings): Promise<void> {
  const script = readFileSync(path.join(home.root, 'deploy/postgres-init.sql'), 'utf8');
  const values = Object.fromEntries(
    Object.entries(settings.passwords).map(([role, word]) => [`${role}_password`, word]),
  );
  for (const { database, statements } of readPsqlScript(script, 'postgres', values)) {
    const client = new pg.Client(databaseUrl(settings, 'postgres', database));
    await client.connect();
    try {
      for (const statement of statements) await client.query(statement);
    } finally {
      await client.end();
    }
  }
}

/**
 * A server that our records do not know may still hold this data folder, or only its lock file may be left and its
 * process id belong to somebody else now, which PostgreSQL itself takes for a running server.
 */
async function endStrayServer(folder: string): Promise<void> {
  const lock = path.join(folder, 'postmaster.pid');
  if (!existsSync(lock)) return;
  const owner = identify(Number(readFileSync(lock, 'utf8').split('\n')[0]));
  if (owner !== undefined && commandLine(owner.pid).includes(folder)) await stopProcess(owner, 'SIGINT', 30_000);
  rmSync(lock, { force: true });
}

function checkVersion(folder: string, programs: PostgresPrograms): void {
  const file = path.join(folder, 'PG_VERSION');
  const written = existsSync(file) ? Number(readFileSync(file, 'utf8')) : programs.major;
  if (written === programs.major) return;
  throw new Failure(
    `the local data was written by PostgreSQL ${written}, and this is ${programs.major}: "npm run reset" erases it and starts anew.`,
  );
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1');
    return true;
  } catch (error) {
    // A wrong password does not become right by waiting.
    if (error instanceof pg.DatabaseError && error.code === '28P01') {
      throw new Failure(
        'the local database has other passwords than .local/settings.json: "npm run reset" erases both.',
      );
    }
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}
