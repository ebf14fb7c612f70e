import path from 'node:path';
import { firstWords } from './firstWords.js';
import { type Home, makeFolder } from './home.js';
import type { Server } from './processes.js';
import { portOf, type Settings } from './settings.js';

export function redisUrl(settings: Settings): string {
  return `redis://127.0.0.1:${portOf(settings, 'redis')}`;
}

/** redis-server as a queue wants it: append-only file, never evicting. */
export function redisServer(home: Home, settings: Settings, program: string): Server {
  const port = portOf(settings, 'redis');
  const folder = redisFolder(home);
  makeFolder(folder, 0o700);
  const durability = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'everysec'];
  const place = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder];
  return {
    name: 'redis',
    command: program,
    args: [...place, ...durability, '--maxmemory-policy', 'noeviction'],
    env: process.env,
    cwd: folder,
    isReady: async () => (await firstWords(port, 'PING\r\n')).startsWith('+PONG'),
    readyWithinMs: 30_000,
  };
}

export function redisFolder(home: Home): string {
  return path.join(home.state, 'redis');
}

/** Forgets everything that Redis holds. */
export async function flushRedis(settings: Settings): Promise<void> {
  const answer = await firstWords(portOf(settings, 'redis'), 'FLUSHALL\r\n');
  if (!answer.startsWith('+OK')) throw new Error(`redis did not flush: ${answer || 'no answer'}`);
}
