import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { snapshotText } from '../src/events/copies.js';
import type { Event } from '../src/store/event.js';
import type { Table } from '../src/store/schema/table.js';
import { type TestService, testService } from '../src/testing/index.js';
import { sample, things } from './sample.js';

let t: TestService;
beforeAll(async () => {
  t = await testService(sample);
});
afterAll(() => t.close());

async function ask(question: 'state' | 'snapshot_by_key' | 'events', input: object) {
  const reply = await t.bus.request(`cmd.catalog.platform.${question}`, JSON.stringify(input), t.callerOf());
  return reply.ok ? JSON.parse(reply.bytes.toString()) : 'refused';
}

describe('an owner that is asked for the state of objects', () => {
  it('answers the one of an id, and all that another name finds, the newest first, up to a hundred', async () => {
    await t.rows(`insert into things select 15, n, 'thing ' || n, 5, case when n < 4 then 77 else 79 end
      from generate_series(1, 123) n`);
    const item = (id: number) => ({
      merchantId: 15,
      version: 77,
      data: { id, name: `thing ${id}`, size: 5, version: 77 },
    });
    expect(await ask('state', { aggregate: 'thing', id: 1 })).toEqual({ item: item(1) });
    expect(await ask('state', { aggregate: 'thing', by: { version: '77' } })).toEqual({
      item: item(3),
      more: [item(2), item(1)],
    });
    expect(await ask('state', { aggregate: 'thing', by: { version: '78' } })).toEqual({ item: null });
    const { item: newest, more } = await ask('state', { aggregate: 'thing', by: { version: '79' } });
    expect([newest.data.id, more.length]).toEqual([123, 99]);
  });

  it('has none of what its events tell of and it does not keep yet', async () => {
    expect(await ask('state', { aggregate: 'shade', id: '1' })).toEqual({ item: null });
    expect(await ask('state', { aggregate: 'shade', by: { size: '1' } })).toEqual({ item: null });
    expect(await ask('snapshot_by_key', { aggregate: 'shade', merchantId: 0, after: '' })).toEqual({
      items: [],
      next: null,
    });
  });

  it("refuses what is nobody's, and what is another service's", async () => {
    for (const aggregate of ['tone', 'nothing']) {
      expect(await ask('state', { aggregate, id: '1' })).toBe('refused');
      expect(await ask('snapshot_by_key', { aggregate, merchantId: 0, after: '' })).toBe('refused');
    }
  });
});

describe('what is larger than the bus carries', () => {
  const most = 1_048_576;
  const sizeOf = (answer: unknown) => Buffer.byteLength(JSON.stringify(answer));

  it('is answered in more pages of a snapshot', async () => {
    await t.rows(`insert into things select 16, n, n || repeat('é', 10000), 5, 1 from generate_series(1, 120) n`);
    await t.rows('insert into tenants values (16)');
    const ids: number[] = [];
    for (let next = { merchantId: 16, after: '' }; next; ) {
      const page = await ask('snapshot_by_key', { aggregate: 'thing', ...next });
      expect(sizeOf(page)).toBeLessThan(most);
      ids.push(...page.items.map(({ data }: { data: { id: number } }) => data.id));
      next = page.next;
    }
    expect(ids).toEqual(Array.from({ length: 120 }, (_, at) => at + 1));
  });

  it('is answered in part of the events that were missed: the first of them', async () => {
    await t.rows(`insert into outbox (id, type, merchant_id, aggregate, aggregate_id, version, envelope, created_at)
      select 'ev_large_' || n, 'thing.grown', 15, 'thing', 'large', n,
        concat('{"id":"ev_large","type":"thing.grown","merchantId":15,"aggregate":"thing","aggregateId":"large","version":',
          n, ',"data":{"name":"', repeat('é', 10000), '"}}'), 0 from generate_series(1, 120) n`);
    const versions: number[] = [];
    while (versions.length < 120) {
      const from = versions.length + 1;
      const answer = await ask('events', { aggregate: 'thing', aggregateId: 'large', from, to: 121 });
      expect(sizeOf(answer)).toBeLessThan(most);
      versions.push(...answer.events.map(({ version }: Event) => version));
    }
    expect(versions).toEqual(Array.from({ length: 120 }, (_, at) => at + 1));
  });
});

it('a page of a snapshot costs the page, wherever it lies', async () => {
  await t.rows('alter table things disable trigger user');
  await t.rows(`insert into things select 17, n, 'many ' || n, n, 1 from generate_series(1, 20000) n`);
  await t.rows('insert into tenants values (17)');
  await t.rows('analyze things');
  const { items, next } = await ask('snapshot_by_key', { aggregate: 'thing', merchantId: 17, after: '9000' });
  expect(items.map(({ data }: { data: { id: number } }) => data.id)).toEqual(
    Array.from({ length: 500 }, (_, at) => 9_001 + at),
  );
  expect(next).toEqual({ merchantId: 17, after: '9500' });
  for (const after of [undefined, 19_000]) {
    const text = snapshotText(things as unknown as Table<unknown>, 'id', after !== undefined)
      .replace('$1', '17')
      .replace('$2', String(after));
    const [row] = await t.rows(`explain (analyze, format json) ${text}`);
    const read: number[] = [];
    const walk = (plan: Plan) => {
      read.push(plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0));
      for (const inner of plan.Plans ?? []) walk(inner);
    };
    walk((row as { 'QUERY PLAN': { Plan: Plan }[] })['QUERY PLAN'][0]?.Plan as Plan);
    expect(Math.max(...read)).toBe(500);
  }
});

interface Plan {
  'Actual Rows': number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

describe('a copy', () => {
  it('is made of the events of its own aggregate, whatever else has a name that begins alike', async () => {
    const told = (aggregate: string, version: number): Event => ({
      id: `ev_${aggregate}_${version}`,
      type: 'colour.changed',
      merchantId: 15,
      aggregate,
      aggregateId: 'teal',
      version,
      at: 0,
      actor: { kind: 'system', id: '', display: 'system' },
      requestId: '',
      traceparent: '',
      data: { id: 'teal', name: aggregate },
    });
    const [consumer] = t.consumers;
    await consumer?.receive(15, [told('colour', 1), told('colour_mixture', 9)]);
    await consumer?.receive(15, [told('colour_mixture', 10)]);
    expect(await t.rows(`select name, version from colours where id = 'teal'`)).toEqual([
      { name: 'colour', version: 1 },
    ]);
    await consumer?.receive(15, [told('colour', 2)]);
    expect(await t.rows(`select version from colours where id = 'teal'`)).toEqual([{ version: 2 }]);
  });
});
