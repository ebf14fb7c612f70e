import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { events, webhookEventNames } from '@recur/contracts';
import { objectOf } from '../src/index.js';

const apps = path.join(import.meta.dirname, '../../../apps');

interface Declared {
  name: string;
  table: string;
  key: string;
}

/** The aggregates that a source declares: a row of the table counts the versions of its events. */
const declared = (text: string): Declared[] =>
  [...text.matchAll(/\baggregate\(\{([\s\S]*?)\}\)/g)].map(([, body = '']) => {
    const field = (name: string) => new RegExp(`\\b${name}: '?(\\w+)`).exec(body)?.[1] ?? '';
    return { name: field('name'), table: field('table'), key: field('key') };
  });
const aggregates = readdirSync(apps, { recursive: true, encoding: 'utf8' })
  .filter(file => /^\w+\/src\/.*\.ts$/.test(file))
  .flatMap(file => declared(readFileSync(path.join(apps, file), 'utf8')));

const aggregateOf = (type: (typeof webhookEventNames)[number]): Declared => {
  const found = aggregates.filter(({ name }) => name === events[type].aggregate);
  expect(found).toHaveLength(1);
  return found[0] as Declared;
};

/** How the data of events shows the keys that services use. */
const shown: Readonly<Record<string, readonly string[]>> = {
  noticeId: ['userId', 'metricId'],
  endpointId: ['id'],
};

/** Every id that the data of some event has. */
const ids = {
  id: 11,
  userId: 12,
  metricId: 13,
  planId: 14,
  productId: 15,
  gatewayId: 16,
  subscriptionId: 'sub_1',
  pendingUpdateId: 'pu_1',
  invoiceId: 'in_1',
  paymentId: 'pay_1',
  refundId: 'rf_1',
};
const keyOf = (type: string, data: object = ids, merchantId = 7) =>
  objectOf({ id: 'ev_1', type, timestamp: '', merchantId, sequence: 1, data });

describe('the object of an event', () => {
  it('is the same exactly where the events of one object are numbered together', () => {
    expect(declared("x = aggregate({\n ...{ name: 'a', table: bs, key: 'cId' },\n});")).toEqual([
      { name: 'a', table: 'bs', key: 'cId' },
    ]);
    expect(webhookEventNames.length).toBeGreaterThan(35);
    for (const one of webhookEventNames) {
      for (const other of webhookEventNames) {
        const isTogether = aggregateOf(one).table === aggregateOf(other).table;
        expect([one, other, keyOf(one) === keyOf(other)]).toEqual([one, other, isTogether]);
      }
    }
    expect(keyOf('payment.report.mismatch')).toBe(keyOf('payment.success'));
  });

  it.each(webhookEventNames)('of %s is told by the key of its service, and by nothing else', type => {
    const { key } = aggregateOf(type);
    const telling = Object.keys(ids).filter(field => keyOf(type, { ...ids, [field]: 'another' }) !== keyOf(type));
    expect(telling.sort()).toEqual([...(shown[key] ?? [key])].sort());
    expect(Object.keys((events[type].data as unknown as { shape: object }).shape)).toEqual(
      expect.arrayContaining(telling),
    );
    expect(keyOf(type, ids, 8)).not.toBe(keyOf(type));
  });

  it('of a name that is not known is none', () => {
    for (const type of ['invoice.eaten', 'constructor', '', 'subscription.tracked'])
      expect(keyOf(type)).toBeUndefined();
  });
});
