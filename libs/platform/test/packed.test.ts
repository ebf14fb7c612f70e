import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { countIn, eventsIn, packed } from '../src/events/envelope.js';
import { type EventKinds, eventIn, eventJson, wholeIn } from '../src/store/event.js';
import type { Row } from '../src/store/pool.js';
import { sample } from './sample.js';

const rowOf = (seq: number, object: number, type: string, envelope = `{"n":${seq}}`): Row => ({
  seq,
  id: `ev_${seq}`,
  type,
  merchant_id: String(object % 2),
  aggregate: 'thing',
  aggregate_id: String(object),
  envelope,
});
const idsIn = (rows: readonly Row[]) => rows.map(({ id }) => id);

describe('events that are packed', () => {
  it('travel once, with others of their type, and those of one object in order', () => {
    const some = fc.array(fc.record({ object: fc.integer({ min: 1, max: 4 }), type: fc.constantFrom('a', 'b', 'c') }), {
      maxLength: 300,
    });
    fc.assert(
      fc.property(some, chosen => {
        const rows = chosen.map(({ object, type }, seq) => rowOf(seq, object, type));
        const parcels = packed('catalog', rows);
        const sent = parcels.flatMap(parcel => parcel.rows);
        expect(idsIn(sent).sort()).toEqual(idsIn(rows).sort());
        for (const { subject, payload, rows } of parcels) {
          expect(rows.every(({ type }) => subject === `evt.catalog.${type}`)).toBe(true);
          expect(payload.toString().split('\n')).toEqual(rows.map(({ envelope }) => envelope));
          expect(rows.length).toBeLessThanOrEqual(64);
        }
        for (const object of ['1', '2', '3', '4']) {
          const own = sent.filter(row => row.aggregate_id === object).map(({ seq }) => Number(seq));
          expect(own).toEqual([...own].sort((one, other) => one - other));
        }
      }),
    );
  });

  it('fill few messages where they come mixed', () => {
    const rows = Array.from({ length: 128 }, (_, seq) => rowOf(seq, seq, seq % 2 ? 'a' : 'b'));
    expect(packed('catalog', rows).map(parcel => parcel.rows.length)).toEqual([64, 64]);
  });

  it('are no more than a message is to carry: one that is longer travels alone', () => {
    const rows = [100_000, 100_000, 100_000, 900_000, 10].map((length, seq) =>
      rowOf(seq, seq, 'a', 'x'.repeat(length)),
    );
    expect(packed('catalog', rows).map(parcel => idsIn(parcel.rows))).toEqual([
      ['ev_0', 'ev_1'],
      ['ev_2'],
      ['ev_3'],
      ['ev_4'],
    ]);
  });

  it('have an id of their own together, or the stream would drop what came after they were sent before', () => {
    const [one, two, three] = [1, 2, 3].map(seq => rowOf(seq, seq, 'a')) as [Row, Row, Row];
    const idOf = (...rows: Row[]) => packed('catalog', rows)[0]?.id;
    expect(idOf(one)).toBe('ev_1');
    expect(new Set([idOf(one), idOf(one, two), idOf(one, two, three), idOf(one, three), idOf(two, three)]).size).toBe(
      5,
    );
    expect(idOf(one, two)).toBe(idOf(one, two));
  });
});

describe('an event', () => {
  const head = {
    id: 'ev_1',
    type: 'thing.grown',
    merchantId: 15,
    aggregate: 'thing',
    aggregateId: '1',
    version: 2,
    at: 1,
    actor: { kind: 'system', id: '', display: '"data":' } as const,
    requestId: 'req_1',
    traceparent: '',
  };
  const data = { id: 1, name: '', size: 0, version: 2 };
  const read = (envelope: string, kinds: EventKinds) => JSON.parse(JSON.stringify(eventIn(envelope, kinds)));

  it('is kept without what is empty, read whole, and its data answered byte for byte', () => {
    const { envelope, data: whole } = eventJson(head, data, sample.events['thing.grown']);
    expect(JSON.parse(envelope)).toEqual({ ...head, data: { id: 1, version: 2 } });
    expect(read(envelope, sample.events)).toEqual({ ...head, data });
    expect(whole).toBe(JSON.stringify(data));
    expect(wholeIn(envelope, sample.events)).toBe(whole);
  });

  it('of a kind without a shape, or of an unknown one, is what was written', () => {
    const { envelope } = eventJson(head, data, { aggregate: 'thing' });
    expect(JSON.parse(envelope)).toEqual({ ...head, data });
    expect(read(envelope, {})).toEqual({ ...head, data });
  });

  it('is told from what is none, line by line', () => {
    const { envelope } = eventJson(head, data, undefined);
    const payload = ['nonsense', envelope, '{"merchantId":"x","data":{}}', '', envelope].join('\n');
    const told = eventsIn({ data: Buffer.from(payload) }, {}).map(event => event?.id);
    expect(told).toEqual([undefined, 'ev_1', undefined, undefined, 'ev_1']);
    expect(countIn({ data: Buffer.from(payload) })).toBe(told.length);
    expect(countIn({ data: Buffer.from(envelope) })).toBe(1);
  });
});
