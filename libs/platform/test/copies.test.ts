import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Event } from '../src/consumer.js';
import { type TestService, testService } from '../src/testing.js';
import { sample } from './sample.js';

let t: TestService;
beforeAll(async () => {
  t = await testService(sample);
});
afterAll(() => t.close());

async function ask(question: 'state' | 'snapshot', input: object) {
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
    expect(await ask('snapshot', { aggregate: 'shade', merchantId: 0, after: '' })).toEqual({ items: [], next: null });
  });

  it("refuses what is nobody's, and what is another service's", async () => {
    for (const aggregate of ['tone', 'nothing']) {
      expect(await ask('state', { aggregate, id: '1' })).toBe('refused');
      expect(await ask('snapshot', { aggregate, merchantId: 0, after: '' })).toBe('refused');
    }
  });
});

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
