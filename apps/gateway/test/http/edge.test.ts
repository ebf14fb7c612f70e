import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type Answered,
  envelopeIn,
  eventually,
  Services,
  type SigningKey,
  signingKey,
  TestGateway,
  TestNats,
} from '../stand.js';

let nats: TestNats;
let services: Services;
let gateway: TestGateway;
let signer: SigningKey;
let key: string;

beforeAll(async () => {
  nats = await TestNats.start();
  signer = await signingKey('k1');
  key = await signer.sign();
  services = await Services.start(nats.url, [signer.jwk]);
  gateway = await (await TestGateway.start(nats.url)).ready();
});
afterAll(async () => {
  await TestGateway.stopAll();
  await services.stop();
  await nats.close();
});

const path = '/merchant/sample/write';
const asJson = { 'content-type': 'application/json' };

/** What every failure must be, whoever answers it. */
function expectFailure(answer: Answered, status: number, code: number, type: string, merchantId = 15): void {
  expect(answer.status).toBe(status);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(Object.keys(answer.json)).toEqual(['code', 'data', 'merchantId', 'message', 'redirect', 'requestId', 'error']);
  expect(answer.json).toMatchObject({ code, data: {}, merchantId, redirect: '', error: { type } });
  expect(answer.json.message).not.toBe('');
  expect(answer.json.requestId).toBe(answer.headers['x-request-id']);
  expect(answer.json.requestId).toMatch(/^req_[0-9a-z]{26}$/);
}

describe('every answer is the envelope', () => {
  it('of a path that does not exist, telling who asked when it is known', async () => {
    expectFailure(await gateway.send('/merchant/nowhere'), 404, 53, 'unknown_path', 0);
    expectFailure(await gateway.send('/merchant/nowhere', { key }), 404, 53, 'unknown_path', 15);
    expectFailure(await gateway.send('/merchant/nowhere', { key: 'rubbish' }), 404, 53, 'unknown_path', 0);
    expect((await gateway.send('/')).headers.location).toBe('docs');
    expectFailure(await gateway.send(`${path}/`, { method: 'POST', key }), 404, 53, 'unknown_path');
  });

  it('of an unknown path whatever its body is', async () => {
    const answer = await gateway.send('/nowhere', { method: 'POST', headers: asJson, body: '{' });
    expectFailure(answer, 404, 53, 'unknown_path', 0);
  });

  it('of a path that does not take the method, naming those it takes', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND']) {
      const answer = await gateway.send(path, { method, key });
      expectFailure(answer, 405, 53, 'method_not_allowed');
      expect(answer.json.message).toBe(`This path takes POST, not ${method}`);
      expect(answer.headers.allow).toBe('POST');
    }
    const allowed = async (at: string) => (await gateway.send(at, { method: 'PUT' })).headers.allow;
    expect(await allowed('/openapi.json?x=1')).toBe('GET, HEAD');
    expect(await allowed('/oauth/authorize')).toBe('GET, HEAD, POST');
    expect(await allowed('/oauth/hooks/7')).toBe('DELETE');
    expect(await allowed('/oauth/hooks/7/8')).toBe(undefined);
    expect(await allowed('/oauth.hooks')).toBe(undefined);
  });

  it('of a path that cannot be decoded', async () => {
    expectFailure(await gateway.send('/merchant/%zz', { key }), 404, 53, 'unknown_path', 0);
  });

  it('of malformed JSON, saying where and not repeating it', async () => {
    const faults = {
      '{': 'line 1, column 2: a closing brace is expected',
      '{"amount": 1,}': 'line 1, column 14: a property name in double quotes is expected',
      '{\n  "secret": hunter2\n}': 'line 2, column 13: an unexpected symbol',
      '{"a": 1\r\n "b": 2}': 'line 2, column 2: a comma is expected',
      'null null': 'line 1, column 6: the value is over, and more follows',
      '\ufeff{}': 'line 1, column 1: an unexpected symbol',
      '{"a":"\u0001"}': 'line 1, column 6: a control character in a string has to be escaped',
      '{"a": 1} // no': 'line 1, column 10: JSON has no comments',
    };
    for (const [body, fault] of Object.entries(faults)) {
      const answer = await gateway.send(path, { method: 'POST', key, headers: asJson, body });
      expectFailure(answer, 400, 51, 'malformed_json');
      expect(answer.json.message).toBe(`The body is not valid JSON: ${fault}`);
    }
    const notUtf8 = Buffer.from([0x22, 0xff, 0x22]);
    const answer = await gateway.send(path, { method: 'POST', key, headers: asJson, body: notUtf8 });
    expectFailure(answer, 400, 51, 'malformed_json');
  });

  it('of a body that is no JSON object', async () => {
    for (const body of ['null', '[]', '"text"', '1']) {
      const answer = await gateway.send(path, { method: 'POST', key, headers: asJson, body });
      expectFailure(answer, 400, 51, 'invalid_parameters');
      expect(answer.json.error?.issues).toEqual([{ path: '', message: 'The input must be an object' }]);
    }
  });

  it('of a body that is larger than 1 MiB, whether its length was announced or not', async () => {
    const body = JSON.stringify({ amount: 1, data: 'x'.repeat(2 * 1024 * 1024) });
    expectFailure(await gateway.send(path, { method: 'POST', key, headers: asJson, body }), 413, 51, 'body_too_large');
    const chunked = { ...asJson, 'transfer-encoding': 'chunked' };
    expectFailure(await gateway.send(path, { method: 'POST', key, headers: chunked, body }), 413, 51, 'body_too_large');
  });

  it('of a body that is not JSON by its type', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml', 'json', '']) {
      const headers = { 'content-type': type };
      const answer = await gateway.send(path, { method: 'POST', key, headers, body: '{"amount":1}' });
      expectFailure(answer, 415, 51, 'unsupported_media_type');
    }
    const untyped = await gateway.send(path, { method: 'POST', key, body: '{"amount":1}' });
    expectFailure(untyped, 415, 51, 'unsupported_media_type');
  });

  it('of a body that says its type in full', async () => {
    for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset="UTF-8"']) {
      const headers = { 'content-type': type };
      const { status } = await gateway.send(path, { method: 'POST', key, headers, body: '{"amount":1}' });
      expect({ type, status }).toEqual({ type, status: 200 });
    }
  });

  it('of a body that is nested without end', async () => {
    for (const open of ['[', '{"a":']) {
      const body = `{"amount":1,"data":${open.repeat(150_000)}`;
      const answer = await gateway.send(path, { method: 'POST', key, headers: asJson, body });
      expectFailure(answer, 400, 51, 'invalid_parameters');
      expect(answer.json.error?.issues[0]?.message).toBe('The body is nested more than 64 deep');
    }
    const brackets = JSON.stringify({ amount: 1, note: `\\"${'['.repeat(100)}` });
    expect((await gateway.send(path, { method: 'POST', key, headers: asJson, body: brackets })).status).toBe(200);
  });

  it('of what is no HTTP at all, and of headers without end', async () => {
    const rubbish = await gateway.raw('what is this\r\n\r\n');
    expect(rubbish).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(envelopeIn(rubbish)).toMatchObject({ code: 51, error: { type: 'invalid_parameters' } });
    const large = await gateway.raw(`GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(20_000)}`);
    expect(envelopeIn(large)).toMatchObject({ code: 51, message: 'The headers are larger than 16384 bytes' });
    const tunnel = await gateway.raw('CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(envelopeIn(tunnel)).toMatchObject({ code: 53 });
  });

  it('of a body whose parts are not what they say', async () => {
    const head = `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n`;
    for (const chunks of ['zz\r\n{}\r\n0\r\n\r\n', `2;${'x'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`]) {
      const answer = await gateway.raw(`${head}transfer-encoding: chunked\r\n\r\n${chunks}`);
      expect(envelopeIn(answer)).toMatchObject({ code: 51, error: { type: 'invalid_parameters' } });
    }
    const body = '{"amount":1,"note":"é"}';
    const counted = await gateway.raw(`${head}content-length: ${body.length}\r\n\r\n${body}`);
    expect(envelopeIn(counted)).toMatchObject({ code: 51, merchantId: 15, error: { type: 'malformed_json' } });
    const longer = await gateway.raw(`${head}content-length: 12\r\n\r\n{"amount":1}, and more`);
    expect(longer).toMatch(/^HTTP\/1\.1 200 OK\r\n(.*\r\n)*Connection: close\r\n/);
    expect(envelopeIn(longer)).toMatchObject({ code: 0, merchantId: 15 });
  });

  it('of requests that Node would answer by itself', async () => {
    const expecting = 'GET /nowhere HTTP/1.1\r\nhost: x\r\nexpect: a miracle\r\nconnection: close\r\n\r\n';
    expect(envelopeIn(await gateway.raw(expecting))).toMatchObject({ code: 53 });
    const upgrade = 'GET /nowhere HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade, close\r\n\r\n';
    expect(envelopeIn(await gateway.raw(upgrade))).toMatchObject({ code: 53 });
  });
});

describe('a request', () => {
  const close = 'connection: close\r\n\r\n';

  it('without a Host, or with two, is refused', async () => {
    for (const hosts of ['', 'host: a\r\nhost: b\r\n', 'host: a\r\nHost: a\r\n', 'host: a, b\r\n']) {
      const answer = await gateway.raw(`GET /livez HTTP/1.1\r\n${hosts}${close}`);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(envelopeIn(answer)).toMatchObject({ code: 51, error: { type: 'invalid_parameters' } });
    }
    expect(await gateway.raw(`GET /livez HTTP/1.1\r\nhost: a\r\n${close}`)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await gateway.raw(`GET /livez HTTP/1.0\r\n${close}`)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('with more members than any input has is refused before it is parsed, wherever they are', async () => {
    const post = (body: string) => gateway.send(path, { method: 'POST', key, headers: asJson, body });
    const list = (count: number) => `{"amount":1,"data":[${Array(count).fill('0').join()}]}`;
    const bodies = [
      JSON.stringify(Object.fromEntries(Array.from({ length: 10_001 }, (_, at) => [`k${at}`, at]))),
      list(10_000),
      `{"data":[${Array(6_000).fill('{"a":1}').join()}]}`,
      `{"data":[${Array(10_001).fill('[]').join()}`,
    ];
    for (const body of bodies) {
      const answer = await post(body);
      expectFailure(answer, 400, 51, 'invalid_parameters');
      expect(answer.json.error?.issues).toEqual([{ path: '', message: 'The body has more than 10000 members' }]);
    }
    expect((await post(list(9_990))).status).toBe(200);
    expect((await post(JSON.stringify({ amount: 1, note: ','.repeat(20_000) }))).status).toBe(200);
  });
});

describe('connections', () => {
  /** Opens connections, and answers how many of them are still open once all have been told of. */
  async function open(strict: TestGateway, count: number): Promise<Socket[]> {
    const sockets = await Promise.all(
      Array.from({ length: count }, async () => {
        const socket = connect(strict.port, '127.0.0.1').on('error', () => undefined);
        // a request that is answered, or the end of a connection that is one too many
        const told = new Promise(resolve => socket.once('data', resolve).once('close', resolve));
        socket.write('GET /livez HTTP/1.1\r\nhost: x\r\n\r\n');
        await told;
        return socket;
      }),
    );
    return sockets.filter(socket => !socket.closed);
  }

  it('of one address are bounded; when some are closed, others may come', async () => {
    const strict = await TestGateway.start(nats.url, { env: { MAX_CONNECTIONS_PER_ADDRESS: '5' } });
    const first = await open(strict, 12);
    expect(first).toHaveLength(5);
    expect(await open(strict, 1)).toHaveLength(0);
    await Promise.all(first.map(socket => once(socket.destroy(), 'close')));
    await eventually(async () => (await open(strict, 1)).map(socket => socket.destroy()).length === 1);
    await strict.stop();
  });

  it('behind a proxy are bounded in all', async () => {
    const env = { MAX_CONNECTIONS_PER_ADDRESS: '2', MAX_CONNECTIONS: '6', TRUST_PROXY: 'true' };
    const strict = await TestGateway.start(nats.url, { env });
    const sockets = await open(strict, 12);
    expect(sockets).toHaveLength(6);
    for (const socket of sockets) socket.destroy();
    await strict.stop();
  });
});

describe('headers', () => {
  it('keep an answer from being cached, sniffed or framed, and do not name the software', async () => {
    const { headers } = await gateway.post(path, { amount: 1 }, key);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    });
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(['x-powered-by', 'server']));
    const foreign = await gateway.post(path, { amount: 1 }, key, { origin: 'https://example.com' });
    expect(Object.keys(foreign.headers).filter(name => name.startsWith('access-control'))).toEqual([]);
  });
});

describe('for those who run it', () => {
  it('tells that it lives, is ready, what it is and what it measured', async () => {
    expect((await gateway.send('/livez')).json).toEqual({ live: true });
    expect((await gateway.ops('/readyz')).json).toMatchObject({ callers: true, serving: true, bus: 'connected' });
    const { version } = (await gateway.send('/version')).json as unknown as { version: string };
    expect(version).toMatch(/^daily,buildtime:\d{10}$/);
    await gateway.post(path, { amount: 1 }, key);
    await gateway.send(path, { method: 'POST', key, body: 'no JSON' });
    const { text } = await gateway.ops('/metrics');
    for (const outcome of ['ok', 'unsupported_media_type']) {
      expect(text).toContain(`recur_http_requests_total{operation="billing.sample.write",outcome="${outcome}"}`);
    }
    expect(text).toContain('recur_http_request_seconds_count{operation="billing.sample.write"}');
  });

  it('tells the public no more than that it lives and which version it is, and decodes no path', async () => {
    for (const hidden of ['/metrics', '/%6detrics', '/readyz', '/%72eadyz', '/%6civez', '/%76ersion', '/livez/']) {
      expectFailure(await gateway.send(hidden), 404, 53, 'unknown_path', 0);
    }
    const encoded = path.replace('sample', '%73ample');
    const sent = { method: 'POST', key, headers: asJson, body: '{}' };
    expectFailure(await gateway.send(encoded, sent), 404, 53, 'unknown_path', 0);
  });

  it('has metrics of bounded size, whatever is asked', async () => {
    const ask = async () => (await gateway.ops('/metrics')).text.split('\n').length;
    await gateway.send('/nowhere/first', { key });
    const before = await ask();
    for (let at = 0; at < 50; at++) await gateway.send(`/nowhere/${at}`, { method: at % 2 ? 'PUT' : 'GET', key });
    // the text is kept for a second
    await new Promise(resolve => setTimeout(resolve, 1_100));
    expect((await ask()) - before).toBeLessThan(10);
  });
});
