import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { firstWords } from './firstWords.js';
import { type Home, makeFolder } from './home.js';
import type { Server } from './processes.js';
import { portOf, type Settings } from './settings.js';

/** The name by which sentinels know the Redis of a stack. */
export const sentinelName = 'recur';

export function redisUrl(settings: Settings): string {
  const sentinels = settings.hosts?.redis;
  if (sentinels !== undefined) return `redis+sentinel://:${settings.redisPassword}@${sentinels}/${sentinelName}`;
  return `redis://:${settings.redisPassword}@127.0.0.1:${portOf(settings, 'redis')}`;
}

/** redis-server as a queue wants it: append-only file, never evicting. */
export function redisServer(home: Home, settings: Settings, program: string): Server {
  const port = portOf(settings, 'redis');
  const folder = redisFolder(home);
  const file = path.join(folder, 'redis.conf');
  makeFolder(folder, 0o700);
  // in a file: every account of the machine can read the command line
  rmSync(file, { force: true });
  writeFileSync(file, `requirepass ${settings.redisPassword}\n`, { mode: 0o600 });
  const durability = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'everysec'];
  const place = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder];
  return {
    name: 'redis',
    command: program,
    args: [file, ...place, ...durability, '--maxmemory-policy', 'noeviction'],
    env: process.env,
    cwd: folder,
    isReady: async () => (await asked(settings, 'PING')).endsWith('+PONG\r\n'),
    readyWithinMs: 30_000,
  };
}

export function redisFolder(home: Home): string {
  return path.join(home.state, 'redis');
}

/** Forgets everything that Redis holds. */
export async function flushRedis(settings: Settings): Promise<void> {
  const answer = await asked(settings, 'FLUSHALL');
  if (!answer.endsWith('+OK\r\n+OK\r\n')) throw new Error(`redis did not flush: ${answer || 'no answer'}`);
}

/** The answer of Redis to the password and one command. */
const asked = (settings: Settings, command: string) =>
  firstWords(portOf(settings, 'redis'), `AUTH ${settings.redisPassword}\r\n${command}\r\n`);
