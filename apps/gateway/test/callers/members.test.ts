import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { everything, operation } from '@recur/contracts';
import { Bus, createLog, patient, systemClock } from '@recur/platform';
import { MovableClock } from '@recur/platform/testing';
import { Activity } from '../../src/callers/activity.js';
import { eventually, own, Services, type SigningKey, samples, signingKey, TestGateway, TestNats } from '../stand.js';
import { claimsOf, grant, permOf, signedIn, tokenOf } from './sessions.js';

let nats: TestNats;
let services: Services;
let gateway: TestGateway;
let signer: SigningKey;
let key: string;

const reader = signedIn(7, grant('invoice.read'));
const path = '/merchant/sample/read';
const nowSeconds = () => Math.floor(Date.now() / 1000);

beforeEach(async () => {
  nats = await TestNats.start();
  signer = await signingKey('k1');
  key = await signer.sign();
  services = await Services.start(nats.url, [signer.jwk]);
  services.callers.members = [reader];
});
afterEach(async () => {
  await TestGateway.stopAll();
  await services.stop();
  await nats.close();
});

const start = async () => {
  services.startBeating(300);
  gateway = await (await TestGateway.start(nats.url)).ready();
};
const ask = async (credential: string) => {
  const { status, json } = await gateway.send(path, { key: credential });
  return [status, json.code, json.error?.type];
};
const fine = [200, 0, undefined];
const invalid = [401, 61, 'credential_invalid'];
const changed = [401, 62, 'permissions_changed'];
const away = [503, 56, 'dependency_away'];

describe('a member token', () => {
  it('is the member whose session it names, with its e-mail for the log', async () => {
    await start();
    expect(await ask(await tokenOf(signer, reader))).toEqual(fine);
    expect(services.asked[0]?.caller).toMatchObject({
      merchantId: 15,
      actor: { kind: 'member', id: '7', display: 'member-7@example.com' },
      session: 's7',
    });
    await gateway.send(path, { key });
    expect(services.asked[1]?.caller.session).toBeUndefined();
  });

  it('tries its password as often as it may sign in, and no more', async () => {
    const guess = operation({ ...own, name: 'sample.guess', path: '/merchant/sample/guess', checksPassword: true });
    services.startBeating(300);
    services.callers.members = [signedIn(7, everything), signedIn(8, everything)];
    gateway = await (await TestGateway.start(nats.url, { operations: [guess] })).ready();
    const attempt = async (id: number) => {
      const token = await tokenOf(signer, signedIn(id, everything));
      return (await gateway.post(guess.path, {}, token)).status;
    };
    for (let at = 0; at < 10; at++) expect(await attempt(7)).toBe(200);
    expect(await attempt(7)).toBe(429);
    expect(services.asked).toHaveLength(10);
    expect(await attempt(8)).toBe(200);
  });

  it('may do what its roles permit, and of a member alone what no API key may', async () => {
    const owner = signedIn(8, everything);
    services.callers.members.push(owner);
    await start();
    const [token, ofOwner] = [await tokenOf(signer, reader), await tokenOf(signer, owner)];
    for (const { path: at } of samples.filter(({ service }) => service === 'billing')) {
      const codes = await Promise.all(
        [token, ofOwner, key].map(async credential => (await gateway.post(at, {}, credential)).json.code),
      );
      if (at === path) expect(codes).toEqual([0, 0, 0]);
      else expect(codes).toEqual([63, at === own.path ? 0 : 51, at === own.path ? 63 : 51]);
    }
  });

  const sign = (claims: object, header: object = {}) =>
    signer.sign({ ...claimsOf(reader), ...claims }, { typ: 'member+jwt', ...header });
  const refused: Record<string, () => Promise<string>> = {
    'of another type': () => sign({}, { typ: 'client+jwt' }),
    'of the type of API keys': () => sign({ jti: undefined }, { typ: 'api-key+jwt' }),
    'an API key of the type of members': () => signer.sign({}, { typ: 'member+jwt' }),
    'of an unknown session': () => sign({ sid: 's9' }),
    'of no session': () => sign({ sid: undefined }),
    'of a session that is no text': () => sign({ sid: ['s7'] }),
    "of another member's session": () => sign({ sub: '8' }),
    'of no member': () => sign({ sub: undefined }),
    'of a member as a number': () => sign({ sub: 7 }),
    'of another merchant': () => sign({ merchant: 16 }),
    'of a merchant as a text': () => sign({ merchant: '15' }),
    'of no merchant': () => sign({ merchant: undefined }),
    'that has expired': () => sign({ exp: nowSeconds() - 1 }),
    'without an end': () => sign({ exp: undefined }),
    'of production': () => sign({ env: 'production' }),
    'for another audience': () => sign({ aud: 'other' }),
    'of another issuer': () => sign({ iss: 'other' }),
    'without what gateways were told': () => sign({ callers: undefined }),
    'told by a fraction': () => sign({ callers: 0.5 }),
    'signed by a stranger': async () => (await signingKey('k1')).sign({ ...claimsOf(reader) }, { typ: 'member+jwt' }),
  };
  it('is refused with one message, whatever is wrong with it', async () => {
    await start();
    for (const [name, make] of Object.entries(refused)) {
      expect([name, ...(await ask(await make()))]).toEqual([name, ...invalid]);
    }
    for (const perm of [undefined, '', permOf(everything), ['*']]) {
      expect([perm, ...(await ask(await sign({ perm })))]).toEqual([perm, ...changed]);
    }
    expect(services.asked).toEqual([]);
  });
});

describe('what the gateway knows of members', () => {
  it('ends with a session, at its next use', async () => {
    await start();
    const token = await tokenOf(signer, reader);
    expect(await ask(token)).toEqual(fine);
    await services.change({ members: [{ ...reader, sessions: [] }] });
    await eventually(async () => (await ask(token))[0] === 401);
    expect(await ask(token)).toEqual(invalid);
    expect(services.snapshots).toBe(1);
  });

  it('changes with its permissions: tokens of before are refused, those of now are not', async () => {
    await start();
    const token = await tokenOf(signer, reader);
    expect(await ask(token)).toEqual(fine);
    const writer = { ...reader, grant: grant('invoice.write') };
    await services.change({ members: [writer] });
    await eventually(async () => (await ask(token))[1] === 62);
    expect(await ask(token)).toEqual(changed);
    const anew = await tokenOf(signer, writer, { callers: 1 });
    expect((await gateway.post('/merchant/sample/write', { amount: 1 }, anew)).status).toBe(200);
    expect(await ask(anew)).toEqual([403, 63, 'permission_denied']);
    await services.change({ members: [reader] });
    await eventually(async () => (await ask(token))[0] === 200);
  });

  it('tells sessions of one member apart', async () => {
    const expireTime = nowSeconds() + 86_400;
    const two = {
      ...reader,
      sessions: [
        { sid: 'a', expireTime },
        { sid: 'b', expireTime },
      ],
    };
    services.callers.members = [two];
    await start();
    const [a, b] = [await tokenOf(signer, two, { sid: 'a' }), await tokenOf(signer, two, { sid: 'b' })];
    expect([await ask(a), await ask(b)]).toEqual([fine, fine]);
    await services.change({ members: [{ ...two, sessions: [{ sid: 'b', expireTime }] }] });
    await eventually(async () => (await ask(a))[0] === 401);
    expect(await ask(b)).toEqual(fine);
  });

  it('ends when the session does, even where its token would hold', async () => {
    const clock = new MovableClock(Date.now());
    services.startBeating(100);
    const short = { ...reader, sessions: [{ sid: 's7', expireTime: nowSeconds() + 60 }] };
    services.callers.members = [short];
    gateway = await (await TestGateway.start(nats.url, { clock })).ready();
    const token = await tokenOf(signer, short);
    expect(await ask(token)).toEqual(fine);
    clock.advance(61);
    // after that time it has to hear of identity first
    await eventually(async () => (await ask(await tokenOf(signer, short, { sid: 'x' })))[1] === 61);
    expect(await ask(token)).toEqual(invalid);
  });

  it('is waited for where a token comes before the event that tells of its session', async () => {
    await start();
    const fresh = signedIn(9, grant('invoice.read'));
    const token = await tokenOf(signer, fresh, { callers: 1 });
    const [answer] = await Promise.all([ask(token), services.change({ members: [fresh] })]);
    expect(answer).toEqual(fine);
    // the event that this one names was lost with what identity was restored from
    expect(await ask(await tokenOf(signer, reader, { callers: 99 }))).toEqual(fine);
    expect(await ask(await tokenOf(signer, signedIn(10, everything), { callers: 99 }))).toEqual(invalid);
    services.beforePage = () => new Promise(() => undefined);
    const next = signedIn(11, everything);
    await services.change({ members: [next] }, { lost: true });
    services.beat();
    expect(await ask(await tokenOf(signer, next, { callers: 2 }))).toEqual(away);
  });

  it('comes in pages, between which nothing is missed', async () => {
    const several = Array.from({ length: 7 }, (_, at) => signedIn(20 + at, grant('invoice.read')));
    services.callers.members = several;
    services.membersInPage = 2;
    const [first, , third] = several;
    const late = signedIn(5, grant('invoice.read'));
    services.beforePage = async after => {
      if (after !== 23) return;
      // the first is in a page that was read already, the last will be in one that has it
      services.beforePage = () => undefined;
      await services.change({ members: [{ ...(first as typeof late), sessions: [] }] });
      await services.change({ members: [late, { ...(third as typeof late), grant: grant() }] });
      await services.change({ members: [{ ...(several[6] as typeof late), sessions: [] }] });
    };
    await start();
    const outcome = async (member: typeof late, more = {}) => (await ask(await tokenOf(signer, member, more)))[1];
    expect(await outcome(late, { callers: 2 })).toBe(0);
    await eventually(async () => (await outcome(several[6] as typeof late)) === 61);
    const codes = await Promise.all(several.map(member => outcome(member)));
    expect(codes).toEqual([61, 0, 62, 0, 0, 0, 61]);
    expect(services.snapshots).toBe(1);
  });

  it('is taken again after events were missed', async () => {
    await start();
    const token = await tokenOf(signer, reader);
    expect(await ask(token)).toEqual(fine);
    await services.change({ members: [{ ...reader, sessions: [] }] }, { lost: true });
    await eventually(async () => (await ask(token))[0] === 401);
    expect(services.snapshots).toBe(2);
  });

  it('is too old after 5 seconds of silence: members get 56, API keys go on, and both when it is heard again', async () => {
    const clock = new MovableClock(Date.now());
    gateway = await (await TestGateway.start(nats.url, { clock })).ready();
    const token = await tokenOf(signer, reader);
    expect(await ask(token)).toEqual(fine);
    clock.advance(patient(5) - 0.001);
    expect(await ask(token)).toEqual(fine);
    clock.advance(0.001);
    expect(await ask(token)).toEqual(away);
    expect(await ask(key)).toEqual(fine);
    services.beat();
    await eventually(async () => (await ask(token))[0] === 200);
  });

  it('is too old too where identity is heard, but not what it has changed', async () => {
    const clock = new MovableClock(Date.now());
    gateway = await (await TestGateway.start(nats.url, { clock })).ready();
    const token = await tokenOf(signer, reader);
    expect(await ask(token)).toEqual(fine);
    services.beforePage = () => new Promise(() => undefined);
    await services.change({ members: [] }, { lost: true });
    services.beat();
    await eventually(async () => (await gateway.ops('/readyz')).text.includes('"identity":"heard"'));
    clock.advance(patient(5));
    services.beat();
    await eventually(async () => (await ask(token))[0] === 503);
    expect(await ask(key)).toEqual(fine);
  });
});

describe('the use of sessions', () => {
  it('is told to identity, at the latest when the gateway stops', async () => {
    await start();
    const token = await tokenOf(signer, reader);
    for (let use = 0; use < 3; use++) expect(await ask(token)).toEqual(fine);
    await ask(await tokenOf(signer, reader, { sid: 'nobody' }));
    await ask(key);
    await gateway.stop();
    expect(services.activity).toEqual([{ sid: 's7', at: expect.any(Number) }]);
    expect(Math.abs((services.activity[0]?.at ?? 0) - nowSeconds())).toBeLessThan(60);
  });

  it('is told once, and again where identity has not heard it', async () => {
    const log = createLog('test', 'silent');
    const bus = await Bus.connect(nats.url, 'test', systemClock, log);
    const activity = new Activity(bus, systemClock, log);
    activity.seen('a');
    await activity.report();
    await activity.report();
    expect(services.activity.map(({ sid }) => sid)).toEqual(['a']);
    await services.stop();
    activity.seen('b');
    await activity.report();
    services = await Services.start(nats.url, [signer.jwk]);
    activity.seen('c');
    await eventually(async () => {
      await activity.report();
      return services.activity.length > 0;
    });
    await bus.close();
    expect(services.activity.map(({ sid }) => sid).sort()).toEqual(['b', 'c']);
  });
});
