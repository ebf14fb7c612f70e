import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { Rejected } from '@recur/kernel';
import type pg from 'pg';
import { Bus } from '../src/bus/bus.js';
import { Consumer } from '../src/events/consumer.js';
import type { Consumption } from '../src/events/consumption.js';
import { eventsIn } from '../src/events/envelope.js';
import { Relay } from '../src/events/relay.js';
import { makeStreams, streamOf } from '../src/events/stream.js';
import { systemClock } from '../src/runtime/clock.js';
import { createLog } from '../src/runtime/log.js';
import { ConnectionLost, isConnectionLoss, isUnsent, NoConnection } from '../src/store/errors.js';
import type { Event } from '../src/store/event.js';
import { CommittedRejection } from '../src/store/outcomes.js';
import { createPool, prepared, queryOn, runQuery } from '../src/store/pool.js';
import { Session } from '../src/store/session.js';
import { type TestService, testService } from '../src/testing/index.js';
import { TestNats } from '../src/testing/nats.js';
import { growThing, newThing, sample, things } from './sample.js';

let t: TestService;
/** Commits that the relay was told of. */
let told = 0;

beforeAll(async () => {
  t = await testService(sample, { committed: () => void told++ });
});
afterAll(() => t.close());

/** Ends a connection as a restart of the database does. */
const end = (pid: unknown) => t.rows('select pg_terminate_backend($1, 5000)', [pid]);

describe('a connection that breaks', () => {
  it('while a command holds it ends the command, not the process', async () => {
    const { thing } = await t.done(newThing, { name: 'held', size: 1 });
    const caller = t.callerOf();
    const write = t.db.write(caller, async tx => {
      await tx.lock(things, { id: thing.id }, 'unknown_path');
      const [backend] = await tx.run('select pg_backend_pid() as pid', []);
      await end(backend?.pid);
      return tx.run('select 1', []);
    });
    await expect(write).rejects.toMatchObject({ slug: 'dependency_away' });
    expect(await t.call(growThing, { id: thing.id, by: 1 })).toMatchObject({ ok: true });
  });

  it('at the commit leaves the outcome unknown, also when the database stays away', async () => {
    let attempts = 0;
    const caller = { ...t.callerOf({ idempotencyKey: 'unknown' }), fingerprint: 'f' };
    const write = t.db.write(caller, async tx => {
      const [backend] = await tx.run('select pg_backend_pid() as pid', []);
      await end(backend?.pid);
      // the first time it is the commit that finds out
      if (++attempts > 1) await tx.run('select 1', []);
      tx.log('Thing(1)', 'Look');
      return {};
    });
    await expect(write).rejects.toMatchObject({ slug: 'deadline_exceeded' });
    expect(attempts).toBe(2);
  });

  it('at the commit is not tried again when nobody waits for the answer any more', async () => {
    let attempts = 0;
    const late = { deadline: t.clock.wall(), fingerprint: 'f' };
    const write = t.db.write({ ...t.callerOf({ idempotencyKey: 'late' }), ...late }, async tx => {
      const [backend] = await tx.run('select pg_backend_pid() as pid', []);
      if (++attempts === 1) await end(backend?.pid);
      tx.log('Thing(1)', 'Look');
      return {};
    });
    await expect(write).rejects.toMatchObject({ slug: 'deadline_exceeded' });
    expect(attempts).toBe(1);
  });

  it('at the commit of a refusal does not count it twice: no answer is kept that would tell', async () => {
    let attempts = 0;
    const caller = { ...t.callerOf({ idempotencyKey: 'refused' }), fingerprint: 'f' };
    let pid: unknown;
    const commit = Session.prototype.commit;
    jest.spyOn(Session.prototype, 'commit').mockImplementationOnce(async function (this: Session, last) {
      await end(pid);
      return commit.call(this, last);
    });
    const write = t.db.write(caller, async tx => {
      [pid] = (await tx.run('select pg_backend_pid() as pid', [])).map(row => row.pid);
      attempts++;
      tx.log('Thing(1)', 'Refuse');
      throw new CommittedRejection(new Rejected('invoice_not_open'));
    });
    await expect(write).rejects.toMatchObject({ slug: 'deadline_exceeded' });
    expect(attempts).toBe(1);
  });

  it('is told from an error of the statement', () => {
    const failure = (code: string, message = 'it failed') => Object.assign(new Error(message), { code });
    expect(isConnectionLoss(failure('57014', 'canceling statement due to statement timeout'))).toBe(true);
    for (const code of ['ECONNRESET', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN', '53300', '57P01', '08006']) {
      expect([code, isConnectionLoss(failure(code))]).toEqual([code, true]);
    }
    for (const code of ['23505', '40001', '22021', 'ERR_INVALID_ARG_TYPE']) {
      expect([code, isConnectionLoss(failure(code))]).toEqual([code, false]);
    }
  });

  it('is told by codes and classes, whatever the words of a message', async () => {
    expect(isConnectionLoss(new Error('Connection terminated unexpectedly: timeout'))).toBe(false);
    expect(isConnectionLoss(new ConnectionLost())).toBe(true);
    const nowhere = createPool('postgres://nobody:none@127.0.0.1:1/none', 1);
    const refused = await queryOn(nowhere, prepared('select 1', [])).catch(error => error);
    expect(refused).toBeInstanceOf(NoConnection);
    expect([isConnectionLoss(refused), isUnsent(refused)]).toEqual([true, true]);
    await nowhere.end();
    const own = createPool(process.env.TEST_PG_ADMIN_URL ?? '', 1);
    const client = await own.connect();
    const [backend] = await runQuery(client, 'select pg_backend_pid() as pid');
    await end(backend?.pid);
    // the server's last word, then what the driver says of a connection that is gone
    for (let times = 0; times < 2; times++) {
      const lost = await runQuery(client, 'select 1').catch(error => error);
      expect([isConnectionLoss(lost), isUnsent(lost)]).toEqual([true, false]);
    }
    client.release(true);
    const wrong = (values: unknown[]) => queryOn(own, { text: 'select $1::integer', values }).catch(error => error);
    expect(isConnectionLoss(await wrong(['no number']))).toBe(false);
    const circle: unknown[] = [{}];
    Object.assign(circle[0] as object, { circle });
    expect(await wrong(circle)).toBeInstanceOf(TypeError);
    await own.end();
  });

  it('while it is looked for under which request a key was used leaves that unknown', async () => {
    const { thing } = await t.done(newThing, { name: 'looked for', size: 1 });
    const infra = jest.spyOn(t.db, 'infra').mockRejectedValueOnce(new ConnectionLost());
    const answer = await t.call(growThing, { id: thing.id + 1_000, by: 1 }, { idempotencyKey: 'looked for' });
    infra.mockRestore();
    expect(answer).toMatchObject({ slug: 'deadline_exceeded' });
  });
});

describe('on the way from one service to another', () => {
  const log = createLog('test', 'silent');
  let nats: TestNats;
  let bus: Bus;
  let pool: ReturnType<typeof createPool>;
  let relay: Relay;
  const url = new URL(process.env.TEST_PG_ADMIN_URL ?? '');

  beforeAll(async () => {
    nats = await TestNats.start();
    bus = await Bus.connect(nats.url, 'test', systemClock, log);
    const [{ name }] = (await t.rows('select current_database() as name')) as [{ name: string }];
    url.pathname = `/${name}`;
    pool = createPool(url.toString(), 2);
    relay = new Relay({ service: 'catalog', pool, bus, clock: systemClock, log });
    await migrateStreams();
    relay.start();
  });
  afterAll(async () => {
    await relay.stop();
    await bus.close();
    await pool.end();
    await nats.close();
  });

  const leader = async () =>
    (
      await t.rows(`select pid from pg_locks where locktype = 'advisory' and granted
    and database = (select oid from pg_database where datname = current_database())`)
    )[0]?.pid;
  const migrateStreams = () => {
    const followed = [
      { name: 'patient', from: 'catalog', subject: 'thing.>' },
      { name: 'puzzled', from: 'catalog', subject: 'thing.>' },
    ];
    return makeStreams(bus, 'catalog', followed, { replicas: 1, ackSeconds: 30 });
  };
  /** The ids of the events in the stream. */
  const published = async () => {
    const { state } = await (await jetstreamManager(bus.nc)).streams.info(streamOf('catalog'));
    if (state.messages === 0) return [];
    const stored = await jetstream(bus.nc).consumers.get(streamOf('catalog'));
    const messages = await stored.fetch({ max_messages: state.messages, expires: 1_000 });
    const ids = new Set<string>();
    for await (const message of messages) for (const event of eventsIn(message, {})) if (event) ids.add(event.id);
    return [...ids];
  };
  async function until(condition: () => Promise<unknown>): Promise<void> {
    const deadline = Date.now() + 60_000;
    while (!(await condition())) {
      if (Date.now() > deadline) throw new Error('it has not come to that');
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  }

  it('a relay leads again after its connection broke, more often than its pool has connections', async () => {
    for (let times = 0; times < 4; times++) {
      await until(leader);
      const removed = once(pool, 'remove');
      await end(await leader());
      await removed;
    }
    await until(leader);
    expect(pool.totalCount).toBeLessThanOrEqual(2);
  });

  it('a relay publishes again all that a new stream does not take at first', async () => {
    await t.done(newThing, { name: 'kept', size: 1 });
    const ids = (await t.rows('select id from outbox')).map(({ id }) => id);
    relay.committed();
    await until(async () => (await t.rows('select 1 from unpublished')).length === 0);
    const manager = await jetstreamManager(bus.nc);
    await manager.streams.delete(streamOf('catalog'));
    await migrateStreams();
    const narrow = { max_msgs: 1, discard: 'new' } as const;
    await manager.streams.update(streamOf('catalog'), narrow as never);
    await nats.kill();
    await nats.start();
    await until(async () => (await published().catch(() => [])).length > 0);
    expect((await published()).length).toBeLessThan(ids.length);
    await (await jetstreamManager(bus.nc)).streams.update(streamOf('catalog'), { max_msgs: -1 } as never);
    await until(async () => (await published()).length === ids.length);
  });

  /** Writes an event that nobody hands over; resolves to its name on the list. */
  async function listed(id: string, client: Pick<pg.PoolClient, 'query'> = pool): Promise<unknown> {
    const { rows } = await client.query(
      `with made as (insert into outbox
          (id, type, merchant_id, aggregate, aggregate_id, version, envelope, created_at)
        select $1::text, type, merchant_id, aggregate, $1, version, replace(envelope, id, $1), created_at
        from outbox order by seq desc limit 1 returning seq)
      insert into unpublished select seq, array[seq], 1 from made returning first`,
      [id],
    );
    return rows[0]?.first;
  }
  const emptied = async () => (await t.rows('select 1 from unpublished')).length === 0;
  it('a relay finds what became visible long after what stands behind it, and what nobody told of', async () => {
    const apart = createPool(url.toString(), 1);
    const held = await apart.connect();
    try {
      await held.query('begin');
      await listed('ev_held', held);
      await t.done(newThing, { name: 'behind it', size: 1 });
      relay.committed();
      await until(emptied);
      await held.query('commit');
    } finally {
      held.release();
      await apart.end();
    }
    await until(emptied);
    expect(await published()).toContain('ev_held');
  });

  it('a relay publishes what nobody told it of', async () => {
    await listed('ev_untold');
    await until(emptied);
    expect(await published()).toContain('ev_untold');
  });

  it('a relay is told of the events of both ways to write', async () => {
    told = 0;
    const { thing } = await t.done(newThing, { name: 'told of', size: 1 });
    expect(told).toBe(1);
    await t.done(growThing, { id: thing.id, by: 1 });
    expect(told).toBe(2);
  });

  /** A consumer of the sample's things. */
  function consumer(of: Pick<Consumption, 'name' | 'order' | 'apply'>, missing: () => Promise<Event[]>): Consumer {
    const what = { from: 'catalog', subject: 'thing.>', ...of };
    return new Consumer({ db: t.db, bus, clock: systemClock, log, events: sample.events, missing }, what);
  }

  it('a consumer that ends gives back at once what it could not apply', async () => {
    let away = true;
    let tries = 0;
    const applied = new Set<string>();
    const apply: Consumption['apply'] = async (_, events) => {
      tries++;
      if (away) throw new ConnectionLost();
      for (const { aggregateId } of events) applied.add(aggregateId);
    };
    const newOne = () => consumer({ name: 'patient', order: 'alone', apply }, async () => []);
    const first = newOne();
    first.start();
    const { thing } = await t.done(newThing, { name: 'patient', size: 1 });
    relay.committed();
    await until(async () => tries > 1);
    await first.stop();
    away = false;
    const second = newOne();
    second.start();
    await until(async () => applied.has(String(thing.id)));
    await second.stop();
  });

  it('a consumer applies one by one what takes too long together', async () => {
    const made = [];
    for (const name of ['slow 1', 'slow 2']) made.push((await t.done(newThing, { name, size: 1 })).thing.id);
    const rows = await t.rows('select envelope from outbox where aggregate_id = any($1) order by seq', [made]);
    const events = rows.map(({ envelope }) => JSON.parse(String(envelope)) as Event);
    const applied: string[] = [];
    const apply: Consumption['apply'] = async (tx, together) => {
      await tx.query(`select set_config('statement_timeout', '200', true)`, []);
      await tx.query('select pg_sleep($1)', [0.15 * together.length]);
      applied.push(...together.map(({ aggregateId }) => aggregateId));
    };
    const slow = consumer({ name: 'slow', order: 'every', apply }, async () => []);
    const taken = slow.receive(15, events);
    await Promise.race([taken, new Promise(resolve => setTimeout(resolve, 5_000))]);
    await slow.stop();
    expect(await taken).toBe(true);
    expect(applied).toEqual(made.map(String));
  });

  it('a consumer waits for an owner that is away, however long, and parks nothing', async () => {
    const { thing } = await t.done(newThing, { name: 'away', size: 1 });
    for (let version = 2; version <= 3; version++) await t.done(growThing, { id: thing.id, by: 1 });
    const rows = await t.rows('select envelope from outbox where aggregate_id = $1 order by version', [
      String(thing.id),
    ]);
    const [first, second, third] = rows.map(({ envelope }) => JSON.parse(String(envelope)) as Event);
    const versions: number[] = [];
    let asked = 0;
    const missing = async () => {
      if (++asked < 8) throw new Rejected(asked % 2 ? 'dependency_away' : 'deadline_exceeded');
      return [first, second] as Event[];
    };
    const apply: Consumption['apply'] = async (_, events) => {
      versions.push(...events.map(({ version }) => version));
    };
    await consumer({ name: 'waiting', order: 'every', apply }, missing).receive(15, [third as Event]);
    expect(versions).toEqual([1, 2, 3]);
    expect(await t.rows(`select 1 from dead_letter where consumer = 'waiting'`)).toEqual([]);
  });

  it('a consumer passes over what is no event, and applies what follows', async () => {
    const applied = new Set<string>();
    const apply: Consumption['apply'] = async (_, events) => {
      for (const { aggregateId } of events) applied.add(aggregateId);
    };
    const puzzled = consumer({ name: 'puzzled', order: 'alone', apply }, async () => []);
    await jetstream(bus.nc).publish('evt.catalog.thing.created', 'nonsense');
    await jetstream(bus.nc).publish('evt.catalog.thing.created', '{"merchantId":"x"}');
    const head = { type: 'thing.created', aggregate: 'thing', version: 1 };
    const beside = [15, 16].map(of =>
      JSON.stringify({ ...head, id: `ev_${of}`, merchantId: of, aggregateId: `of ${of}`, data: {} }),
    );
    await jetstream(bus.nc).publish('evt.catalog.thing.created', beside.join('\nnonsense\n'));
    const { thing } = await t.done(newThing, { name: 'after nonsense', size: 1 });
    relay.committed();
    puzzled.start();
    await until(async () => ['of 15', 'of 16', String(thing.id)].every(id => applied.has(id)));
    const { consumers } = await jetstreamManager(bus.nc);
    // what was nonsense does not come again either
    await until(async () => (await consumers.info(streamOf('catalog'), 'puzzled')).num_ack_pending === 0);
    await puzzled.stop();
  });

  it('a consumer tries again to park an event when the database is away', async () => {
    await t.done(newThing, { name: 'never', size: 1 });
    const [row] = await t.rows('select envelope from outbox order by seq desc limit 1');
    const apply = async () => {
      throw new Error('poisoned');
    };
    const infra = jest.spyOn(t.db, 'infra').mockRejectedValueOnce(new ConnectionLost());
    const event = JSON.parse(String(row?.envelope)) as Event;
    const unlucky = consumer({ name: 'unlucky', order: 'alone', apply }, async () => []);
    expect(await unlucky.receive(15, [event])).toBe(true);
    infra.mockRestore();
    expect(await t.rows(`select event_id from dead_letter where consumer = 'unlucky'`)).toEqual([
      { event_id: event.id },
    ]);
  });
});
