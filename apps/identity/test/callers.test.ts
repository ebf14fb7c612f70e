import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MemoryBus, type TestService, testService } from '@recur/platform/testing';
import { ApiKeys } from '../src/api-keys.js';
import { Merchants, type NewMerchant } from '../src/merchants.js';
import { identity } from '../src/service.js';

/** Hears the signals that a service sends. */
class Listening extends MemoryBus {
  heard: (subject: string, payload: string) => void = () => undefined;
  override signal(subject = '', payload = ''): void {
    this.heard(subject, payload);
  }
}

let t: TestService;
let merchant: NewMerchant;
const bus = new Listening();
beforeAll(async () => {
  t = await testService(identity, { bus });
  merchant = await t.app.get(Merchants).create({ name: 'Acme', email: 'ada@example.com' }, 'boot');
});
afterAll(() => t.close());

const keyOf = async ({ merchantId }: NewMerchant) => {
  const [row] = await t.rows('select id, jti_hash from api_keys where merchant_id = $1', [merchantId]);
  return { id: Number(row?.id), jtiHash: String(row?.jti_hash) };
};
const ask = async () => {
  const reply = await t.bus.request('cmd.identity.platform.callers', '{}', t.callerOf({ merchantId: 0 }));
  return JSON.parse(reply.bytes.toString()) as { version: number; keys: object[]; revoked: string[] };
};
const revoke = ({ merchantId }: NewMerchant, id: number) =>
  t.app.get(ApiKeys).revokeKey(t.callerOf({ merchantId }), id);

describe('a revoked key', () => {
  it('is told to gateways by the next event and by the snapshot', async () => {
    const { id, jtiHash } = await keyOf(merchant);
    const before = await ask();
    await t.emitted();
    await revoke(merchant, id);
    const events = await t.emitted();
    expect(events.map(({ type, version }) => [type, version])).toEqual([
      ['apikey.revoked', 2],
      ['callers.changed', before.version + 1],
      ['operation.logged', 1],
    ]);
    const now = t.clock.now(merchant.merchantId);
    expect(events[0]?.data).toMatchObject({ id, jtiHash, revokedTime: now });
    expect(events[1]).toMatchObject({ aggregateId: 'callers', data: { keys: [], revoked: [jtiHash] } });
    expect(events[2]?.data).toMatchObject({ target: `ApiKey(${id})`, content: 'Revoke' });
    expect(await ask()).toEqual({ ...before, version: before.version + 1, revoked: [jtiHash] });
    expect(await t.rows('select revoked_time, version from api_keys')).toEqual([
      { revoked_time: String(now), version: 2 },
    ]);
  });

  it('is revoked once', async () => {
    const before = await ask();
    await t.emitted();
    await revoke(merchant, (await keyOf(merchant)).id);
    expect(await t.emitted()).toEqual([]);
    expect(await ask()).toEqual(before);
  });

  it("is another merchant's or nobody's: nothing happens", async () => {
    const other = await t.app.get(Merchants).create({ name: 'Other', email: 'other@example.com' }, 'boot');
    const before = await ask();
    const theirs = await keyOf(other);
    const refused = { slug: 'invalid_parameters', issues: [{ path: '/id', message: 'No such API key' }] };
    await expect(revoke(merchant, theirs.id)).rejects.toMatchObject(refused);
    await expect(revoke(merchant, 999_999)).rejects.toMatchObject(refused);
    expect(await ask()).toEqual(before);
  });
});

it('changes of many merchants at once are numbered without a gap', async () => {
  const names = Array.from({ length: 12 }, (_, at) => `r${at}`);
  const all = await Promise.all(
    names.map(name => t.app.get(Merchants).create({ name, email: `${name}@example.com` }, name)),
  );
  const { version, revoked } = await ask();
  await t.emitted();
  await Promise.all(all.map(async made => revoke(made, (await keyOf(made)).id)));
  const versions = (await t.emitted()).filter(({ type }) => type === 'callers.changed').map(event => event.version);
  expect(versions).toEqual(all.map((_, at) => version + 1 + at));
  const after = await ask();
  expect(after.version).toBe(version + all.length);
  expect(after.revoked).toHaveLength(revoked.length + all.length);
});

it('the heartbeat says how far changes have come', async () => {
  const beat = new Promise(resolve => {
    bus.heard = (subject, payload) => resolve([subject, JSON.parse(payload)]);
  });
  for (const worker of t.workers) await worker.start();
  expect(await beat).toEqual(['beat.identity.callers', { version: (await ask()).version }]);
  for (const worker of t.workers) await worker.stop();
});
