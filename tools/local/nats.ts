import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { firstWords } from './firstWords.js';
import { type Home, makeFolder } from './home.js';
import type { Server } from './processes.js';
import { hostsOf, type NatsUser, natsUsers, portOf, type Settings } from './settings.js';

/** The URL that an app, or the migrate step, connects to NATS with; `operator` may do everything. */
export function natsUrl(settings: Settings, user: NatsUser): string {
  const servers = hostsOf(settings, 'nats').split(',');
  return servers.map(server => `nats://${user}:${settings.natsPasswords[user]}@${server}`).join(',');
}

/** nats-server with JetStream, its streams in the home. Written for 2.9 and newer. */
export function natsServer(home: Home, settings: Settings, program: string): Server {
  const port = portOf(settings, 'nats');
  const folder = jetStreamFolder(home);
  const file = path.join(folder, 'nats.conf');
  makeFolder(folder, 0o700);
  const lines = [
    `listen: "127.0.0.1:${port}"`,
    'server_name: recur',
    // A request body may be 1 MiB; as part of a command or an event it is a little more.
    'max_payload: 4MB',
    // the included path is taken from this file's folder
    `include ${JSON.stringify(path.relative(folder, path.join(home.root, 'deploy/nats-users.conf')))}`,
    `jetstream { store_dir: ${JSON.stringify(folder)} }`,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  return {
    name: 'nats',
    command: program,
    args: ['-c', file],
    // A single thread is faster than many on a small machine that everything shares. Memory that it gives back
    // stays its own until somebody needs it: fetching it anew stopped everything for 20 ms at each file of a stream.
    env: { ...process.env, ...logins(settings), GOMAXPROCS: '1', GODEBUG: 'madvdontneed=0' },
    cwd: folder,
    isReady: async () => (await firstWords(port)).includes('"jetstream":true'),
    readyWithinMs: 30_000,
  };
}

/** Forgets every stream and message; the server must be stopped. */
export function wipeJetStream(home: Home): void {
  rmSync(path.join(jetStreamFolder(home), 'jetstream'), { recursive: true, force: true });
}

export function jetStreamFolder(home: Home): string {
  return path.join(home.state, 'nats');
}

/** The variables that nats-users.conf takes from the environment. In quotes: digits before an `e` would be read as a number. */
export function logins({ natsPasswords }: Settings): NodeJS.ProcessEnv {
  return Object.fromEntries(
    natsUsers.map(user => [`${user.toUpperCase()}_LOGIN`, JSON.stringify(natsPasswords[user])]),
  );
}
