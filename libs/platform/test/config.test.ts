import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { parseConfig, serviceConfig } from '../src/runtime/config.js';
import { patient } from '../src/runtime/patience.js';

const env = {
  RECUR_ENV: 'sandbox',
  NATS_URL: 'nats://127.0.0.1:4222',
  DATABASE_URL: 'postgres://127.0.0.1/billing',
  SECRET_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
  CALLER_KEY: Buffer.alloc(32).toString('base64'),
};
let told: string[];

beforeEach(() => {
  told = [];
  jest.spyOn(process.stderr, 'write').mockImplementation(text => told.push(String(text)) > 0);
  jest.spyOn(process, 'exit').mockImplementation(code => {
    throw new Error(`exit ${code}`);
  });
});
afterEach(() => {
  jest.restoreAllMocks();
});

it('all that is wrong with the settings is told at once, and ends the process with 78', () => {
  const wrong = { ...env, NATS_URL: '', DATABASE_URL: undefined, DATABASE_POOL: '1' };
  expect(() => parseConfig(serviceConfig, wrong)).toThrow('exit 78');
  expect(told).toEqual([
    'The configuration is not usable:\n',
    '  NATS_URL: Too small: expected string to have >=1 characters\n',
    '  DATABASE_URL: is missing\n',
    '  DATABASE_POOL: Too small: expected number to be >=4\n',
  ]);
});

it('a number that is left empty is refused, not taken for 0', () => {
  expect(parseConfig(serviceConfig, { ...env, OPS_PORT: '0' })).toMatchObject({ OPS_PORT: 0, COMMANDS_WAITING: 1024 });
  expect(() => parseConfig(serviceConfig, { ...env, OPS_PORT: '', COMMANDS_WAITING: ' ' })).toThrow('exit 78');
  expect(told).toEqual([
    'The configuration is not usable:\n',
    '  OPS_PORT: is empty: set it to a number, or not at all\n',
    '  COMMANDS_WAITING: is empty: set it to a number, or not at all\n',
  ]);
});

it('a database that is no URL is refused, and so are two keys of one id', () => {
  const [key, other] = [env.SECRET_KEYS, `k1:${Buffer.alloc(32, 1).toString('base64')}`];
  const wrong = {
    ...env,
    DATABASE_URL: 'billing',
    DATABASE_OWNER_URL: 'postgres://a:b#c@x',
    SECRET_KEYS: `${key},${other}`,
  };
  const several = 'postgres://app:secret@one:5432,two:5433/billing';
  expect(parseConfig(serviceConfig, { ...env, DATABASE_URL: several })).toMatchObject({ DATABASE_URL: several });
  expect(() => parseConfig(serviceConfig, { ...env, DATABASE_URL: 'postgres://a:b@one,/billing' })).toThrow('exit 78');
  told.length = 0;
  expect(() => parseConfig(serviceConfig, wrong)).toThrow('exit 78');
  expect(told.slice(1)).toEqual([
    expect.stringMatching(/^ {2}DATABASE_URL: must be postgres:/),
    expect.stringMatching(/^ {2}DATABASE_OWNER_URL: must be postgres:/),
    expect.stringMatching(/^ {2}SECRET_KEYS: has two keys of one id/),
  ]);
});

it('deadlines are stretched for tests, and not in production', () => {
  const stretched = { ...env, DEADLINE_FACTOR: '3' };
  expect(parseConfig(serviceConfig, stretched)).toMatchObject({ DEADLINE_FACTOR: 3 });
  expect(() => parseConfig(serviceConfig, { ...stretched, RECUR_ENV: 'production' })).toThrow('exit 78');
  expect(told.at(-1)).toBe('  DEADLINE_FACTOR: is for tests, not for production\n');
  expect(patient(8_000)).toBe(8_000 * Number(process.env.DEADLINE_FACTOR ?? 1));
});
