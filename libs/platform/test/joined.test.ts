import assert from 'node:assert/strict';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Rejected } from '@recur/kernel';
import pg from 'pg';
import { type Caller, CommittedRejection, type Tx } from '../src/index.js';
import { type TestService, testService } from '../src/testing/index.js';
import { newThing, sample, thingAggregate, things } from './sample.js';

/* Commands that are sent at once share a transaction, and none of them notices. */

const query = jest.spyOn(pg.Client.prototype, 'query');
const texts = () => query.mock.calls.map(([asked]) => String((asked as { text?: string }).text ?? asked));
const transactions = () => texts().filter(text => text.startsWith('begin')).length;

describe.each([
  ['fast', {}],
  ['plain', { STORE_FAST: 'false' }],
])('writeJoined on the %s path', (_, env) => {
  let t: TestService;
  let named = 0;
  const made = async () => (await t.done(newThing, { name: `joined ${++named}`, size: 5 })).thing.id;
  const several = (count: number) => Promise.all(Array.from({ length: count }, made));

  beforeAll(async () => {
    t = await testService(sample, { env });
  });
  afterAll(() => t.close());
  beforeEach(async () => {
    await t.emitted();
    query.mockClear();
  });

  const joined = (run: (tx: Tx) => Promise<object>, caller: Partial<Caller> = {}) =>
    t.db.writeJoined({ ...t.callerOf(), ...caller }, 'test', run);
  const grown = async (tx: Tx, id: number) => {
    const thing = await tx.lock(thingAggregate, id, 'unknown_path');
    return tx.step(thingAggregate, { ...thing, size: thing.size + 1n }, 'thing.grown', { log: 'Grow' }).view;
  };
  const outcomes = async (runs: readonly Promise<object>[]) =>
    (await Promise.allSettled(runs)).map(each => (each.status === 'fulfilled' ? each.value : each.reason));
  const sizes = async (ids: readonly number[]) => {
    const rows = await t.rows('select id, size::int as size from things where id = any($1)', [ids]);
    return ids.map(id => rows.find(row => Number(row.id) === id)?.size);
  };
  const refuse = () => Promise.reject(new Rejected('invoice_not_open'));

  it('runs what is sent at once in one transaction, with one question for all and an answer for each', async () => {
    const ids = await several(20);
    query.mockClear();
    const answers = await Promise.all(ids.map(id => joined(tx => grown(tx, id))));
    expect(answers).toMatchObject(ids.map(id => ({ id, size: 6, version: 2 })));
    expect(transactions()).toBe(1);
    expect(texts().filter(text => text.includes('for update'))).toHaveLength(1);
    expect(await sizes(ids)).toEqual(ids.map(() => 6));
  });

  it('gives each command its own request id, actor and entry in the log', async () => {
    const ids = await several(3);
    await t.emitted();
    const actorOf = (at: number) => ({ kind: 'key', id: `key_${at}`, display: '' }) as const;
    await Promise.all(ids.map((id, at) => joined(tx => grown(tx, id), { requestId: `own_${at}`, actor: actorOf(at) })));
    const events = await t.emitted();
    const told = events.map(({ type, requestId, actor, data }) => [
      type,
      requestId,
      actor.id,
      (data as { id?: number }).id,
    ]);
    expect(told.filter(([type]) => type === 'thing.grown')).toEqual(
      ids.map((id, at) => ['thing.grown', `own_${at}`, `key_${at}`, id]),
    );
    expect(told.filter(([type]) => type === 'operation.logged')).toEqual(
      ids.map((__, at) => ['operation.logged', `own_${at}`, `key_${at}`, undefined]),
    );
  });

  it('a refused one leaves no trace and stops no other', async () => {
    const ids = await several(5);
    query.mockClear();
    const found = await outcomes(
      ids.map((id, at) =>
        joined(async tx => {
          const view = await grown(tx, id);
          return at === 2 ? refuse() : view;
        }),
      ),
    );
    expect(found[2]).toMatchObject({ slug: 'invoice_not_open' });
    expect(await sizes(ids)).toEqual([6, 6, 5, 6, 6]);
    expect(transactions()).toBe(1);
    expect((await t.emitted()).filter(({ type }) => type === 'thing.grown')).toHaveLength(4);
  });

  it('takes back what a refused one has written at once, and nothing of the others', async () => {
    const ids = await several(3);
    const found = await outcomes(
      ids.map((id, at) =>
        joined(async tx => {
          if (at !== 1) return grown(tx, id);
          await tx.run('update things set size = 99 where merchant_id = $1 and id = $2', [tx.merchantId, id]);
          return refuse();
        }),
      ),
    );
    expect(found[1]).toMatchObject({ slug: 'invoice_not_open' });
    expect(await sizes(ids)).toEqual([6, 5, 6]);
  });

  it('takes back what others wrote for a refused one', async () => {
    const ids = await several(3);
    const counted = async (asked: readonly number[], tx: Tx) => {
      const [row] = await tx.run(
        'update things set size = size + $3 where merchant_id = $1 and id = $2 returning size',
        [tx.merchantId, ids[0], asked.length],
      );
      return asked.map((__, at) => Number(row?.size) - at);
    };
    const found = await outcomes(
      [0, 1, 2].map(at =>
        joined(async tx => {
          const number = await tx.jointlyWritten('number', at, asked => counted(asked, tx));
          tx.log('Thing', 'Count');
          return at === 1 ? refuse() : { number };
        }),
      ),
    );
    expect(found[1]).toMatchObject({ slug: 'invoice_not_open' });
    expect([found[0], found[2]].map(each => (each as { number: number }).number).sort()).toEqual([6, 7]);
    expect(await sizes(ids.slice(0, 1))).toEqual([7]);
  });

  it('nothing runs again after the commit, whatever fails then', async () => {
    const ids = await several(3);
    const found = await outcomes(
      ids.map((id, at) =>
        joined(async tx => {
          if (at === 1) tx.onCommit(() => assert.fail('cannot be woken'));
          return grown(tx, id);
        }),
      ),
    );
    for (const each of found) expect(each).toMatchObject({ message: 'cannot be woken' });
    expect(await sizes(ids)).toEqual([6, 6, 6]);
  });

  it('64 commands about the same row run one after the other', async () => {
    const id = await made();
    const answers = await Promise.all(Array.from({ length: 64 }, () => joined(tx => grown(tx, id))));
    const versions = answers.map(answer => (answer as { version: number }).version);
    expect(versions.sort((a, b) => a - b)).toEqual(Array.from({ length: 64 }, (__, at) => at + 2));
    expect(await sizes([id])).toEqual([69]);
  });

  it('two that only read a locked row go together, and one that changes it makes them take turns', async () => {
    const [id = 0, ...others] = await several(3);
    const readers = () =>
      others.map(other =>
        joined(async tx => {
          const { size } = await tx.lock(things, { id }, 'unknown_path');
          await grown(tx, other);
          return { size: Number(size) };
        }),
      );
    query.mockClear();
    expect(await Promise.all(readers())).toEqual([{ size: 5 }, { size: 5 }]);
    expect(transactions()).toBe(1);
    query.mockClear();
    await Promise.all([...readers(), joined(tx => grown(tx, id))]);
    expect(transactions()).toBeGreaterThan(1);
    expect(await sizes([id, ...others])).toEqual([6, 7, 7]);
  });

  it('two that lock one name take turns', async () => {
    const name = `named ${++named}`;
    const answers = await Promise.all(
      [0, 1].map(() =>
        joined(async tx => {
          await tx.lockName(name);
          const there = await tx.find(things, { name });
          if (there) return { isNew: false };
          const row = { merchantId: tx.merchantId, id: await tx.nextId(things), name, size: 1n, version: 0 };
          tx.step(thingAggregate, row, 'thing.created', { log: 'New' });
          return { isNew: true };
        }),
      ),
    );
    expect(answers).toEqual(expect.arrayContaining([{ isNew: true }, { isNew: false }]));
  });

  it('a conflict at the commit refuses the one whose it is', async () => {
    await made();
    const taken = `joined ${named}`;
    const names = [`free ${++named}`, taken, `free ${++named}`];
    const found = await outcomes(
      names.map(name =>
        joined(async tx => {
          tx.onConflict('things_name', () => new Rejected('unknown_path'));
          const row = { merchantId: tx.merchantId, id: await tx.nextId(things), name, size: 1n, version: 0 };
          return tx.step(thingAggregate, row, 'thing.created', { log: 'New' }).view;
        }),
      ),
    );
    expect(found).toMatchObject([{ name: names[0] }, { slug: 'unknown_path' }, { name: names[2] }]);
  });

  it('stores the answer of each under its own key, and a refusal that commits is committed', async () => {
    const ids = await several(3);
    const keyed = (at: number, run: (tx: Tx) => Promise<object>) =>
      joined(run, { idempotencyKey: `joined-${_}-${at}`, fingerprint: 'same' });
    const all = () =>
      outcomes(
        ids.map((id, at) =>
          keyed(at, async tx => {
            const view = await grown(tx, id);
            if (at === 1) throw new CommittedRejection(new Rejected('invoice_not_open'));
            return { view };
          }),
        ),
      );
    const first = await all();
    expect(first[1]).toMatchObject({ slug: 'invoice_not_open' });
    expect(await sizes(ids)).toEqual([6, 6, 6]);
    const again = await all();
    for (const at of [0, 2]) expect(JSON.parse((again[at] as { answer: string }).answer)).toEqual(first[at]);
    expect(await sizes(ids)).toEqual([6, 7, 6]);
  });

  it('those that come while others are under way share the next transaction, and merchants share none', async () => {
    const ids = await several(120);
    query.mockClear();
    const other = { merchantId: 16 };
    const [elsewhere] = await Promise.all([
      joined(async tx => ({ merchantId: tx.merchantId }), other),
      ...ids.map(id => joined(tx => grown(tx, id))),
    ]);
    expect(elsewhere).toEqual(other);
    expect(await sizes(ids)).toEqual(ids.map(() => 6));
    expect(transactions()).toBe(4);
  });
});
