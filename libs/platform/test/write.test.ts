import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Rejected } from '@recur/kernel';
import { CommittedRejection } from '../src/index.js';
import { blockedBy, type MovableClock, ownProcess, type TestService, testService } from '../src/testing/index.js';

import {
  ensureThing,
  getThing,
  growThing,
  newThing,
  sample,
  secretThing,
  Things,
  thingAggregate,
  things,
  wearThing,
} from './sample.js';

let t: TestService;
let named = 0;
const name = () => `thing ${++named}`;

beforeAll(async () => {
  t = await testService(sample);
});
afterAll(() => t.close());
afterEach(() => {
  Things.misbehave = '';
});

describe('a refusal that leaves a trace', () => {
  const sizeOf = async (id: number) => (await t.done(getThing, { id })).thing.size;

  it('is committed with its events, however many come at once, and answered as a refusal', async () => {
    const { thing } = await t.done(newThing, { name: name(), size: 0 });
    await t.emitted();
    const wear = () => t.call(wearThing, { id: thing.id, hold: false });
    const results = await Promise.all(Array.from({ length: 32 }, wear));
    for (const result of results) expect(result).toMatchObject({ ok: false, slug: 'invoice_not_open' });
    expect(await sizeOf(thing.id)).toBe(32);
    expect((await t.emitted()).filter(({ type }) => type === 'operation.logged')).toHaveLength(32);
  });

  it('is no answer to keep: a repeat under its key is refused anew', async () => {
    const { thing } = await t.done(newThing, { name: name(), size: 0 });
    const wear = () => t.call(wearThing, { id: thing.id, hold: false }, { idempotencyKey: `wear ${thing.id}` });
    for (let times = 1; times <= 3; times++) {
      expect(await wear()).toMatchObject({ slug: 'invoice_not_open' });
      expect(await sizeOf(thing.id)).toBe(times);
    }
    expect(await t.rows('select 1 from idempotency where key = $1', [`wear ${thing.id}`])).toEqual([]);
  });

  it('leaves none where the key has an answer: that is given', async () => {
    const { thing } = await t.done(newThing, { name: name(), size: 0 });
    const key = { idempotencyKey: `held ${thing.id}` };
    const first = await t.done(wearThing, { id: thing.id, hold: true }, key);
    const write = (caller: Parameters<typeof t.db.write>[0]) =>
      t.db.write(caller, async tx => {
        tx.save(things, { ...(await tx.lock(things, { id: thing.id }, 'unknown_path')), size: 99n });
        tx.log('Thing', 'Never');
        throw new CommittedRejection(new Rejected('invoice_not_open'));
      });
    const [stored] = await t.rows('select fingerprint from idempotency where key = $1', [key.idempotencyKey]);
    await expect(write({ ...t.callerOf(key), fingerprint: String(stored?.fingerprint) })).rejects.toMatchObject({
      answer: JSON.stringify(first),
    });
    await expect(write({ ...t.callerOf(key), fingerprint: 'another' })).rejects.toMatchObject({
      slug: 'idempotency_reused',
    });
    expect(await sizeOf(thing.id)).toBe(1);
  });
});

describe('an answer to somebody who showed an identity token', () => {
  it('is kept for that token alone', async () => {
    const sender = (identityToken: string) => ({ ip: '', userAgent: '', identityToken });
    const call = (token?: string) =>
      t.call(secretThing, { name: shared }, { idempotencyKey: shared, ...(token && { sender: sender(token) }) });
    const shared = name();
    const first = await call('one');
    expect(await call('one')).toMatchObject({ ok: true, data: first.ok && first.data, replayOf: expect.any(String) });
    expect(await call('two')).toMatchObject({ slug: 'idempotency_reused' });
    expect(await call()).toMatchObject({ slug: 'idempotency_reused' });
  });
});

describe('a command', () => {
  it('leaves its effect, its events and its log entry, or nothing', async () => {
    await t.emitted();
    const { thing } = await t.done(newThing, { name: name(), size: 5 });
    const events = await t.emitted();
    expect(events.map(({ type, version }) => [type, version])).toEqual([
      ['thing.created', 1],
      ['operation.logged', 1],
    ]);
    expect(events[0]).toMatchObject({ merchantId: 15, aggregate: 'thing', aggregateId: String(thing.id), data: thing });
    Things.misbehave = 'bug';
    expect(await t.call(newThing, { name: name(), size: 5 })).toMatchObject({ ok: false, slug: 'internal_error' });
    expect(await t.emitted()).toEqual([]);
  });

  it('that changes something without a log entry is a bug, and changes nothing', async () => {
    Things.misbehave = 'no-log';
    const unlogged = name();
    expect(await t.call(newThing, { name: unlogged, size: 1 })).toMatchObject({ slug: 'internal_error' });
    expect(await t.rows('select 1 from things where name = $1', [unlogged])).toEqual([]);
  });

  it('names every field that is wrong', async () => {
    const result = await t.call(newThing, { name: '', size: 'big' });
    expect(result).toMatchObject({ ok: false, slug: 'invalid_parameters' });
    expect(!result.ok && result.issues.map(({ path }) => path)).toEqual(['/name', '/size']);
  });

  it('numbers the events of one object without a gap, 32 at once', async () => {
    const { thing } = await t.done(newThing, { name: name(), size: 0 });
    await t.emitted();
    await Promise.all(
      Array.from({ length: 32 }, (_, at) => t.done(growThing, { id: thing.id, by: 1, twice: at % 2 === 0 })),
    );
    const versions = (await t.emitted()).filter(event => event.type === 'thing.grown').map(({ version }) => version);
    expect(versions.sort((a, b) => a - b)).toEqual(Array.from({ length: 48 }, (_, at) => at + 2));
    expect(await t.done(getThing, { id: thing.id })).toMatchObject({ thing: { size: 32, version: 49 } });
  });

  it('fails alone when it shares a statement with others', async () => {
    const taken = name();
    await t.done(newThing, { name: taken, size: 1 });
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, at) => t.call(newThing, { name: at === 20 ? taken : name(), size: 1 })),
    );
    expect(results.filter(({ ok }) => !ok)).toMatchObject([
      { slug: 'invalid_parameters', issues: [{ path: '/name' }] },
    ]);
  });

  it('waits for a statement like its own, to share the next one, but not for long; one of another merchant does not', async () => {
    const other = await t.owner();
    await other.query('begin');
    await other.query(`insert into idempotency values (15, 'held', '', '', 'plain', '', 0)`);
    const { rows: processes } = await other.query(ownProcess);
    const held = t.done(newThing, { name: name(), size: 1 }, { idempotencyKey: 'held' });
    const waiting = () => blockedBy(t, processes[0].pid);
    let before = await waiting();
    while (before.length === 0) before = await waiting();
    try {
      const sharing: Promise<{ thing: { id: number } }>[] = [];
      for (let at = 0; at < 5; at++) {
        sharing.push(t.done(newThing, { name: name(), size: 1 }));
        await t.rows('select');
      }
      await t.done(newThing, { name: name(), size: 1 }, { merchantId: 16 });
      const ids = (await Promise.all(sharing)).map(({ thing }) => thing.id);
      expect(await waiting()).toEqual(before);
      const statements = await t.rows('select distinct xmin::text from things where id = any($1)', [ids]);
      expect(statements.length).toBeLessThan(ids.length);
    } finally {
      // its transaction ends with it
      await other.end();
    }
    await held;
  });

  it('that runs into a unique index runs again where that is what the conflict means', async () => {
    await t.emitted();
    const wanted = name();
    const results = await Promise.all(
      Array.from({ length: 64 }, (_, at) =>
        t.done(ensureThing, { name: wanted }, at % 2 ? { idempotencyKey: `ensure ${at}` } : {}),
      ),
    );
    const [made] = await t.rows('select id from things where name = $1', [wanted]);
    expect(new Set(results.map(({ thing }) => thing.id))).toEqual(new Set([Number(made?.id)]));
    const events = await t.emitted();
    expect(events.map(({ type }) => type)).toEqual(['thing.created', 'operation.logged']);
  });

  it('past its deadline is refused', async () => {
    const reply = await t.server.dispatch('thing.new', '{"name":"late","size":1}', {
      ...t.callerOf(),
      deadline: 1,
    });
    expect(JSON.parse(reply.bytes.toString())).toMatchObject({ slug: 'deadline_exceeded' });
  });
});

describe('an Idempotency-Key', () => {
  it('makes one effect and equal bytes of 64 calls at once, and of a later one', async () => {
    const input = JSON.stringify({ name: name(), size: 3 });
    const call = () => t.server.dispatch('thing.new', input, t.callerOf({ idempotencyKey: 'once' }));
    const replies = await Promise.all(Array.from({ length: 64 }, call));
    const again = await call();
    expect(new Set([...replies, again].map(({ bytes }) => bytes.toString())).size).toBe(1);
    const first = replies.filter(({ replayOf }) => replayOf === undefined);
    expect(first).toHaveLength(1);
    expect(new Set(replies.map(({ replayOf }) => replayOf)).size).toBe(2);
    expect(await t.rows('select 1 from things where name = $1', [JSON.parse(input).name])).toHaveLength(1);
  });

  it('is of no use to a handler that answers something else than what its write has returned: that is a bug', async () => {
    const { thing } = await t.done(newThing, { name: name(), size: 1 });
    Things.misbehave = 'another-answer';
    expect(await t.call(growThing, { id: thing.id, by: 1 })).toMatchObject({ slug: 'internal_error' });
    Things.misbehave = '';
    expect(await t.call(growThing, { id: thing.id, by: 1 })).toMatchObject({ ok: true });
  });

  it('answers a repeat although the state would now refuse it', async () => {
    const input = { name: name(), size: 1 };
    const first = await t.done(newThing, input, { idempotencyKey: 'taken' });
    const repeat = await t.call(newThing, input, { idempotencyKey: 'taken' });
    expect(repeat).toMatchObject({ ok: true, data: first });
  });

  it('belongs to one request, and to one merchant', async () => {
    await t.done(newThing, { name: name(), size: 1 }, { idempotencyKey: 'mine' });
    expect(await t.call(newThing, { name: name(), size: 2 }, { idempotencyKey: 'mine' })).toMatchObject({
      slug: 'idempotency_reused',
    });
    await t.done(newThing, { name: name(), size: 2 }, { idempotencyKey: 'mine', merchantId: 16 });
  });

  it('stores nothing of a failure', async () => {
    Things.misbehave = 'bug';
    const input = { name: name(), size: 1 };
    await t.call(newThing, input, { idempotencyKey: 'failed' });
    Things.misbehave = '';
    expect(await t.call(newThing, input, { idempotencyKey: 'failed' })).toMatchObject({ ok: true });
  });

  it('keeps an answer that holds a secret encrypted', async () => {
    const input = { name: name() };
    const first = await t.done(secretThing, input, { idempotencyKey: 'secret' });
    expect(await t.call(secretThing, input, { idempotencyKey: 'secret' })).toMatchObject({ ok: true, data: first });
    const [row] = await t.rows(`select answer::text as answer from idempotency where key = 'secret'`);
    expect(row?.answer).toMatch(/^v1\.k1\./);
    expect(row?.answer).not.toContain('canary');
  });
});

describe('a pool of which commands hold every connection', () => {
  it('stops none of them: an id or a new merchant needs no other connection of it', async () => {
    const { thing } = await t.done(newThing, { name: name(), size: 0 });
    const grow = () =>
      t.db.write(t.callerOf({ merchantId: 15 }), async tx => {
        const locked = await tx.lock(things, { id: thing.id }, 'unknown_path');
        const id = await tx.nextId(things);
        tx.save(things, { ...locked, size: locked.size + 1n });
        tx.log(`Thing(${id})`, 'Grow');
        return {};
      });
    const settle = (merchantId: number) =>
      t.db.write(t.callerOf({ merchantId }), async tx => {
        await tx.run('select pg_sleep(0.01)', []);
        tx.log('Thing', 'Settle');
        return {};
      });
    await Promise.all(Array.from({ length: 40 }, (_, at) => (at % 2 ? grow() : settle(1_000 + at))));
    expect((await t.done(getThing, { id: thing.id })).thing.size).toBe(20);
  });
});

describe('a statement that fails', () => {
  it('costs no connection: many refused commands would else make many new ones', async () => {
    const taken = name();
    await t.done(newThing, { name: taken, size: 1 });
    const backends = async () =>
      (await t.rows(`select pid from pg_stat_activity where usename = 'catalog_app' and datname = current_database()`))
        .map(({ pid }) => pid)
        .sort();
    await Promise.all(Array.from({ length: 40 }, () => t.call(newThing, { name: name(), size: 1 })));
    const before = await backends();
    const results = await Promise.all(Array.from({ length: 40 }, () => t.call(newThing, { name: taken, size: 1 })));
    expect(results.filter(({ ok }) => ok)).toEqual([]);
    expect(await backends()).toEqual(expect.arrayContaining(before));
  });
});

describe('row-level security', () => {
  it('hides another merchant even from a query without a condition', async () => {
    const { thing } = await t.done(newThing, { name: name(), size: 1 }, { merchantId: 17 });
    const seen = await t.db.read(t.callerOf({ merchantId: 18 }), reader => reader.query('select id from things', []));
    expect(seen).toEqual([]);
    const own = await t.db.read(t.callerOf({ merchantId: 17 }), reader => reader.query('select id from things', []));
    expect(own).toEqual([{ id: String(thing.id) }]);
  });

  it('hides them from each other however many ask at once', async () => {
    await t.done(newThing, { name: name(), size: 1 }, { merchantId: 21 });
    await t.done(newThing, { name: name(), size: 1 }, { merchantId: 22 });
    const ask = (merchantId: number, at: number) =>
      t.db.read(t.callerOf({ merchantId }), reader =>
        reader.query('select distinct merchant_id from things where $1::int >= 0', [at]),
      );
    for (let round = 0; round < 20; round++) {
      const asking = Array.from({ length: 16 }, (_, at) => ((at + round) % 3 === 0 ? 21 : 22));
      const seen = await Promise.all(asking.map(ask));
      expect(seen).toEqual(asking.map(merchantId => [{ merchant_id: String(merchantId) }]));
    }
  });

  it('answers nothing on a connection that could not be set to the merchant', async () => {
    await t.done(newThing, { name: name(), size: 1 }, { merchantId: 23 });
    const everything = (merchantId: number) =>
      t.db.read(t.callerOf({ merchantId }), reader => reader.query('select merchant_id from things', []));
    // both connections see this merchant
    for (let times = 0; times < 2; times++) expect(await everything(23)).toEqual([{ merchant_id: '23' }]);
    await t.rows('revoke execute on function set_config(text, text, boolean) from public');
    try {
      for (let times = 0; times < 4; times++) await expect(everything(24)).rejects.toThrow(/permission denied/);
    } finally {
      await t.rows('grant execute on function set_config(text, text, boolean) to public');
    }
    expect(await everything(24)).toEqual([]);
    expect(await everything(23)).toEqual([{ merchant_id: '23' }]);
  });

  it('refuses a row of another merchant', async () => {
    const write = t.db.write(t.callerOf({ merchantId: 18 }), async tx => {
      tx.save(
        sample.schema.tables[0] as never,
        { merchantId: 17, id: 99_999, name: 'x', size: 0n, version: 0 } as never,
      );
      tx.log('Thing(99999)', 'New');
      return {};
    });
    await expect(write).rejects.toThrow(/row-level security/);
  });

  it('lets a GET write nothing', async () => {
    const write = t.db.read(t.callerOf(), reader => reader.query('delete from things', []));
    await expect(write).rejects.toThrow(/read-only/);
  });
});

describe('a copy', () => {
  it('is asked for when it would refuse; its owner away is 56, never a refusal', async () => {
    expect(await t.call(newThing, { name: name(), size: 1, colour: 'red' })).toMatchObject({ slug: 'dependency_away' });
    t.bus.answer('identity', async () => ({
      ok: true,
      bytes: JSON.stringify({ item: { merchantId: 15, version: 3, data: { id: 'red', name: 'Red' } } }),
    }));
    expect(await t.call(newThing, { name: name(), size: 1, colour: 'red' })).toMatchObject({ ok: true });
    t.bus.remove('identity');
    expect(await t.call(newThing, { name: name(), size: 1, colour: 'red' })).toMatchObject({ ok: true });
    t.bus.answer('identity', async () => ({ ok: true, bytes: '{"item":null}' }));
    expect(await t.call(newThing, { name: name(), size: 1, colour: 'blue' })).toMatchObject({
      slug: 'invalid_parameters',
    });
  });

  it('takes the newest state, whatever the order of its events', async () => {
    const event = (version: number) => ({
      id: `ev_${version}`,
      type: 'colour.changed',
      merchantId: 15,
      aggregate: 'colour',
      aggregateId: 'green',
      version,
      at: 0,
      actor: t.callerOf().actor,
      requestId: '',
      traceparent: '',
      data: { id: 'green', name: `v${version}` },
    });
    await t.deliver('identity', [event(2), event(1), event(3), event(2)]);
    expect(await t.rows(`select name, version from colours where id = 'green'`)).toEqual([{ name: 'v3', version: 3 }]);
  });
});

it('maps its tables as the migrations make them', async () => {
  expect(await t.drift()).toEqual([]);
});

it('an index and a foreign key that do not begin with the merchant are found', async () => {
  expect(await t.withoutMerchant()).toEqual([]);
  await t.rows('create index things_by_name on things (name, merchant_id)');
  await t.rows('create unique index things_alone on things (id)');
  await t.rows('alter table things add column parent_id bigint');
  await t.rows('alter table things add constraint things_parent foreign key (parent_id) references things (id)');
  await t.rows(`alter table things add constraint things_sound foreign key (merchant_id, parent_id)
    references things (merchant_id, id)`);
  try {
    expect(await t.withoutMerchant()).toEqual(['things_alone', 'things_by_name', 'things_parent']);
  } finally {
    await t.rows('alter table things drop column parent_id');
    await t.rows('drop index things_by_name, things_alone');
  }
});

describe('what is kept', () => {
  const count = async (table: string) => (await t.rows(`select count(*)::int as n from ${table}`))[0]?.n;

  it('is removed when its time is over, and not before', async () => {
    const clock = t.clock as MovableClock;
    await t.done(secretThing, { name: name() }, { idempotencyKey: 'a secret to forget' });
    await t.rows('delete from unpublished where not (select max(seq) from outbox) = any(seqs)');
    await t.rows(`insert into inbox values ('reader', 'ev_old', $1)`, [clock.now()]);
    const sealed = `idempotency where form = 'sealed'`;
    await t.janitor.sweep();
    expect(await count(sealed)).toBeGreaterThan(0);
    clock.advance(86_401);
    await t.janitor.sweep();
    expect(await count(sealed)).toBe(0);
    expect(await count('idempotency')).toBeGreaterThan(0);
    clock.advance(29 * 86_400);
    await t.janitor.sweep();
    // an answer goes before the events that it names
    expect(await count('idempotency')).toBe(0);
    expect(await count('outbox')).toBeGreaterThan(1);
    clock.advance(86_400);
    await t.janitor.sweep();
    // what was never published stays
    expect(await count('outbox')).toBe(1);
    expect(await count(`inbox where event_id = 'ev_old'`)).toBe(1);
    clock.advance(86_400);
    await t.janitor.sweep();
    expect(await count(`inbox where event_id = 'ev_old'`)).toBe(0);
  });

  it("is as old as the machine's clock says, whatever time it is for its merchant", async () => {
    const clock = t.clock as MovableClock;
    const now = () => clock.now() + 365 * 86_400;
    const ahead = await testService(sample, { clock: { now, wall: () => clock.wall() } });
    await ahead.done(newThing, { name: name(), size: 0 }, { idempotencyKey: 'ahead' });
    const [row] = await ahead.rows(`select array_agg(distinct created_at) as seconds, min(envelope) as envelope
      from (select created_at, envelope from outbox union all select created_at, null from idempotency) kept`);
    expect(row?.seconds).toEqual([String(clock.now())]);
    expect(JSON.parse(String(row?.envelope)).at).toBe(now());
    await ahead.close();
  });

  it('is removed whole, however much there is', async () => {
    await t.rows(`insert into inbox select 'reader', 'ev_' || n, 1 from generate_series(1, 2500) n`);
    await t.janitor.sweep();
    expect(await count('inbox')).toBe(0);
  });
});

describe('what one command does to one row in more than one step', () => {
  it('adds up: a lock answers what was saved before it', async () => {
    const { thing } = await t.done(newThing, { name: name(), size: 1 });
    await t.db.write(t.callerOf(), async tx => {
      for (let times = 0; times < 2; times++) {
        const locked = await tx.lock(things, { id: thing.id }, 'unknown_path');
        tx.save(things, { ...locked, size: locked.size + 1n });
      }
      tx.log('Thing', 'Grow');
      return {};
    });
    expect((await t.done(getThing, { id: thing.id })).thing.size).toBe(3);
  });

  it('is told event by event, also where two carry one and the same data', async () => {
    const { thing } = await t.done(newThing, { name: name(), size: 1 });
    await t.emitted();
    await t.db.write(t.callerOf(), async tx => {
      const locked = await tx.lock(thingAggregate, thing.id, 'unknown_path');
      tx.emit(thingAggregate, locked, 'thing.created', thing);
      tx.emit(thingAggregate, locked, 'thing.grown', thing);
      tx.log('Thing', 'Grow');
      return {};
    });
    const told = (await t.emitted()).filter(({ aggregate }) => aggregate === 'thing');
    expect(told.map(({ type, version }) => [type, version])).toEqual([
      ['thing.created', 2],
      ['thing.grown', 3],
    ]);
  });
});
