import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemCaller } from '@recur/platform';
import { MemoryBus, MovableClock, type TestService, testService } from '@recur/platform/testing';
import { MerchantKeys } from '../../src/merchants/merchant-keys.js';
import { Merchants, type NewMerchant } from '../../src/merchants/merchants.js';
import { identity } from '../../src/service.js';

/** Records the signals that a service sends. */
class Listening extends MemoryBus {
  heard: (subject: string, payload: string) => void = () => undefined;
  override signal(subject = '', payload = ''): void {
    this.heard(subject, payload);
  }
}

let t: TestService;
let merchant: NewMerchant;
const bus = new Listening();
const clock = new MovableClock();
beforeAll(async () => {
  t = await testService(identity, { bus, clock });
  merchant = await t.app.get(Merchants).create({ name: 'Acme', email: 'ada@example.com' }, 'boot');
});
afterAll(() => t.close());

const keyOf = async ({ merchantId }: NewMerchant) => {
  const [row] = await t.rows('select id, jti_hash from api_keys where merchant_id = $1', [merchantId]);
  return { id: Number(row?.id), jtiHash: String(row?.jti_hash) };
};
const ask = async () => {
  const reply = await t.bus.request('cmd.identity.platform.callers', '{}', t.callerOf({ merchantId: 0 }));
  return JSON.parse(reply.bytes.toString()) as { version: number; keys: object[]; revoked: string[]; ending: object[] };
};
const revoke = ({ merchantId }: NewMerchant, id: number) =>
  t.app.get(MerchantKeys).revoke(t.callerOf({ merchantId }), id);

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
    expect(events[1]).toMatchObject({ aggregateId: 'callers', data: { keys: [], revoked: [jtiHash], ending: [] } });
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
    for (const id of [theirs.id, 999_999]) {
      await expect(revoke(merchant, id)).rejects.toMatchObject({
        slug: 'api_key_not_found',
        message: `Merchant ${merchant.merchantId} has no API key ${id}`,
      });
    }
    expect(await ask()).toEqual(before);
  });
});

describe('a rotated key', () => {
  const day = 86_400;
  let acme: NewMerchant;
  const rotate = () => t.app.get(MerchantKeys).rotate(t.callerOf(acme));
  const list = () => t.app.get(MerchantKeys).list(t.callerOf(acme));
  const hashOf = async (id: number) =>
    String((await t.rows('select jti_hash from api_keys where id = $1', [id]))[0]?.jti_hash);

  it('holds for a day beside the new one; gateways are told until when, by the event and by the snapshot', async () => {
    acme = await t.app.get(Merchants).create({ name: 'Rotates', email: 'rotates@example.com' }, 'boot');
    const { id, jtiHash } = await keyOf(acme);
    const before = await ask();
    await t.emitted();
    const { key, ending } = await rotate();
    const revokedTime = t.clock.now(acme.merchantId) + day;
    expect(ending).toMatchObject([{ id, revokedTime, state: 'ending' }]);
    const events = await t.emitted();
    expect(events.map(({ type, aggregateId, version }) => [type, aggregateId, version])).toEqual([
      ['apikey.revoked', String(id), 2],
      ['apikey.created', String(key.id), 1],
      ['callers.changed', 'callers', before.version + 1],
      ['operation.logged', expect.any(String), 1],
    ]);
    expect(events[0]?.data).toMatchObject({ id, jtiHash, revokedTime });
    expect(events[2]?.data).toEqual({ keys: [], revoked: [], ending: [{ jtiHash, revokedTime }], members: [] });
    expect(events[3]?.data).toMatchObject({ target: `ApiKey(${key.id})`, content: 'Rotate' });
    expect(await ask()).toEqual({ ...before, version: before.version + 1, ending: [{ jtiHash, revokedTime }] });
  });

  it('keeps the end that an earlier rotation has given it', async () => {
    clock.advance(3_600);
    const [second, first] = await list();
    const { key, ending } = await rotate();
    expect(ending.map(({ id }) => id)).toEqual([second?.id]);
    expect(await list()).toMatchObject([
      { id: key.id, state: 'active', revokedTime: 0 },
      { id: second?.id, state: 'ending', revokedTime: t.clock.now(0) + day },
      { id: first?.id, state: 'ending', revokedTime: first?.revokedTime },
    ]);
  });

  it('ends at its second', async () => {
    const first = (await list()).at(-1);
    const hash = await hashOf(first?.id ?? 0);
    clock.advance(day - 3_601);
    expect((await ask()).ending).toContainEqual({ jtiHash: hash, revokedTime: first?.revokedTime });
    expect((await list()).at(-1)?.state).toBe('ending');
    clock.advance(1);
    const { revoked, ending } = await ask();
    expect(revoked).toContain(hash);
    expect(ending).toHaveLength(1);
    expect((await list()).at(-1)?.state).toBe('revoked');
  });

  it('can be ended before, at once; a key that has ended is not ended again', async () => {
    const [, second, first] = await list();
    expect(await revoke(acme, second?.id ?? 0)).toMatchObject({
      changed: true,
      key: { state: 'revoked', revokedTime: t.clock.now(0) },
    });
    const { revoked, ending, version } = await ask();
    expect(revoked).toContain(await hashOf(second?.id ?? 0));
    expect(ending).toEqual([]);
    await t.emitted();
    expect(await revoke(acme, first?.id ?? 0)).toMatchObject({ changed: false, key: first });
    expect(await t.emitted()).toEqual([]);
    expect((await ask()).version).toBe(version);
  });

  it('is one key that holds on, however many rotations run at once', async () => {
    await Promise.all([1, 2, 3, 4, 5].map(rotate));
    const states = (await list()).map(({ state }) => state);
    expect(states.filter(state => state === 'active')).toHaveLength(1);
    expect(states.filter(state => state === 'ending')).toHaveLength(5);
  });

  it('is not made where 20 keys hold already', async () => {
    for (let held = 6; held < 20; held++) await rotate();
    const { version } = await ask();
    await expect(rotate()).rejects.toMatchObject({
      slug: 'too_many_api_keys',
      message: `Merchant ${acme.merchantId} has 20 valid API keys: revoke one first`,
    });
    expect((await ask()).version).toBe(version);
    await revoke(acme, (await list())[0]?.id ?? 0);
    expect((await rotate()).ending).toEqual([]);
  });

  it('is not made where 100 keys held within a day, but by an operator', async () => {
    const busy = await t.app.get(Merchants).create({ name: 'Busy', email: 'busy@example.com' }, 'boot');
    const keys = t.app.get(MerchantKeys);
    const byKey = t.callerOf({ ...busy, actor: { kind: 'key', id: 'some', display: '' } });
    await revoke(busy, (await keyOf(busy)).id);
    for (let made = 1; made < 100; made++) await revoke(busy, (await keys.rotate(byKey)).key.id);
    await expect(keys.rotate(byKey)).rejects.toMatchObject({
      slug: 'too_many_api_keys',
      message: `Merchant ${busy.merchantId} had 100 valid API keys within the last 24 hours: try again later`,
    });
    const { key } = await keys.rotate(systemCaller(busy.merchantId, 'operator', Number.POSITIVE_INFINITY));
    expect(key.state).toBe('active');
    clock.advance(day);
    expect((await keys.rotate(byKey)).ending).toMatchObject([{ id: key.id }]);
  });
});

it('however many keys have ended, gateways are told of all, page by page', async () => {
  const hashes = Array.from({ length: 20_001 }, (_, at) => `ended-${at}`);
  await t.rows(
    `insert into api_key_lookups (jti_hash, merchant_id, revoked_time)
     select h, 1, case when h like '%7' then 99999999999 else 1 end from unnest($1::text[]) h`,
    [hashes],
  );
  const published: string[] = [];
  let pages = 0;
  for (let after: object | null | undefined; after !== null; pages++) {
    const payload = JSON.stringify({ after });
    const reply = await t.bus.request('cmd.identity.platform.callers', payload, t.callerOf({ merchantId: 0 }));
    expect(reply.bytes.length).toBeLessThan(2_000_000);
    const page = JSON.parse(reply.bytes.toString()) as Awaited<ReturnType<typeof ask>> & { next: object | null };
    published.push(...page.revoked, ...page.ending.map(key => (key as { jtiHash: string }).jtiHash));
    after = page.next;
  }
  expect(pages).toBeGreaterThan(1);
  expect(published.filter(hash => hash.startsWith('ended-')).sort()).toEqual(hashes.sort());
  await t.rows(`delete from api_key_lookups where jti_hash like 'ended-%'`);
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
