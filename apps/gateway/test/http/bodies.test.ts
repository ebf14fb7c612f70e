import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { operation } from '@recur/contracts';
import { MovableClock } from '@recur/platform/testing';
import { z } from 'zod';
import { Services, type SigningKey, samples, signingKey, TestGateway, TestNats } from '../stand.js';

const base = {
  service: 'billing',
  effect: 'write',
  permission: 'invoice.write',
  errors: [],
  summary: 'A sample',
} as const;
const open = operation({
  ...base,
  name: 'sample.open',
  methods: ['POST'],
  path: '/merchant/sample/open',
  anonymous: true,
  input: z.object({ note: z.string().optional() }),
  output: z.object({}),
});
const link = operation({
  ...base,
  name: 'sample.link',
  methods: ['GET'],
  path: '/merchant/sample/link',
  input: z.object({ id: z.string() }),
  output: z.object({}),
});

const lines = operation({
  ...base,
  name: 'sample.lines',
  methods: ['POST'],
  path: '/merchant/sample/lines',
  ndjson: 'lines',
  input: z.object({ lines: z.string() }),
  output: z.object({}),
});

const upload = operation({
  ...base,
  name: 'sample.upload',
  methods: ['POST'],
  path: '/merchant/sample/upload',
  multipart: 'file',
  input: z.object({ task: z.string(), file: z.object({ name: z.string(), base64: z.string() }) }),
  output: z.object({}),
});

let nats: TestNats;
let services: Services;
let signer: SigningKey;
let key: string;
let gateway: TestGateway;
const clock = new MovableClock(Date.now());

beforeAll(async () => {
  nats = await TestNats.start();
  signer = await signingKey('k1');
  key = await signer.sign();
  services = await Services.start(nats.url, [signer.jwk]);
  const operations = [...samples, open, link, lines, upload];
  gateway = await (await TestGateway.start(nats.url, { operations })).ready();
});
afterEach(() => {
  services.asked.length = 0;
});
afterAll(async () => {
  await TestGateway.stopAll();
  await services.stop();
  await nats.close();
});

const asJson = { 'content-type': 'application/json' };
const write = '/merchant/sample/write';
const bodyOf = (bytes: number) => JSON.stringify({ amount: 1, note: 'x'.repeat(bytes - 24) });

describe('a body without a credential', () => {
  it('has 16 KiB at most, announced or not, and is not parsed beyond', async () => {
    const post = (body: string, headers = {}) =>
      gateway.send(open.path, { method: 'POST', headers: { ...asJson, ...headers }, body });
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
      // not even JSON: were it parsed, it would be malformed
      expect(await post(`{${'x'.repeat(17_000)}`, headers)).toMatchObject({
        status: 413,
        json: { code: 51, message: 'The body is larger than 16 KiB', error: { type: 'body_too_large' } },
      });
      expect((await post(JSON.stringify({ note: 'x'.repeat(16_000) }), headers)).status).toBe(200);
    }
  });

  it('has as little at the endpoints of OAuth, whose message says so', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await gateway.send('/oauth/token', { method: 'POST', headers, body: `a=${'x'.repeat(17_000)}` });
    expect(answer.text).toContain('The body is larger than 16 KiB');
  });

  it('may be 1 MiB with one', async () => {
    expect((await gateway.send(write, { method: 'POST', key, headers: asJson, body: bodyOf(900_000) })).status).toBe(
      200,
    );
  });
});

describe('fields that an operation does not know', () => {
  const post = (body: object, headers = {}) =>
    gateway.send(write, { method: 'POST', key, headers: { ...asJson, ...headers }, body: JSON.stringify(body) });

  it('are ignored, and named in a header of a bounded length', async () => {
    const fine = await post({ amount: 1, note: 'x' });
    expect([fine.status, fine.headers['x-ignored-fields']]).toEqual([200, undefined]);
    const { status, headers } = await post({ amount: 1, ammount: 2, 'größe, rot': 3, ['x'.repeat(5_000)]: 4 });
    expect([status, headers['x-ignored-fields']]).toEqual([
      200,
      `/ammount, /gr%C3%B6%C3%9Fe%2C%20rot, /${'x'.repeat(99)}`,
    ]);
    expect(services.asked.map(({ payload }) => JSON.parse(payload))[1]).not.toHaveProperty('ammount');
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`${at}`.padEnd(90, 'x'), 1]));
    expect((await post({ amount: 1, ...many })).headers['x-ignored-fields']?.length).toBeLessThan(1_100);
  });

  it('are refused by name where the client prefers strict handling', async () => {
    for (const prefer of ['handling=strict', 'respond-async, handling = "Strict"; x=1', 'a;handling=strict']) {
      const { status, json, headers } = await post({ amount: 1, ammount: 2, other: 3 }, { prefer });
      expect([status, headers['preference-applied']]).toEqual([400, 'handling=strict']);
      expect(json).toMatchObject({
        code: 51,
        error: { type: 'invalid_parameters', issues: [{ path: '/ammount' }, { path: '/other' }] },
      });
    }
    expect((await post({ amount: 1 }, { prefer: 'handling=strict' })).status).toBe(200);
    for (const prefer of ['handling=lenient', 'strict', 'xhandling=strict', 'handling=stricter']) {
      expect((await post({ amount: 1, ammount: 2 }, { prefer })).status).toBe(200);
    }
  });
});

describe('NDJSON', () => {
  const ndjson = { 'content-type': 'application/x-ndjson; charset=utf-8' };
  const post = (path: string, headers: object, body: string) =>
    gateway.send(path, { method: 'POST', key, headers: { ...headers }, body });

  it('is passed on as the text of its field, up to 1 MiB', async () => {
    const body = `{"a":"${'x'.repeat(1_000_000)}"}\nno JSON`;
    expect((await post(lines.path, ndjson, body)).status).toBe(200);
    expect(services.asked.map(({ payload }) => JSON.parse(payload))).toEqual([{ lines: body }]);
    const larger = await post(lines.path, ndjson, 'x'.repeat(1_048_577));
    expect(larger).toMatchObject({ status: 413, json: { error: { type: 'body_too_large' } } });
  });

  it('has at most 10000 lines, of which blank ones count, and more are not decoded', async () => {
    const env = { RATE_PER_SECOND: '100000', RATE_BURST: '100000' };
    const patient = await (await TestGateway.start(nats.url, { operations: [...samples, lines], env })).ready();
    const send = (body: string | Buffer) => patient.send(lines.path, { method: 'POST', key, headers: ndjson, body });
    for (const [body, status] of [
      ['\n'.repeat(10_000), 200],
      [`${'{}\n'.repeat(10_000)}`, 200],
      [`${'{}\n'.repeat(9_999)}{}`, 200],
      [`${'{}\n'.repeat(10_000)}{}`, 400],
      ['\n'.repeat(10_001), 400],
    ] as const) {
      expect((await send(body)).status).toBe(status);
    }
    // not even UTF-8: were it decoded, it would be malformed
    const { status, json } = await send(Buffer.alloc(40_000, '\xff\n', 'latin1'));
    expect([status, json]).toMatchObject([
      400,
      { code: 51, error: { type: 'invalid_parameters', issues: [{ message: 'The body has more than 10000 lines' }] } },
    ]);
  });

  it('is taken by no other operation, which takes JSON alone', async () => {
    for (const [path, type] of [
      [lines.path, asJson],
      [write, ndjson],
    ] as const) {
      const { status, json } = await post(path, type, '{"amount":1}');
      expect([status, json.error?.type]).toEqual([415, 'unsupported_media_type']);
    }
  });
});

describe('a form', () => {
  const type = { 'content-type': 'multipart/form-data; boundary="----x"' };
  const part = (disposition: string, content: string) =>
    `------x\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;
  const post = (path: string, headers: object, body: string | Buffer) =>
    gateway.send(path, { method: 'POST', key, headers: { ...headers }, body });
  const asked = () => services.asked.map(({ payload }) => JSON.parse(payload));

  it('is passed on as its fields, the file as its name and bytes', async () => {
    const bytes = Buffer.from([0, 255, 13, 10, 45, 45]);
    const file = part('name="file"; filename="rows.csv"', bytes.toString('latin1'));
    const body = Buffer.from(`${part('name="task"', 'A')}${file}------x--\r\n`, 'latin1');
    expect((await post(upload.path, type, body)).status).toBe(200);
    const json = { task: 'A', file: { name: 'rows.csv', base64: bytes.toString('base64') } };
    expect((await post(upload.path, asJson, JSON.stringify(json))).status).toBe(200);
    expect(asked()).toEqual([json, json]);
  });

  it('names the field that is missing or no file', async () => {
    const refused = async (...parts: string[]) => {
      const { status, json } = await post(upload.path, type, `${parts.join('')}------x--\r\n`);
      return [status, json.code, ...(json.error?.issues ?? []).map(({ path, message }) => `${path} ${message}`)];
    };
    expect(await refused(part('name="task"', 'A'), part('name="file"', 'A'))).toEqual([
      400,
      51,
      '/file file must be sent as a file, not as text',
    ]);
    expect(await refused(part('name="other"', 'A'))).toEqual([
      400,
      51,
      expect.stringMatching(/^\/task /),
      expect.stringMatching(/^\/file /),
    ]);
    expect(await refused(...Array.from({ length: 21 }, (_, at) => part(`name="f${at}"`, 'A')))).toEqual([
      400,
      51,
      ' The form has more than 20 fields',
    ]);
    expect(asked()).toEqual([]);
  });

  it.each([
    ['without a boundary', { 'content-type': 'multipart/form-data' }, part('name="task"', 'A')],
    ['that does not end', type, part('name="task"', 'A')],
    ['that is empty', type, ''],
    [
      'of another boundary',
      { 'content-type': 'multipart/form-data; boundary=y' },
      `${part('name="task"', 'A')}------x--`,
    ],
  ])('%s is refused', async (_, headers, body) => {
    const { status, json } = await post(upload.path, headers, body);
    expect([status, json.error?.type]).toEqual([400, 'invalid_parameters']);
  });

  it('is taken by no operation without a file', async () => {
    const { status, json } = await post(write, type, `${part('name="amount"', '1')}------x--\r\n`);
    expect([status, json.error?.type]).toEqual([415, 'unsupported_media_type']);
  });
});

describe('the bucket of a credential', () => {
  const strict = () =>
    TestGateway.start(nats.url, { clock, env: { RATE_PER_SECOND: '10', RATE_BURST: '20' } }).then(one => one.ready());
  const sent = (to: TestGateway, bytes: number, headers = {}) =>
    to.send(write, { method: 'POST', key, headers: { ...asJson, ...headers }, body: bodyOf(bytes) });

  it('is charged a token for each 16 KiB of a body', async () => {
    const own = await strict();
    expect((await sent(own, 1_000)).headers['ratelimit-remaining']).toBe('19');
    expect((await sent(own, 16_400)).headers['ratelimit-remaining']).toBe('17');
    expect((await sent(own, 100_000)).headers['ratelimit-remaining']).toBe('10');
  });

  it('goes into debt for one that costs more than is left, so that none is refused for ever', async () => {
    const own = await strict();
    expect((await sent(own, 900_000)).status).toBe(200);
    const refused = await sent(own, 100);
    expect(refused).toMatchObject({ status: 429, json: { code: 55 } });
    expect(refused.headers['retry-after']).toBe('4');
    clock.advance(4);
    expect((await sent(own, 100)).status).toBe(200);
  });

  it('is charged the most for a body of unknown length, and gets back what that did not cost', async () => {
    const own = await strict();
    expect((await sent(own, 100, { 'transfer-encoding': 'chunked' })).status).toBe(200);
    expect((await sent(own, 100)).headers['ratelimit-remaining']).toBe('18');
  });

  it('is charged a token for each mistake beyond the first, which cost more than a right input', async () => {
    const own = await strict();
    const wrong = (mistakes: number) =>
      own.post(write, { amount: 1, lines: Array.from({ length: mistakes }, () => ({ quantity: 0 })) }, key);
    expect((await wrong(1)).headers['ratelimit-remaining']).toBe('19');
    expect((await wrong(1)).headers['ratelimit-remaining']).toBe('18');
    expect((await wrong(400)).status).toBe(400);
    expect(await wrong(1)).toMatchObject({ status: 429, headers: { 'retry-after': '43' } });
  });

  it('is charged a token for each 20 members of a body', async () => {
    const own = await strict();
    const body = (count: number) => ({ amount: 1, other: Array(count).fill(null) });
    expect((await own.post(write, body(17), key)).headers['ratelimit-remaining']).toBe('19');
    expect((await own.post(write, body(110), key)).headers['ratelimit-remaining']).toBe('13');
    expect((await own.post(write, body(9_900), key)).status).toBe(200);
    const refused = await own.post(write, body(1), key);
    expect(refused).toMatchObject({ status: 429, json: { code: 55 }, headers: { 'retry-after': '49' } });
  });

  it('is charged a token for each line of NDJSON that is not blank', async () => {
    const own = await (
      await TestGateway.start(nats.url, {
        clock,
        operations: [...samples, lines],
        env: { RATE_PER_SECOND: '10', RATE_BURST: '20' },
      })
    ).ready();
    const send = (body: string) =>
      own.send(lines.path, { method: 'POST', key, headers: { 'content-type': 'application/x-ndjson' }, body });
    expect((await send('{}\n\n \r\n{}')).headers['ratelimit-remaining']).toBe('17');
    expect((await send('{}\n'.repeat(1_000))).status).toBe(200);
    const refused = await send('{}');
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '99']);
  });

  it('in debt for the contents of one refuses those that were admitted with it', async () => {
    const own = await strict();
    const body = { amount: 1, other: Array(9_900).fill(null) };
    const statuses = await Promise.all(Array.from({ length: 8 }, () => own.post(write, body, key)));
    expect(statuses.map(({ status }) => status).sort()).toEqual([200, 429, 429, 429, 429, 429, 429, 429]);
  });

  it('of another credential is not touched while one sends large bodies', async () => {
    const own = await strict();
    const other = await signer.sign({ sub: '16', jti: 'other' });
    expect((await own.post(write, { amount: 1 }, other)).status).toBe(200);
    const flood = Array.from({ length: 40 }, () => sent(own, 878_000));
    const quiet = await Promise.all(Array.from({ length: 10 }, () => own.post(write, { amount: 1 }, other)));
    expect(quiet.map(({ status }) => status)).toEqual(Array(10).fill(200));
    const counts = (await Promise.all(flood)).map(({ status }) => status);
    expect(counts.filter(status => status === 200)).toHaveLength(1);
    expect(counts.filter(status => status === 429)).toHaveLength(39);
  });
});

describe('HEAD', () => {
  it('answers as GET would, and does nothing that has an effect', async () => {
    expect(await gateway.send(`${link.path}?id=1`, { method: 'HEAD', key })).toMatchObject({ status: 200, text: '' });
    expect(await gateway.send(link.path, { method: 'HEAD', key })).toMatchObject({ status: 400, text: '' });
    expect(await gateway.send(`${link.path}?id=1`, { method: 'HEAD' })).toMatchObject({ status: 401, text: '' });
    expect(await gateway.send('/oauth/authorize?client_id=x', { method: 'HEAD' })).toMatchObject({ text: '' });
    expect(services.asked).toEqual([]);
    await gateway.send(`${link.path}?id=1`, { key });
    expect(services.asked).toHaveLength(1);
  });
});
