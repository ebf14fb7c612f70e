import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Rejected } from '@recur/kernel';
import pg from 'pg';
import { systemCaller, type Tx } from '../src/index.js';
import { type TestService, testService } from '../src/testing/index.js';
import { newThing, sample, type Thing, thingAggregate, things } from './sample.js';

/* `saveNow` writes at once what `save` collects for the commit: by the same statements, on both paths. */

const query = jest.spyOn(pg.Client.prototype, 'query');
const statements = () =>
  query.mock.calls
    .map(([asked]) => String((asked as { text?: string }).text ?? asked))
    .filter(text => /things/.test(text));

describe.each([
  ['fast', {}],
  ['plain', { STORE_FAST: 'false' }],
])('saveNow on the %s path', (_, env) => {
  let t: TestService;
  let named = 0;
  const name = () => `{now} "${++named}" ü\\`;

  beforeAll(async () => {
    t = await testService(sample, { env });
  });
  afterAll(() => t.close());
  beforeEach(() => t.emitted());

  const made = async (of = name()) => (await t.done(newThing, { name: of, size: 5 })).thing.id;
  const newRow = async (tx: Tx, of = name()): Promise<Thing> => ({
    merchantId: tx.merchantId,
    id: await tx.nextId(things),
    name: of,
    size: 1n,
    version: 0,
  });
  const write = (run: (tx: Tx) => Promise<unknown>) =>
    t.db.write(t.callerOf(), async tx => {
      await run(tx);
      tx.logAlso('Thing', 'Write');
      return {};
    });
  const stored = (id: number) => t.rows('select name, size::int as size, version from things where id = $1', [id]);
  const told = async () =>
    (await t.emitted())
      .filter(({ type }) => type !== 'operation.logged')
      .map(({ type, version, data }) => [type, version, (data as { size: number }).size]);

  it('inserts a row that reads and locks of the transaction find', async () => {
    let id = 0;
    await write(async tx => {
      const row = await newRow(tx);
      id = row.id;
      await tx.saveNow(things, row);
      expect(await tx.find(things, { id })).toEqual(row);
      expect(await tx.lock(thingAggregate, id, 'unknown_path')).toEqual(row);
    });
    expect(await stored(id)).toMatchObject([{ size: 1, version: 0 }]);
    expect(await told()).toEqual([]);
  });

  it('updates a locked row with one statement, and the commit does not write it again', async () => {
    const id = await made();
    query.mockClear();
    await write(async tx => {
      const thing = await tx.lock(things, { id }, 'unknown_path');
      await tx.saveNow(things, { ...thing, size: 6n });
      expect(await tx.find(things, { id })).toMatchObject({ size: 6n, version: 1 });
    });
    const texts = statements();
    expect(texts).toHaveLength(3);
    expect(texts.filter(text => /^update things/.test(text))).toHaveLength(1);
    expect(await stored(id)).toMatchObject([{ size: 6, version: 1 }]);
  });

  it.each(['inserted', 'locked'])('of a row that was %s goes before a save and a step of it', async how => {
    const known = how === 'locked' ? await made() : undefined;
    await t.emitted();
    let id = 0;
    await write(async tx => {
      const before = known ? await tx.lock(things, { id: known }, 'unknown_path') : await newRow(tx);
      id = before.id;
      await tx.saveNow(things, { ...before, size: 10n });
      tx.save(things, { ...before, size: 11n });
      expect(await tx.lock(things, { id }, 'unknown_path')).toMatchObject({ size: 11n });
      expect(await tx.find(things, { id })).toMatchObject({ size: 10n });
      await tx.saveNow(things, { ...before, size: 12n });
      const { state } = tx.step(thingAggregate, { ...before, size: 13n }, 'thing.grown');
      expect(state).toMatchObject({ size: 13n, version: before.version + 1 });
    });
    const version = known ? 2 : 1;
    expect(await stored(id)).toMatchObject([{ size: 13, version }]);
    expect(await told()).toEqual([['thing.grown', version, 13]]);
  });

  it('inserts a row that was only to be inserted with the commit, once and as it was numbered', async () => {
    let id = 0;
    await write(async tx => {
      const row = await newRow(tx);
      id = row.id;
      const { state } = tx.step(thingAggregate, row, 'thing.created');
      await tx.saveNow(things, { ...state, size: 2n });
      expect(await tx.find(things, { id })).toMatchObject({ size: 2n, version: 1 });
    });
    expect(await stored(id)).toMatchObject([{ size: 2, version: 1 }]);
    expect(await told()).toEqual([['thing.created', 1, 1]]);
  });

  it('leaves the events of steps before it to the commit where that has no row to write', async () => {
    const id = await made();
    await t.emitted();
    await t.db.apply(systemCaller(15, 'test', Number.POSITIVE_INFINITY), async tx => {
      const thing = await tx.lock(thingAggregate, id, 'unknown_path');
      const { state } = tx.step(thingAggregate, { ...thing, size: 8n }, 'thing.grown');
      await tx.saveNow(things, state);
    });
    expect(await stored(id)).toMatchObject([{ size: 8, version: 2 }]);
    expect(await told()).toEqual([['thing.grown', 2, 8]]);
  });

  it('is seen by a unique index before another row takes the name', async () => {
    const [taken, other] = [name(), name()];
    const id = await made(taken);
    let next = 0;
    await write(async tx => {
      const thing = await tx.lock(things, { id }, 'unknown_path');
      await tx.saveNow(things, { ...thing, name: other });
      const row = await newRow(tx, taken);
      next = row.id;
      tx.save(things, row);
    });
    expect(await stored(id)).toMatchObject([{ name: other }]);
    expect(await stored(next)).toMatchObject([{ name: taken }]);
  });

  it('runs into a unique index at once, which means what the command says', async () => {
    const taken = name();
    await made(taken);
    let wentOn = false;
    const refused = write(async tx => {
      tx.onConflict('things_name', () => new Rejected('invoice_not_open'));
      await tx.saveNow(things, await newRow(tx, taken));
      wentOn = true;
    });
    await expect(refused).rejects.toMatchObject({ slug: 'invoice_not_open' });
    expect(wentOn).toBe(false);
  });

  it('is rolled back with its transaction', async () => {
    const id = await made();
    await t.emitted();
    let added = 0;
    const refused = write(async tx => {
      const row = await newRow(tx);
      added = row.id;
      const thing = await tx.lock(thingAggregate, id, 'unknown_path');
      await tx.saveNow(things, row);
      await tx.saveNow(things, { ...thing, size: 9n });
      tx.step(thingAggregate, { ...thing, size: 9n }, 'thing.grown');
      throw new Rejected('invoice_not_open');
    });
    await expect(refused).rejects.toMatchObject({ slug: 'invoice_not_open' });
    expect(await stored(id)).toMatchObject([{ size: 5, version: 1 }]);
    expect(await stored(added)).toEqual([]);
    expect(await told()).toEqual([]);
  });

  it('is a change, which wants a log entry like any other', async () => {
    const unlogged = t.db.write(t.callerOf(), async tx => {
      await tx.saveNow(things, await newRow(tx));
      return {};
    });
    await expect(unlogged).rejects.toThrow('writes its log entry');
  });
});
