import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { commonErrors, type ErrorKind, errors, operations, type Slug } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { patient } from '@recur/platform';
import { Services, signingKey, TestGateway, TestNats } from '../stand.js';

let nats: TestNats;
let services: Services;
let gateway: TestGateway;
let key: string;

beforeAll(async () => {
  nats = await TestNats.start();
  const signer = await signingKey('k1');
  key = await signer.sign();
  services = await Services.start(nats.url, [signer.jwk]);
  gateway = await (await TestGateway.start(nats.url)).ready();
});
afterEach(() => {
  services.answer = () => ({ ok: true, bytes: '{}' });
  services.asked.length = 0;
});
afterAll(async () => {
  await TestGateway.stopAll();
  await services.stop();
  await nats.close();
});

const write = '/merchant/sample/write';
const read = '/merchant/sample/read';
const own = '/merchant/sample/own';

describe('a request', () => {
  it('is answered with the very bytes of its service, in the envelope', async () => {
    const data = '{"b": 1.0,"a":"\\u00e9é\u{1F600}","big":12345678901234567890, "list":[ ]}';
    services.answer = () => ({ ok: true, bytes: data });
    const answer = await gateway.post(write, { amount: 1 }, key);
    const { requestId } = answer.json;
    expect(answer.status).toBe(200);
    expect(answer.text).toBe(
      `{"code":0,"data":${data},"merchantId":15,"message":"","redirect":"","requestId":"${requestId}"}`,
    );
    expect(answer.headers['x-request-id']).toBe(requestId);
    expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(answer.text)));
    expect(answer.headers['idempotency-replayed']).toBeUndefined();
  });

  it('reaches its service validated, with who asks, until when, and in which trace', async () => {
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    const before = Date.now();
    await gateway.post(write, { amount: 5, note: 'abc', unknown: 'left out', merchantId: 99 }, key, {
      traceparent: `00-${trace}-00f067aa0ba902b7-00`,
      'x-request-id': 'chosen by the client',
    });
    const [{ command, payload, caller } = { command: '', payload: '', caller: undefined }] = services.asked;
    expect(command).toBe('sample.write');
    expect(JSON.parse(payload)).toEqual({ amount: 5, note: 'ABC', lines: [] });
    expect(caller).toMatchObject({ merchantId: 15, actor: { kind: 'key' } });
    expect(caller?.requestId).toMatch(/^req_/);
    expect(caller?.traceparent).toMatch(new RegExp(`^00-${trace}-(?!00f067aa0ba902b7)[0-9a-f]{16}-00$`));
    expect(caller?.idempotencyKey).toBeUndefined();
    expect((caller?.deadline ?? 0) - before).toBeGreaterThanOrEqual(patient(8_000));
    expect(caller?.deadline).toBeLessThanOrEqual(Date.now() + patient(8_000));
  });

  it('has an id of its own each time', async () => {
    const ids = [];
    for (let attempt = 0; attempt < 3; attempt++) ids.push((await gateway.send(read, { key })).json.requestId);
    expect(new Set(ids).size).toBe(3);
  });

  it('may have no body where no field is required', async () => {
    expect((await gateway.send(read, { method: 'POST', key })).status).toBe(200);
    const headers = { 'content-type': 'application/json', 'content-length': '0' };
    expect((await gateway.send(read, { method: 'POST', key, headers })).status).toBe(200);
    expect(services.asked.map(({ payload }) => payload)).toEqual(['{}', '{}']);
  });

  it('by GET takes its fields from the query; lists are repeated keys or commas', async () => {
    await gateway.send(`${read}?id=a%20b&tags=x&tags=y`, { key });
    await gateway.send(`${read}?tags=x,y`, { key });
    await gateway.send(`${read}?id=1&__proto__=x&constructor=y`, { key });
    await gateway.send(`${read}?id=1`, { method: 'HEAD', key });
    await gateway.send(`${read}?id=&page=&tags=x`, { key });
    expect(services.asked.map(({ payload }) => JSON.parse(payload))).toEqual([
      { id: 'a b', tags: ['x', 'y'] },
      { tags: ['x', 'y'] },
      { id: '1' },
      { id: '1' },
      { tags: ['x'] },
    ]);
  });

  it('that is wrong is told all that is wrong, by pointer, without its values', async () => {
    const body = { amount: 'hunter2', note: 3, lines: [{ quantity: 1 }, { quantity: 'hunter2' }, {}, { quantity: 0 }] };
    const answer = await gateway.post(write, body, key);
    expect(answer).toMatchObject({ status: 400, json: { code: 51, error: { type: 'invalid_parameters' } } });
    expect(answer.json.error?.issues.map(({ path }) => path)).toEqual([
      '/amount',
      '/note',
      '/lines/1/quantity',
      '/lines/2/quantity',
      '/lines/3/quantity',
    ]);
    expect(answer.json.message).toMatch(
      /^amount must be .*; note must be a text; lines\[1\]\.quantity .*; and 2 more$/,
    );
    expect(answer.text).not.toContain('hunter2');
    expect(services.asked).toEqual([]);
    const missing = await gateway.post(write, {}, key);
    expect(missing.json.error?.issues).toEqual([{ path: '/amount', message: 'amount is required' }]);
    const query = await gateway.send(`${read}?id=a&id=b`, { key });
    expect(query.json.error?.issues).toEqual([{ path: '/id', message: 'id must be a text' }]);
  });

  it('may have null for what is not given, and keys in another case', async () => {
    expect((await gateway.post(write, { Amount: 7, note: null, LINES: null }, key)).status).toBe(200);
    expect(JSON.parse(services.asked[0]?.payload ?? '')).toEqual({ amount: 7, note: 'none', lines: [] });
    const missing = await gateway.post(write, { amount: null }, key);
    expect(missing.json).toMatchObject({ code: 51, message: 'amount is required' });
  });

  it('that only a member may make is refused for an API key, whatever it says', async () => {
    expect(await gateway.post(own, { amount: 'wrong' }, key)).toMatchObject({
      status: 403,
      json: { code: 63, merchantId: 15, error: { type: 'permission_denied' } },
    });
    expect(services.asked).toEqual([]);
  });

  it('may be as large as 1 MiB, and what it grows to is refused where the bus cannot carry it', async () => {
    const note = 'x'.repeat(900_000);
    expect((await gateway.post(write, { amount: 1, note }, key)).status).toBe(200);
    const grown = await gateway.post(write, { amount: 1, note: 'ΐ'.repeat(250_000) }, key);
    expect(grown).toMatchObject({ status: 413, json: { code: 51, error: { type: 'body_too_large' } } });
  });
});

describe('an Idempotency-Key', () => {
  it('goes to the service with a write, and is ignored by a read', async () => {
    await gateway.post(write, { amount: 1 }, key, { 'idempotency-key': 'order 7 / ~!' });
    await gateway.post(read, {}, key, { 'idempotency-key': 'order 7' });
    await gateway.send(read, { key, headers: { 'idempotency-key': '' } });
    expect(services.asked.map(({ caller }) => caller.idempotencyKey)).toEqual(['order 7 / ~!', undefined, undefined]);
  });

  it('has 1 to 255 printable characters', async () => {
    for (const bad of ['', 'x'.repeat(256), 'tab\there', 'é']) {
      const answer = await gateway.post(write, { amount: 1 }, key, { 'idempotency-key': bad });
      expect(answer).toMatchObject({ status: 400, json: { code: 51, error: { type: 'invalid_parameters' } } });
      expect(answer.json.error?.issues).toEqual([
        {
          path: 'Idempotency-Key',
          message: 'The Idempotency-Key header must have 1 to 255 printable ASCII characters',
        },
      ]);
    }
    expect(services.asked).toEqual([]);
    expect((await gateway.post(write, { amount: 1 }, key, { 'idempotency-key': 'x'.repeat(255) })).status).toBe(200);
  });

  it('that was used before brings the first answer back, under the first request id', async () => {
    services.answer = () => ({ ok: true, bytes: '{"n":1}', replayOf: 'req_first' });
    const answer = await gateway.post(write, { amount: 1 }, key, { 'idempotency-key': 'k' });
    expect(answer.text).toBe(
      '{"code":0,"data":{"n":1},"merchantId":15,"message":"","redirect":"","requestId":"req_first"}',
    );
    expect(answer.headers['idempotency-replayed']).toBe('true');
    expect(answer.headers['x-request-id']).toMatch(/^req_[0-9a-z]{26}$/);
  });
});

describe('a rejection', () => {
  for (const slug of Object.keys(errors) as Slug[]) {
    it(`${slug} is answered as it is registered`, async () => {
      const kind: ErrorKind = errors[slug];
      const issues = [{ path: '/amount', message: 'is wrong' }];
      services.answer = () => ({ ok: false, bytes: JSON.stringify(new Rejected(slug, 'As it is here', issues)) });
      const own = await gateway.post(write, { amount: 1 }, key);
      const message = slug === 'internal_error' ? kind.message : 'As it is here';
      expect(own.status).toBe(kind.http);
      expect(own.json).toEqual({
        code: kind.code,
        data: {},
        merchantId: 15,
        message,
        redirect: '',
        requestId: own.headers['x-request-id'],
        error: { type: slug, issues },
      });
      expect(own.headers['retry-after']).toBe(kind.http === 503 || kind.http === 429 ? '1' : undefined);
      services.answer = () => ({ ok: false, bytes: JSON.stringify({ slug }) });
      const plain = await gateway.post(write, { amount: 1 }, key);
      expect(plain.json).toMatchObject({ message: kind.message, error: { type: slug, issues: [] } });
    });
  }

  it('that is not registered is a bug of ours, and says nothing', async () => {
    for (const bytes of ['{"slug":"made_up","message":"secret"}', '{"slug":"toString"}', 'secret', 'null']) {
      services.answer = () => ({ ok: false, bytes });
      const answer = await gateway.post(write, { amount: 1 }, key);
      expect(answer.status).toBe(500);
      expect(answer.json).toMatchObject({ code: 50, data: {}, error: { type: 'internal_error', issues: [] } });
      expect(answer.json.message).toBe(errors.internal_error.message);
      expect(answer.text).not.toContain('secret');
    }
  });
});

describe('what a request needs may be away', () => {
  it('a service: 56 at once, and nothing was done', async () => {
    const answer = await gateway.post('/merchant/sample/elsewhere', {}, key);
    expect(answer).toMatchObject({ status: 503, json: { code: 56, error: { type: 'dependency_away' } } });
    expect(answer.json.message).toBe('The catalog service is away; nothing was done');
    expect(answer.headers['retry-after']).toBe('1');
  });

  it('an answer: 56 at the deadline, and the outcome is unknown', async () => {
    let behind = 0;
    const clock = { now: () => 0, wall: () => Date.now() - behind };
    const hasty = await (await TestGateway.start(nats.url, { clock })).ready();
    behind = patient(8_000) - 300;
    services.answer = () => new Promise(() => undefined);
    const answer = await hasty.post(write, { amount: 1 }, key);
    expect(answer).toMatchObject({ status: 503, json: { code: 56, error: { type: 'deadline_exceeded' } } });
    expect(answer.json.message).toContain('the outcome is unknown');
  });

  it('the bus: 56 at once, keys are still verified, and all goes on when it is back', async () => {
    const ownNats = await TestNats.start();
    const signer = await signingKey('k9');
    const answering = await Services.start(ownNats.url, [signer.jwk]);
    const alone = await (await TestGateway.start(ownNats.url)).ready();
    await ownNats.kill();
    const first = await signer.sign();
    for (const credential of [first, await signer.sign({ jti: 'never seen' })]) {
      const answer = await alone.post(write, { amount: 1 }, credential);
      expect(answer).toMatchObject({ status: 503, json: { code: 56, merchantId: 15 } });
      expect(answer.json.error?.type).toBe('dependency_away');
    }
    expect(await alone.post(write, { amount: 1 }, key)).toMatchObject({ status: 401 });
    expect(await alone.ops('/readyz')).toMatchObject({ status: 200, json: { bus: 'away' } });
    await ownNats.start();
    let status = 0;
    while (status !== 200) status = (await alone.post(write, { amount: 1 }, first)).status;
    await alone.stop();
    await answering.stop();
    await ownNats.close();
  });
});

describe('rates', () => {
  it('are counted by credential; over them 429 says when to come back', async () => {
    const env = { RATE_PER_SECOND: '1', RATE_BURST: '3' };
    const strict = await (await TestGateway.start(nats.url, { env })).ready();
    const answers = [];
    for (let attempt = 0; attempt < 4; attempt++) answers.push(await strict.send(read, { key }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(answers.map(({ headers }) => headers['ratelimit-remaining'])).toEqual(['2', '1', '0', '0']);
    const [first, , , last] = answers;
    expect(first?.headers).toMatchObject({ 'ratelimit-limit': '3', 'ratelimit-reset': '1' });
    expect(last?.json).toMatchObject({ code: 55, merchantId: 15, error: { type: 'rate_limited' } });
    expect(last?.headers).toMatchObject({ 'retry-after': '1', 'ratelimit-limit': '3', 'ratelimit-reset': '3' });
  });

  it('of those who show no valid credential are counted by address', async () => {
    const env = { RATE_PER_SECOND: '1', RATE_BURST: '3' };
    const strict = await (await TestGateway.start(nats.url, { env })).ready();
    const statuses = [];
    for (const credential of [key, 'a.b.c', 'd.e.f', 'g.h.i']) {
      statuses.push((await strict.send(read, { key: credential })).status);
    }
    expect(statuses).toEqual([200, 401, 401, 429]);
    expect((await strict.send(read, { key })).status).toBe(200);
  });
});

describe('an address', () => {
  for (const trusted of [true, false]) {
    it(`is ${trusted ? 'what the proxy in front says, and no client' : 'that of the connection'}`, async () => {
      const env = { RATE_PER_SECOND: '1', RATE_BURST: '1', TRUST_PROXY: String(trusted) };
      const strict = await (await TestGateway.start(nats.url, { env })).ready();
      const statuses = [];
      for (const forwarded of ['1.1.1.1', '2.2.2.2', '3.3.3.3, 2.2.2.2']) {
        const headers = { 'x-forwarded-for': forwarded };
        statuses.push((await strict.send(read, { key: 'a.b.c', headers })).status);
      }
      expect(statuses).toEqual(trusted ? [401, 401, 429] : [401, 429, 429]);
    });
  }
});

describe('the contract table', () => {
  it('is what is served: every operation, by its methods, and no other', async () => {
    const whole = await (await TestGateway.start(nats.url, { operations: operations })).ready();
    for (const { path, methods, anonymous } of operations) {
      // who needs no credential is told of the input that is missing
      const served = anonymous ? 400 : 401;
      for (const method of ['GET', 'POST'] as const) {
        const { status } = await whole.send(path, { method });
        expect({ path, method, status }).toEqual({ path, method, status: methods.includes(method) ? served : 405 });
      }
    }
  });

  it('lists errors that any operation may answer', () => {
    expect(commonErrors.filter(slug => !(slug in errors))).toEqual([]);
  });
});
