import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Bus } from '../src/bus/bus.js';
import { Consumer } from '../src/events/consumer.js';
import { Relay } from '../src/events/relay.js';
import { makeStreams } from '../src/events/stream.js';
import { systemClock } from '../src/runtime/clock.js';
import { createLog } from '../src/runtime/log.js';
import { type Event, eventIn } from '../src/store/event.js';
import { createPool } from '../src/store/pool.js';
import { type TestService, testService } from '../src/testing/index.js';
import { TestNats } from '../src/testing/nats.js';
import { colours, growThing, newThing, sample } from './sample.js';

const log = createLog('test', process.env.TEST_LOG_LEVEL ?? 'silent');
let nats: TestNats;
let owner: TestService;
let reader: TestService;
let bus: Bus;
let relay: Relay;
let pool: ReturnType<typeof createPool>;
const applied: Event[] = [];
const asked: number[] = [];
let poison: string | undefined;
let heard: () => void = () => undefined;
let consumer: Consumer;

/** Resolves when the condition holds, asking again after each batch; the test's own time limit is the deadline. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (;;) {
    const batch = new Promise<void>(resolve => {
      heard = resolve;
    });
    if (await condition()) return;
    await batch;
  }
}

/** A consumer of the sample's things that keeps what it applies; `meanwhile` happens while it applies events. */
function newConsumer(name: string, into: Event[], meanwhile?: () => Promise<unknown>): Consumer {
  const missing = async (_: string, event: Event, from: number) => {
    asked.push(from);
    const rows = await owner.rows(
      'select envelope from outbox where aggregate_id = $1 and version >= $2 and version < $3 order by version',
      [event.aggregateId, from, event.version],
    );
    return rows.map(row => eventIn(String(row.envelope), sample.events) as Event);
  };
  return new Consumer(
    { db: reader.db, bus, clock: systemClock, log, events: sample.events, missing },
    {
      name,
      from: 'catalog',
      subject: 'thing.>',
      order: 'every',
      apply: async (_, events) => {
        if (events.some(event => event.id === poison)) throw new Error('poisoned');
        await meanwhile?.();
        into.push(...events);
      },
      done: () => heard(),
    },
  );
}

/** The streams as the migrate step makes them, with a consumer for each that is started here. */
const migrateStreams = () => {
  const followed = ['reader', 'slow', 'late-start'].map(name => ({ name, from: 'catalog', subject: 'thing.>' }));
  return makeStreams(bus, 'catalog', followed, { replicas: 1, ackSeconds: 30 });
};

beforeAll(async () => {
  nats = await TestNats.start();
  [owner, reader] = await Promise.all([testService(sample), testService(sample)]);
  bus = await Bus.connect(nats.url, 'test', systemClock, log);
  const [{ name }] = (await owner.rows('select current_database() as name')) as [{ name: string }];
  const url = new URL(process.env.TEST_PG_ADMIN_URL ?? '');
  url.pathname = `/${name}`;
  pool = createPool(url.toString(), 4);
  relay = new Relay({ service: 'catalog', pool, bus, clock: systemClock, log });
  await migrateStreams();
  relay.start();
  consumer = newConsumer('reader', applied);
  consumer.start();
});
afterAll(async () => {
  await consumer.stop();
  await relay.stop();
  await bus.close();
  await pool.end();
  await owner.close();
  await reader.close();
  await nats.close();
});

const versionsOf = (id: number) =>
  applied.filter(event => event.aggregateId === String(id)).map(event => event.version);
const upTo = (last: number) => Array.from({ length: last }, (_, at) => at + 1);

let named = 0;
const newOne = async () => (await owner.done(newThing, { name: `e${++named}`, size: 0 })).thing.id;
const grow = (id: number) => owner.done(growThing, { id, by: 1 });

describe('events', () => {
  it('arrive once and in order, however many at once', async () => {
    const ids = await Promise.all(Array.from({ length: 10 }, newOne));
    await Promise.all(ids.flatMap(id => Array.from({ length: 9 }, () => grow(id))));
    relay.committed();
    await until(() => applied.length === 100);
    for (const id of ids) expect(versionsOf(id)).toEqual(upTo(10));
    expect(asked).toEqual([]);
  });

  it('arrive all and once when NATS is killed and robbed of its files meanwhile', async () => {
    const ids = await Promise.all(Array.from({ length: 5 }, newOne));
    relay.committed();
    await until(() => ids.every(id => versionsOf(id).length === 1));
    await nats.kill();
    await Promise.all(ids.map(grow));
    await nats.wipe();
    await nats.start();
    await migrateStreams();
    relay.committed();
    await until(() => ids.every(id => versionsOf(id).length === 2));
    await Promise.all(ids.map(grow));
    relay.committed();
    await until(() => ids.every(id => versionsOf(id).length === 3));
    for (const id of ids) expect(versionsOf(id)).toEqual(upTo(3));
    const [inbox] = await reader.rows(`select count(*)::int as n from inbox where consumer = 'reader'`);
    expect(inbox?.n).toBe(applied.length);
  });

  it('that wait are known to their consumer: it lags until it has looked, while one waits, and without a connection', async () => {
    let open: () => void = () => undefined;
    const closed = () =>
      new Promise<void>(resolve => {
        open = resolve;
      });
    let gate = closed();
    const slow = newConsumer('slow', [], () => gate);
    const lags = async (isLagging: boolean) => {
      while (slow.lags !== isLagging) await new Promise(setImmediate);
    };
    expect(slow.lags).toBe(true);
    slow.start();
    open();
    await lags(false);
    gate = closed();
    await newOne();
    relay.committed();
    await lags(true);
    open();
    await lags(false);
    await nats.kill();
    await lags(true);
    await nats.start();
    await lags(false);
    await slow.stop();
    // it began in the middle of a stream that was wiped
    asked.length = 0;
  });

  it('that stand alone are told from those that were seen, in one batch and within one', async () => {
    const one = (id: string) => ({ id, aggregate: 'x', aggregateId: id, version: 1, merchantId: 1 }) as Event;
    const taken: string[] = [];
    const consume = (...ids: string[]) =>
      reader.db.consume(1, 'alone', 'alone', ids.map(one), async (_, fresh) => {
        taken.push(...fresh.map(({ id }) => id));
      });
    await consume('a', 'b', 'b');
    await consume('b', 'c', 'a', 'd', 'c');
    await consume('d', 'a');
    expect(taken).toEqual(['a', 'b', 'c', 'd']);
  });

  it('of one object that two replicas take up at once are not in the way of each other', async () => {
    let inside = 0;
    let open: () => void = () => undefined;
    const bothInside = new Promise<void>(resolve => {
      open = resolve;
    });
    const consume = (version: number) => {
      const event = { id: `both ${version}`, aggregate: 'x', aggregateId: 'both', version, merchantId: 1 } as Event;
      return reader.db.consume(1, 'both', 'latest', [event], async () => {
        if (++inside > 1) open();
        await bothInside;
      });
    };
    expect(await Promise.all([consume(1), consume(2)])).toEqual([[], []]);
    expect(await reader.rows(`select version from gate where consumer = 'both'`)).toEqual([{ version: 2 }]);
    expect(await reader.rows(`select 1 from inbox where consumer = 'both'`)).toHaveLength(2);
  });

  it('that come after later ones of their object leave nothing behind, the first of all included', async () => {
    const consume = (version: number) => {
      const event = { id: `v${version}`, aggregate: 'x', aggregateId: 'passed', version, merchantId: 1 } as Event;
      return reader.db.consume(1, 'passed', 'latest', [event], async (tx, fresh) => {
        for (const { id } of fresh) tx.save(colours, { merchantId: 1, id, name: 'passed', version: 1 });
      });
    };
    for (const version of [3, 1, 2]) expect(await consume(version)).toEqual([]);
    expect(await reader.rows(`select id from colours where name = 'passed'`)).toEqual([{ id: 'v3' }]);
    expect(await reader.rows(`select version from gate where consumer = 'passed'`)).toEqual([{ version: 3 }]);
    expect(await reader.rows(`select 1 from inbox where consumer = 'passed'`)).toHaveLength(3);
  });

  it('are taken up by their bytes where they are large, and all of them arrive', async () => {
    const publish = jest.spyOn(Bus.prototype, 'publish');
    const receive = jest.spyOn(Consumer.prototype, 'receive');
    // unpublished all at once, so that one batch could be all of them
    const envelopes = upTo(20).map(version => {
      const actor = { kind: 'system', id: '', display: '' };
      const of = { merchantId: 15, aggregate: 'thing', aggregateId: 'huge', version, at: 0, actor };
      const data = { text: 'x'.repeat(1_000_000) };
      return JSON.stringify({ id: `ev_huge_${version}`, ...of, requestId: '', traceparent: '', data });
    });
    await owner.rows(
      `with made as (
         insert into outbox (id, type, merchant_id, aggregate, aggregate_id, version, envelope, created_at)
         select 'ev_huge_' || n, 'thing.grown', 15, 'thing', 'huge', n, envelope, 0
         from unnest($1::text[]) with ordinality e(envelope, n) returning seq, length(envelope) as characters)
       insert into unpublished select seq, array[seq], characters from made`,
      [envelopes],
    );
    relay.committed();
    await until(() => applied.filter(event => event.aggregateId === 'huge').length === 20);
    const sizes = publish.mock.calls.map(([events]) => events.reduce((sum, { payload }) => sum + payload.length, 0));
    expect(Math.max(...sizes)).toBeLessThan(18_000_000);
    // parsed events take many times their bytes
    expect(Math.max(...receive.mock.calls.map(([, events]) => events.length))).toBeLessThan(6);
    publish.mockRestore();
    receive.mockRestore();
  });

  it('that were missed are fetched from their owner', async () => {
    const id = await newOne();
    await grow(id);
    await grow(id);
    const [, , third] = await owner.rows('select envelope from outbox where aggregate_id = $1 order by version', [
      String(id),
    ]);
    const late: Event[] = [];
    await newConsumer('late', late).receive(15, [eventIn(String(third?.envelope), sample.events) as Event]);
    expect(late.map(event => event.version)).toEqual([1, 2, 3]);
    expect(asked).toEqual([1]);
  });

  it('that can never be applied are parked with what follows, and hold up nothing else', async () => {
    const id = await newOne();
    const other = await newOne();
    await grow(id);
    const [first] = await owner.rows('select id from outbox where aggregate_id = $1 order by version', [String(id)]);
    poison = String(first?.id);
    relay.committed();
    await until(() => versionsOf(other).length === 1);
    const parked = async () =>
      (await reader.rows('select version from dead_letter order by version')).map(row => row.version);
    await until(async () => (await parked()).length === 2);
    expect(await parked()).toEqual([1, 2]);
    poison = undefined;
    expect(await consumer.resume()).toBe(2);
    expect(versionsOf(id)).toEqual([1, 2]);
    expect(await parked()).toEqual([]);
  });

  it('that are buffered are taken on with after a batch that could neither be applied nor parked', async () => {
    const [taken, ids] = [[] as Event[], [] as number[]];
    for (let at = 0; at < 300; at++) ids.push(await newOne());
    const [first] = await owner.rows('select id from outbox where aggregate_id = $1', [String(ids[0])]);
    poison = String(first?.id);
    relay.committed();
    await until(() => versionsOf(ids.at(-1) ?? 0).length === 1);
    const [{ role }] = (await reader.rows(`select max(rolname) as role from pg_roles where rolname like '%\\_app'
      and has_database_privilege(rolname, current_database(), 'connect')
      and has_table_privilege(rolname, 'dead_letter', 'insert')`)) as [{ role: string }];
    await reader.rows(`revoke insert on dead_letter from ${role}`);
    const late = newConsumer('late-start', taken);
    late.start();
    await until(() => taken.some(event => event.aggregateId === String(ids.at(-1))));
    await reader.rows(`grant insert on dead_letter to ${role}`);
    poison = undefined;
    await late.stop();
    await consumer.resume();
  });

  it('that are parked while others are taken up again are taken up with them', async () => {
    const id = await newOne();
    await grow(id);
    await grow(id);
    const rows = await owner.rows('select envelope from outbox where aggregate_id = $1 order by version', [String(id)]);
    const [first, second, third] = rows.map(({ envelope }) => JSON.parse(String(envelope)) as Event);
    const into: Event[] = [];
    let arrives: (() => Promise<unknown>) | undefined;
    const busy = newConsumer('busy', into, async () => arrives?.());
    poison = first?.id;
    await busy.receive(15, [first as Event, second as Event]);
    poison = undefined;
    arrives = () => {
      arrives = undefined;
      return newConsumer('busy', into).receive(15, [third as Event]);
    };
    expect(await busy.resume()).toBe(3);
    expect(into.map(({ version }) => version)).toEqual([1, 2, 3]);
  });

  it('that are parked are read by their bytes where they are large, and all of them taken up', async () => {
    const of = { merchantId: 15, aggregate: 'thing', version: 1, at: 0, actor: {}, requestId: '', traceparent: '' };
    const ids = upTo(20).map(n => `large ${n}`);
    const envelopes = ids.map(id =>
      JSON.stringify({ id, ...of, aggregateId: id, type: 'thing.created', data: 'x'.repeat(1_000_000) }),
    );
    await reader.rows(
      `insert into dead_letter select 'large', e->>'id', 15, 'thing', e->>'id', 1, e::text, 'it was poisoned', 0
       from unnest($1::text[]::json[]) e`,
      [envelopes],
    );
    const infra = jest.spyOn(reader.db, 'infra');
    const into: Event[] = [];
    expect(await newConsumer('large', into).resume()).toBe(20);
    expect(into.map(({ id }) => id).sort()).toEqual(ids.sort());
    const read = await Promise.all(infra.mock.results.map(({ value }) => value as ReturnType<typeof reader.db.infra>));
    const sizes = read.map(rows => rows.reduce((sum, { envelope }) => sum + String(envelope ?? '').length, 0));
    expect(Math.max(...sizes)).toBeLessThan(18_000_000);
    infra.mockRestore();
  });
});
