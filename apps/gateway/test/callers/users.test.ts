import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { anyUser, everything, operation } from '@recur/contracts';
import { MovableClock } from '@recur/platform/testing';
import { own, Services, type SigningKey, samples, signingKey, TestGateway, TestNats } from '../stand.js';
import { signedIn, tokenOf, userClaims, userToken } from './sessions.js';

const page = operation({ ...own, name: 'portal.sample', path: '/portal/sample', permission: anyUser });
const owner = signedIn(7, everything);

let nats: TestNats;
let services: Services;
let signer: SigningKey;

beforeAll(async () => {
  nats = await TestNats.start();
  signer = await signingKey('k1');
  services = await Services.start(nats.url, [signer.jwk]);
  services.callers.members = [owner];
  services.startBeating(300);
});
afterAll(async () => {
  await TestGateway.stopAll();
  await services.stop();
  await nats.close();
});

const start = async (more: Parameters<typeof TestGateway.start>[1] = {}) =>
  (await TestGateway.start(nats.url, { operations: [...samples, page], ...more })).ready();

describe('a user token', () => {
  it('is the user of the merchant whom it names, with its session', async () => {
    const gateway = await start();
    services.asked.length = 0;
    expect((await gateway.post(page.path, {}, await userToken(signer))).json).toMatchObject({
      code: 0,
      merchantId: 15,
    });
    expect(services.asked[0]?.caller).toMatchObject({
      merchantId: 15,
      actor: { kind: 'user', id: '3', display: 'user-3@example.com' },
      session: 'exchanged',
    });
  });

  it('opens what is for users and nothing else, which nobody else may open', async () => {
    const gateway = await start();
    const denied = { status: 403, json: { code: 63, error: { type: 'permission_denied' } } };
    for (const { path } of samples) {
      expect(await gateway.post(path, {}, await userToken(signer))).toMatchObject(denied);
    }
    for (const other of [await signer.sign(), await tokenOf(signer, owner)]) {
      expect(await gateway.post(page.path, {}, other)).toMatchObject(denied);
    }
  });

  const sign = (claims: object, header: object = {}) =>
    signer.sign({ ...userClaims(), ...claims }, { typ: 'user+jwt', ...header });
  const refused: Record<string, () => Promise<string>> = {
    'of the type of what new_session answers': () => sign({}, { typ: 'client+jwt' }),
    'of the type of members': () => sign({}, { typ: 'member+jwt' }),
    'of the type of API keys': () => sign({}, { typ: 'api-key+jwt' }),
    'an API key of the type of users': () => signer.sign({}, { typ: 'user+jwt' }),
    'of no user': () => sign({ sub: undefined }),
    'of a user as a number': () => sign({ sub: 3 }),
    'of no merchant': () => sign({ merchant: undefined }),
    'of a merchant as a text': () => sign({ merchant: '15' }),
    'of no session': () => sign({ sid: undefined }),
    'of a session that is no text': () => sign({ sid: ['exchanged'] }),
    'without an e-mail': () => sign({ email: undefined }),
    'that has expired': () => sign({ exp: 1 }),
    'without an end': () => sign({ exp: undefined }),
    'of production': () => sign({ env: 'production' }),
    'for another audience': () => sign({ aud: 'other' }),
    'of another issuer': () => sign({ iss: 'other' }),
    'signed by a stranger': async () => (await signingKey('k1')).sign(userClaims(), { typ: 'user+jwt' }),
  };
  it.each(Object.keys(refused))('is refused: one %s', async name => {
    const gateway = await start();
    const { status, json } = await gateway.post(page.path, {}, (await refused[name]?.()) ?? '');
    expect([status, json.error?.type]).toEqual([401, 'credential_invalid']);
  });

  it('ends when it says, however often it was used before', async () => {
    const clock = new MovableClock(Date.now());
    const gateway = await start({ clock });
    const token = await userToken(signer);
    expect((await gateway.post(page.path, {}, token)).status).toBe(200);
    clock.advance(899);
    expect((await gateway.post(page.path, {}, token)).status).toBe(200);
    clock.advance(2);
    expect((await gateway.post(page.path, {}, token)).status).toBe(401);
  });

  it('is counted with the other tokens of its user, and apart from other users and merchants', async () => {
    const clock = new MovableClock(Date.now());
    const gateway = await start({ clock, env: { USER_RATE_PER_SECOND: '1', USER_RATE_BURST: '3' } });
    const status = async (more: Record<string, unknown>) =>
      (await gateway.post(page.path, {}, await userToken(signer, more))).status;
    expect([await status({ sid: 'a' }), await status({ sid: 'b' }), await status({ sid: 'a' })]).toEqual([
      200, 200, 200,
    ]);
    expect(await status({ sid: 'c' })).toBe(429);
    expect([await status({ sub: '4' }), await status({ merchant: 16 })]).toEqual([200, 200]);
    clock.advance(1);
    expect(await status({ sid: 'a' })).toBe(200);
  });

  it('has Idempotency-Keys of its own, apart from those of the merchant and of other users', async () => {
    const gateway = await start();
    services.asked.length = 0;
    const headers = { 'idempotency-key': 'one' };
    await gateway.post(page.path, {}, await userToken(signer), headers);
    await gateway.post(page.path, {}, await userToken(signer, { sub: '4' }), headers);
    await gateway.post(samples[0]?.path ?? '', { amount: 1 }, await signer.sign(), headers);
    expect(services.asked.map(({ caller }) => caller.idempotencyKey)).toEqual(['user 3 one', 'user 4 one', 'one']);
  });
});
