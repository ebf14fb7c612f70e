import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { everything } from '@recur/contracts';
import { MovableClock } from '@recur/platform/testing';
import { eventually, idOf, Services, type SigningKey, signingKey, TestGateway, TestNats } from '../stand.js';
import { signedIn, tokenOf } from './sessions.js';

let nats: TestNats;
let services: Services;
let gateway: TestGateway;
let signer: SigningKey;
let key: string;

beforeEach(async () => {
  nats = await TestNats.start();
  signer = await signingKey('k1');
  key = await signer.sign();
  services = await Services.start(nats.url, [signer.jwk]);
});
afterEach(async () => {
  await TestGateway.stopAll();
  await services.stop();
  await nats.close();
});

const status = async (credential: string) => (await gateway.send('/merchant/sample/read', { key: credential })).status;
const start = async () => {
  gateway = await (await TestGateway.start(nats.url)).ready();
};

describe('what the gateway knows of callers', () => {
  it('is taken from identity before it is ready; until then it lives, and says that it cannot tell', async () => {
    await services.stop();
    gateway = await TestGateway.start(nats.url);
    expect(await gateway.ops('/readyz')).toMatchObject({ status: 503, json: { callers: false } });
    expect((await gateway.send('/livez')).status).toBe(200);
    expect(await gateway.send('/merchant/sample/read', { key })).toMatchObject({
      status: 503,
      json: { code: 56, error: { type: 'dependency_away' } },
    });
    services = await Services.start(nats.url, [signer.jwk]);
    await gateway.ready();
    expect(await status(key)).toBe(200);
  });

  it('holds the keys that were revoked before it started', async () => {
    services.callers.revoked = [idOf('first')];
    await start();
    expect(await status(key)).toBe(401);
    expect(await status(await signer.sign({ jti: 'second' }))).toBe(200);
  });

  it('follows events: a key that is revoked is refused at its next use, others go on', async () => {
    await start();
    const other = await signer.sign({ jti: 'second' });
    expect(await status(key)).toBe(200);
    await services.change({ revoked: [idOf('first')] });
    await eventually(async () => (await status(key)) === 401);
    expect(await status(other)).toBe(200);
    expect(services.snapshots).toBe(1);
  });

  it('follows events that come in one message', async () => {
    await start();
    await services.changeTogether(
      { revoked: [idOf('third')] },
      { revoked: [idOf('first')] },
      { revoked: [idOf('second')] },
    );
    await eventually(async () => (await status(await signer.sign({ jti: 'second' }))) === 401);
    expect(await status(key)).toBe(401);
    expect(services.snapshots).toBe(1);
  });

  const member = signedIn(7, everything);
  it.each([
    ['an API key was revoked', { revoked: [idOf('first')] }, 'credential_invalid'],
    ['a session ended', { members: [{ ...member, sessions: [] }] }, 'credential_invalid'],
    ['permissions changed', { members: [{ ...member, grant: '' }] }, 'permissions_changed'],
  ])('refuses a request when %s while its body was on its way', async (what, change, type) => {
    services.callers.members = [member];
    await start();
    services.startBeating();
    const credential = what.startsWith('an API key') ? key : await tokenOf(signer, member);
    await eventually(async () => (await status(credential)) === 200);
    const headers = { authorization: `Bearer ${credential}`, 'content-type': 'application/json' };
    const slow = request({
      host: '127.0.0.1',
      port: gateway.port,
      path: '/merchant/sample/write',
      method: 'POST',
      agent: false,
      headers: { ...headers, expect: '100-continue' },
    });
    slow.flushHeaders();
    await once(slow, 'continue');
    await services.change(change);
    await eventually(async () => (await status(credential)) === 401);
    services.asked.length = 0;
    slow.end('{"amount":1}');
    const [response]: IncomingMessage[] = await once(slow, 'response');
    expect(response?.statusCode).toBe(401);
    expect(JSON.parse(String(await response?.setEncoding('utf8').toArray()))).toMatchObject({
      merchantId: 0,
      error: { type },
    });
    expect(services.asked).toEqual([]);
  });

  it.each(['event', 'snapshot'])('refuses a key that ends from its second on and not before, told by %s', async how => {
    const clock = new MovableClock(Math.floor(Date.now() / 1000) * 1000);
    const change = { ending: [{ jtiHash: idOf('first'), revokedTime: clock.now() + 100 }] };
    if (how === 'snapshot') await services.change(change);
    gateway = await (await TestGateway.start(nats.url, { clock })).ready();
    const marker = await signer.sign({ jti: 'marker' });
    if (how === 'event') {
      await services.change(change);
      await services.change({ revoked: [idOf('marker')] });
      await eventually(async () => (await status(marker)) === 401);
    }
    const fresh = await signer.sign({ jti: 'first', iat: 1 });
    expect(await status(key)).toBe(200);
    clock.advance(99.999);
    expect(await status(key)).toBe(200);
    clock.advance(0.001);
    expect([await status(key), await status(fresh)]).toEqual([401, 401]);
  });

  it('refuses at once a key that was to end later and is revoked', async () => {
    await start();
    const jtiHash = idOf('first');
    await services.change({ ending: [{ jtiHash, revokedTime: Math.floor(Date.now() / 1000) + 86_400 }] });
    expect(await status(key)).toBe(200);
    await services.change({ revoked: [jtiHash] });
    await eventually(async () => (await status(key)) === 401);
    expect(services.snapshots).toBe(1);
  });

  it('is told of all revoked keys, however many pages they take', async () => {
    const names = ['first', 'second', 'third', 'fourth', 'fifth'];
    await services.change({ revoked: names.map(idOf) });
    services.keysInPage = 2;
    await start();
    expect(services.snapshots).toBe(1);
    for (const jti of names) expect(await status(await signer.sign({ jti }))).toBe(401);
    expect(await status(await signer.sign({ jti: 'sixth' }))).toBe(200);
  });

  it('verifies nobody anew because of a snapshot that says the same', async () => {
    const clock = new MovableClock(Date.now());
    const env = { RATE_PER_SECOND: '1', RATE_BURST: '2' };
    gateway = await (await TestGateway.start(nats.url, { clock, env })).ready();
    const other = await signer.sign({ jti: 'second' });
    expect([await status(key), await status(other)]).toEqual([200, 200]);
    // the third is asked for when the second was taken
    await eventually(async () => {
      await services.change({}, { lost: true });
      await services.change({});
      return services.snapshots >= 3;
    });
    // a first use would be counted by address, and has been twice
    expect([await status(key), await status(other)]).toEqual([200, 200]);
    expect(await status(await signer.sign({ jti: 'third' }))).toBe(429);
  });

  it('follows the rotation of public keys: a new one is added, and the old one goes when it is left out', async () => {
    await start();
    const next = await signingKey('k2');
    const newKey = await next.sign({ jti: 'second' });
    expect(await status(key)).toBe(200);
    expect(await status(newKey)).toBe(401);
    await services.change({ keys: [signer.jwk, next.jwk] });
    await eventually(async () => (await status(newKey)) === 200);
    expect(await status(key)).toBe(200);
    await services.change({ keys: [next.jwk] });
    await eventually(async () => (await status(key)) === 401);
    expect(await status(newKey)).toBe(200);
  });

  it('ignores keys that it may not verify with, and what is private in one', async () => {
    const other = await signingKey('k2');
    services.callers.keys = [
      signer.jwk,
      { ...other.jwk, kty: 'EC' },
      { ...other.jwk, crv: 'X25519' },
      { kty: 'oct', k: 'AAAA', kid: 'k2' },
      { ...other.jwk, kid: undefined },
    ];
    await start();
    expect(await status(key)).toBe(200);
    expect(await status(await other.sign())).toBe(401);
  });

  it('takes a snapshot again when an event is missing', async () => {
    await start();
    await services.change({ revoked: [idOf('first')] }, { lost: true });
    expect(await status(key)).toBe(200);
    await services.change({ revoked: [idOf('second')] });
    await eventually(async () => (await status(key)) === 401);
    expect(services.snapshots).toBe(2);
  });

  it('takes a snapshot again when the heartbeat counts more than it has heard of', async () => {
    await start();
    services.startBeating(300);
    await services.change({ revoked: [idOf('first')] }, { lost: true });
    await eventually(async () => (await status(key)) === 401);
    expect(services.snapshots).toBe(2);
  });

  it('believes an identity that was restored from a backup', async () => {
    services.callers.version = 9;
    services.callers.revoked = [idOf('first')];
    await start();
    expect(await status(key)).toBe(401);
    services.callers = { version: 4, keys: [signer.jwk], revoked: [], ending: [], members: [] };
    services.startBeating(300);
    await eventually(async () => (await status(key)) === 200);
  });

  it('hears of what happened while the bus was away, with its streams gone', async () => {
    await start();
    expect(await status(key)).toBe(200);
    await nats.kill();
    await nats.wipe();
    await services.change({ revoked: [idOf('first')] }, { lost: true });
    await nats.start();
    await eventually(async () => (await status(key)) === 401);
    await services.createStream();
    services.startBeating(300);
    await services.change({ revoked: [idOf('second')] });
    await eventually(async () => (await status(await signer.sign({ jti: 'second' }))) === 401);
  });

  it('survives events and heartbeats that it cannot read', async () => {
    await start();
    services.bus.signal('beat.identity.callers', 'rubbish');
    services.bus.signal('evt.identity.callers.changed', 'rubbish');
    services.bus.signal('evt.identity.callers.changed', '{"version":"one"}');
    await services.change({ revoked: [idOf('first')] });
    await eventually(async () => (await status(key)) === 401);
  });

  it('tells whether identity is heard', async () => {
    await start();
    expect((await gateway.ops('/readyz')).json).toMatchObject({ identity: 'silent' });
    services.beat();
    await eventually(async () => (await gateway.ops('/readyz')).text.includes('"identity":"heard"'));
  });
});
