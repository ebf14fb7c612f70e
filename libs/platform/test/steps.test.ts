import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ErrorSlug, Rejected } from '@recur/kernel';
import type { AggregateOf, Appender, Tx } from '../src/index.js';
import type { EventOf } from '../src/store/aggregate.js';
import { type TestService, testService } from '../src/testing/index.js';
import { getThing, newThing, sample, type sampleEvents, type Thing, thingAggregate, things } from './sample.js';

let t: TestService;
let named = 0;
const name = () => `step ${++named}`;

beforeAll(async () => {
  t = await testService(sample);
});
afterAll(() => t.close());

const made = async (size = 0) => (await t.done(newThing, { name: name(), size })).thing;
const newRow = (tx: Tx | Appender, id: number): Thing => ({
  merchantId: tx.merchantId,
  id,
  name: name(),
  size: 0n,
  version: 0,
});

/** A helper that serves both ways to write. */
async function createIn(tx: Tx | Appender) {
  return tx.step(thingAggregate, newRow(tx, await tx.nextId(things)), 'thing.created', { log: 'New' }).view;
}

describe('a command that reads before it writes', () => {
  it('loses no update when it locks what it reads, however many run at once', async () => {
    const { id } = await made();
    const grow = () =>
      t.db.write(t.callerOf(), async tx => {
        const before = await tx.find(things, { id });
        const thing = await tx.lock(thingAggregate, id, 'unknown_path');
        // locked after it was read: what the lock returns counts
        expect(thing.size >= (before?.size ?? 0n)).toBe(true);
        return {
          thing: tx.step(thingAggregate, { ...thing, size: thing.size + 1n }, 'thing.grown', { log: 'Grow' }).view,
        };
      });
    await Promise.all(Array.from({ length: 24 }, grow));
    expect((await t.done(getThing, { id })).thing).toMatchObject({ size: 24, version: 25 });
  });

  it('collides instead of overwriting when it saves a row that it has not locked', async () => {
    const { id } = await made();
    const write = t.db.write(t.callerOf(), async tx => {
      const thing = await tx.find(things, { id });
      tx.save(things, { ...(thing as Thing), size: 99n });
      tx.log('Thing', 'Grow');
      return {};
    });
    await expect(write).rejects.toMatchObject({ code: '23505', constraint: 'things_pkey' });
    expect((await t.done(getThing, { id })).thing.size).toBe(0);
  });

  it('is decided by the index when it appends: of two at once one is made', async () => {
    const wanted = name();
    const create = () =>
      t.db.append(t.callerOf(), async appender => {
        const [taken, id] = await Promise.all([appender.peek(things, { name: wanted }), appender.nextId(things)]);
        const refusal = new Rejected('invalid_parameters', 'the name is taken');
        if (taken) throw refusal;
        appender.onConflict('things_name', () => refusal);
        const thing = { ...newRow(appender, id), name: wanted };
        return { thing: appender.step(thingAggregate, thing, 'thing.created', { log: 'New' }).view };
      });
    const results = await Promise.allSettled([create(), create()]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(results.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { slug: 'invalid_parameters', message: 'the name is taken' },
    });
    expect(await t.rows('select 1 from things where name = $1', [wanted])).toHaveLength(1);
  });

  it('sees in its transaction what it wrote in it', async () => {
    const { id } = await made(1);
    await t.db.write(t.callerOf(), async tx => {
      expect(await tx.find(things, { id })).toMatchObject({ size: 1n });
      await tx.run('update things set size = 2 where merchant_id = $1 and id = $2', [tx.merchantId, id]);
      expect(await tx.find(things, { id })).toMatchObject({ size: 2n });
      expect(await tx.peek(things, { id })).toMatchObject({ size: 2n });
      tx.log('Thing', 'Grow');
      return {};
    });
  });
});

describe('a step', () => {
  it('numbers the state before its view is made, once for each step', async () => {
    const { id } = await made();
    await t.emitted();
    const versions = await t.db.write(t.callerOf(), async tx => {
      const thing = await tx.lock(thingAggregate, id, 'unknown_path');
      const first = tx.step(thingAggregate, { ...thing, size: 1n }, 'thing.grown').view;
      const second = tx.step(thingAggregate, { ...thing, size: 2n }, 'thing.grown', { log: 'Grow' }).view;
      return { first: first.version, second: second.version };
    });
    expect(versions).toEqual({ first: 2, second: 3 });
    expect((await t.done(getThing, { id })).thing).toMatchObject({ size: 2, version: 3 });
    const events = await t.emitted();
    expect(events.map(({ type, version, data }) => [type, version, (data as { size?: number }).size])).toEqual([
      ['thing.grown', 2, 1],
      ['thing.grown', 3, 2],
      ['operation.logged', 1, undefined],
    ]);
    expect(events.at(-1)).toMatchObject({ data: { target: `Thing(${id})`, content: 'Grow' } });
  });

  it('returns the state with its version and the view of it, of an append too', async () => {
    const view = ({ id, name, size, version }: Thing) => ({ id, name, size: Number(size), version });
    await t.db.append(t.callerOf(), async appender => {
      const row = newRow(appender, await appender.nextId(things));
      const created = appender.step(thingAggregate, row, 'thing.created', { log: 'New' });
      expect(created).toEqual({ state: { ...row, version: 1 }, view: view({ ...row, version: 1 }) });
      return {};
    });
    const { id } = await made(4);
    await t.db.write(t.callerOf(), async tx => {
      const thing = await tx.lock(thingAggregate, id, 'unknown_path');
      const first = tx.step(thingAggregate, { ...thing, size: 6n }, 'thing.grown');
      expect(first).toEqual({
        state: { ...thing, size: 6n, version: 2 },
        view: { ...view(thing), size: 6, version: 2 },
      });
      // the state is what another lock would return
      expect(await tx.lock(thingAggregate, id, 'unknown_path')).toEqual(first.state);
      const second = tx.step(thingAggregate, first.state, 'thing.grown', { log: 'Grow' });
      expect(second.state).toEqual({ ...first.state, version: 3 });
      return {};
    });
    expect((await t.done(getThing, { id })).thing).toMatchObject({ size: 6, version: 3 });
  });

  it('goes on from what the command has saved before', async () => {
    const { id } = await made();
    const answer = await t.db.write(t.callerOf(), async tx => {
      for (let times = 0; times < 2; times++) {
        const thing = await tx.lock(thingAggregate, { id }, 'unknown_path');
        tx.step(thingAggregate, { ...thing, size: thing.size + 1n }, 'thing.grown');
      }
      const thing = await tx.lock(thingAggregate, id, 'unknown_path');
      return { thing: tx.step(thingAggregate, thing, 'thing.grown', { log: 'Grow' }).view };
    });
    expect(answer.thing).toMatchObject({ size: 2, version: 4 });
  });

  it('that emits something else than the view is numbered too', async () => {
    const { id } = await made();
    const version = await t.db.write(t.callerOf(), async tx => {
      const thing = await tx.lock(thingAggregate, id, 'unknown_path');
      const answer = {
        version: tx.emit(thingAggregate, thing, 'thing.grown', { id, name: 'other', size: 7, version: 0 }),
      };
      tx.log('Thing', 'Grow');
      return answer;
    });
    expect(version).toEqual({ version: 2 });
    expect((await t.done(getThing, { id })).thing.version).toBe(2);
  });
});

describe('an append', () => {
  it('writes nothing when it is refused', async () => {
    await t.emitted();
    const refused = t.db.append(t.callerOf({ idempotencyKey: 'refused' }), async appender => {
      await createIn(appender);
      throw new Rejected('invoice_not_open');
    });
    await expect(refused).rejects.toMatchObject({ slug: 'invoice_not_open' });
    expect(await t.emitted()).toEqual([]);
    expect(await t.rows(`select 1 from things where name = $1`, [`step ${named}`])).toEqual([]);
    expect(await t.rows(`select 1 from idempotency where key = 'refused'`)).toEqual([]);
  });

  it('adds a row once', async () => {
    const twice = t.db.append(t.callerOf(), async appender => {
      const thing = newRow(appender, await appender.nextId(things));
      appender.add(things, thing);
      appender.add(things, thing);
      return {};
    });
    await expect(twice).rejects.toThrow('was added before');
  });
});

type Equal<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
type In<Of> = Of extends AggregateOf<infer E, infer Row, infer State, infer View> ? [E, Row, State, View] : never;

/** Compiles only if the type arguments are what they should be. */
const holds = <_True extends true, _False extends false>() => undefined;

describe('types', () => {
  it('allow an aggregate its own events, and require their data of its view', () => {
    type Declared = In<typeof thingAggregate>;
    type View = { id: number; name: string; size: number; version: number };
    type Others = EventOf<typeof sampleEvents, 'colour'>;
    holds<Equal<Declared, ['thing.created' | 'thing.grown', Thing, Thing, View]>, Equal<Declared[0], string>>();
    holds<Equal<Others, 'colour.changed'>, Others extends Declared[0] ? true : false>();
  });

  it('know which slugs are registered', () => {
    holds<'invoice_not_open' extends ErrorSlug ? true : false, 'thing_eaten' extends ErrorSlug ? true : false>();
  });

  it('say which way of writing a handler is in', () => {
    holds<
      'peek' extends keyof Appender & keyof Tx ? true : false,
      Extract<'find' | 'lock' | 'run' | 'save', keyof Appender> extends never ? false : true
    >();
  });
});
