import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { serversIn } from '../src/runtime/config.js';
import { createPool, ofAnyServer, primaryOf, queryOn } from '../src/store/pool.js';
import { freePort, type Listening, type TestService, tcp, testService } from '../src/testing/index.js';
import { sample } from './sample.js';

let t: TestService;
let nobody: string;
let silent: Listening;
let database: URL;

beforeAll(async () => {
  t = await testService(sample);
  database = new URL(process.env.TEST_PG_ADMIN_URL ?? '');
  const [{ name } = {}] = await t.rows('select current_database() as name');
  database.pathname = `/${name}`;
  nobody = `127.0.0.1:${await freePort()}`;
  silent = await tcp(socket => socket.end());
});
afterAll(async () => {
  await silent.close();
  await t.close();
});

/** The URL with these hosts in place of its own. */
const at = (...hosts: string[]) => database.href.replace(database.host, hosts.join(','));
const one = { text: 'select 1 as one', values: [] };
/** The database is as that of a standby, for connections from now on. */
const standby = (yes: boolean) =>
  t.rows(`alter database ${database.pathname.slice(1)} set default_transaction_read_only = ${yes ? 'on' : 'off'}`);

it('a URL names several servers', () => {
  expect(serversIn('postgres://a:b@one:1,two/db?x=y')).toEqual([
    'postgres://a:b@one:1/db?x=y',
    'postgres://a:b@two/db?x=y',
  ]);
  expect(serversIn('postgres://one/db')).toEqual(['postgres://one/db']);
});

it('a connection goes to the server that is there, and the next ones go there at once', async () => {
  const pool = createPool(at(nobody, `127.0.0.1:${silent.port}`, database.host), 4);
  const tries = await Promise.allSettled([queryOn(pool, one)]);
  expect(tries.map(({ status }) => status)).toEqual(['rejected']);
  await expect(queryOn(pool, one)).rejects.toThrow('no connection to the database');
  const all = await Promise.all(Array.from({ length: 16 }, () => queryOn(pool, one)));
  expect(all).toEqual(Array(16).fill([{ one: 1 }]));
  await pool.end();
});

it('what starts asks every server once, and all its pools know the primary then', async () => {
  const url = at(`127.0.0.1:${silent.port}`, nobody, database.host);
  const [pool, another] = [createPool(url, 4), createPool(url, 4)];
  expect(await ofAnyServer(url, () => queryOn(pool, one))).toEqual([{ one: 1 }]);
  expect(await queryOn(another, one)).toEqual([{ one: 1 }]);
  await Promise.all([pool.end(), another.end()]);
  const none = at(nobody, nobody);
  const lost = createPool(none, 4);
  await expect(ofAnyServer(none, () => queryOn(lost, one))).rejects.toThrow('no connection to the database');
  await lost.end();
});

it('a standby is left, and found again when it has become the primary', async () => {
  const pool = createPool(at(database.host, nobody), 2);
  await standby(true);
  try {
    await expect(queryOn(pool, one)).rejects.toThrow('no connection to the database');
    await expect(primaryOf(at(nobody, database.host))).rejects.toThrow('the server is a standby');
  } finally {
    await standby(false);
  }
  await expect(queryOn(pool, one)).rejects.toThrow('no connection to the database');
  expect(await queryOn(pool, one)).toEqual([{ one: 1 }]);
  expect(await primaryOf(at(nobody, database.host))).toBe(at(database.host));
  await pool.end();
});
