import { afterEach, expect, it, jest } from '@jest/globals';
import { startService } from '../src/service/service.js';
import { freePort } from '../src/testing/nats.js';
import { sample } from './sample.js';

const { env } = process;
afterEach(() => {
  process.env = env;
  jest.restoreAllMocks();
});

it('who migrates a database that cannot be reached is told so, and ends with 69', async () => {
  const url = `postgres://a:b@127.0.0.1:${await freePort()}/x`;
  process.env = {
    RECUR_ENV: 'sandbox',
    NATS_URL: 'none',
    LOG_LEVEL: 'silent',
    DATABASE_URL: url,
    DATABASE_OWNER_URL: url,
    NATS_MIGRATOR_URL: 'none',
    SECRET_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
    CALLER_KEY: Buffer.alloc(32).toString('base64'),
  };
  jest.spyOn(process, 'exit').mockImplementation(code => {
    throw new Error(`exit ${code}`);
  });
  await expect(startService(sample, ['migrate'])).rejects.toThrow('exit 69');
});
