import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { freePort } from '@recur/platform/testing';
import { connectRedis, isRedisUrl } from '../../../src/deliveries/sending/redis.js';

const redis = new URL(process.env.TEST_REDIS_URL ?? '');
let folder: string;
let port: number;
let sentinel: ReturnType<typeof spawn>;

/** A sentinel that watches the Redis of the tests, under the name `recur`. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recur-sentinel-'));
  port = await freePort();
  const file = join(folder, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `requirepass ${redis.password}`,
    `sentinel monitor recur 127.0.0.1 ${redis.port} 1`,
    `sentinel auth-pass recur ${redis.password}`,
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const program = process.env.TEST_REDIS_SERVER_BIN || 'redis-server';
  sentinel = spawn(program, [file, '--sentinel'], { stdio: ['ignore', 'pipe', 'ignore'] });
  await new Promise<void>((resolve, reject) => {
    sentinel.once('exit', code => reject(new Error(`the sentinel ended with ${code}`)));
    sentinel.stdout?.on('data', chunk => String(chunk).includes('+monitor') && resolve());
  });
});
afterAll(async () => {
  const ended = once(sentinel, 'exit');
  sentinel.kill('SIGKILL');
  await ended;
  await rm(folder, { recursive: true, force: true });
});

it('the primary is found through sentinels, and through the ones that are there', async () => {
  const url = `redis+sentinel://:${redis.password}@127.0.0.1:${await freePort()},127.0.0.1:${port}/recur`;
  expect(isRedisUrl(url)).toBe(true);
  const connection = connectRedis(url, { maxRetriesPerRequest: null });
  expect(await connection.config('GET', 'port')).toEqual(['port', redis.port]);
  connection.disconnect();
});

it('a URL that the library would read as something else is refused', () => {
  const wrong = ['localhost:6379', 'http://localhost', 'redis+sentinel://:x@one:1', 'redis+sentinel:///recur'];
  expect(wrong.filter(isRedisUrl)).toEqual([]);
  expect(['redis://:a@b:1', 'rediss://b', 'redis+sentinel://one,two:2/recur'].filter(isRedisUrl)).toHaveLength(3);
});
