import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { isConnectionLoss } from '../src/store/errors.js';
import { ReadBatcher } from '../src/store/paths/read-batcher.js';
import { createPool, prepared, queryOn } from '../src/store/pool.js';
import { type Listening, tcp } from '../src/testing/servers.js';

/** On the way to the database: connections that were made before `fallSilent` carry nothing any more, and stay open. */
let way: Listening;
let fallSilent: () => void;
let pool: ReturnType<typeof createPool>;

beforeEach(async () => {
  const url = new URL(process.env.TEST_PG_ADMIN_URL ?? '');
  const { hostname, port } = url;
  const open: (() => void)[] = [];
  way = await tcp(client => {
    const server = connect(Number(port), hostname);
    server.on('error', () => client.destroy());
    server.on('close', () => client.destroy());
    client.on('close', () => server.destroy());
    client.pipe(server).pipe(client);
    open.push(() => {
      client.unpipe().resume();
      server.unpipe().resume();
    });
  });
  fallSilent = () => {
    for (const cut of open.splice(0)) cut();
  };
  url.host = `127.0.0.1:${way.port}`;
  pool = createPool(url.toString(), 4);
});
afterEach(async () => {
  await pool.end();
  await way.close();
});

/** Resolves when the pool has given up so many connections. */
const removals = (count: number) =>
  new Promise<void>(resolve => {
    let left = count;
    pool.on('remove', () => (--left === 0 ? resolve() : undefined));
  });

const one = prepared('select 1 as one', []);

describe('a database that says nothing any more, as when its machine is gone', () => {
  it('is given up by who asks it, and the next one has a connection that answers', async () => {
    await queryOn(pool, one);
    fallSilent();
    const failure = await queryOn(pool, one).catch(error => error);
    expect(isConnectionLoss(failure)).toBe(true);
    expect(await queryOn(pool, one)).toEqual([{ one: 1 }]);
  });

  it('is given up by gathered reads too', async () => {
    const reads = new ReadBatcher(pool);
    const ask = (merchantId: number) => reads.ask(merchantId, 'select 1 as one', []);
    // one for each of the connections that it keeps
    await Promise.all([ask(15), ask(16)]);
    fallSilent();
    const replaced = removals(2);
    const failures = await Promise.all([ask(15).catch(isConnectionLoss), ask(16).catch(isConnectionLoss)]);
    expect(failures).toEqual([true, true]);
    await replaced;
    expect(await Promise.all([ask(15), ask(16)])).toEqual([[{ one: 1 }], [{ one: 1 }]]);
    await reads.close();
  });
});

it('the database is told to find out soon that a replica is gone: its locks are its connections', async () => {
  const settings = ['tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count'];
  const rows = await queryOn(pool, prepared('select name, setting from pg_settings where name = any($1)', [settings]));
  const { tcp_keepalives_idle, tcp_keepalives_interval, tcp_keepalives_count } = Object.fromEntries(
    rows.map(({ name, setting }) => [name, Number(setting)]),
  );
  expect(tcp_keepalives_idle + tcp_keepalives_interval * tcp_keepalives_count).toBeLessThanOrEqual(30);
});
