import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Answered, envelopeIn, Services, type SigningKey, signingKey, TestGateway, TestNats } from '../stand.js';

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
    expectFailure(await gateway.send('/'), 404, 53, 'unknown_path', 0);
    expectFailure(await gateway.send(`${path}/`, { method: 'POST', key }), 404, 53, 'unknown_path');
  });

  it('of an unknown path whatever its body is', async () => {
    const answer = await gateway.send('/nowhere', { method: 'POST', headers: asJson, body: '{' });
    expectFailure(answer, 404, 53, 'unknown_path', 0);
  });

  it('of a path that does not take the method, naming those it takes', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND']) {
      const answer = await gateway.send(path, { method, key });
      expectFailure(answer, 404, 53, 'unknown_path');
      expect(answer.json.message).toBe(`This path takes POST, not ${method}`);
    }
  });

  it('of a path that cannot be decoded', async () => {
    expectFailure(await gateway.send('/merchant/%zz', { key }), 404, 53, 'unknown_path', 0);
  });

  it('of malformed JSON, without repeating it', async () => {
    for (const body of ['{', '{"amount": 1,}', '{"secret": hunter2}', 'null null', '\ufeff{}', '{"a":"\u0001"}']) {
      const answer = await gateway.send(path, { method: 'POST', key, headers: asJson, body });
      expectFailure(answer, 400, 51, 'malformed_json');
      expect(answer.text).not.toContain('hunter2');
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
    expectFailure(await gateway.send(path, { method: 'POST', key, headers: asJson, body }), 400, 51, 'body_too_large');
    const chunked = { ...asJson, 'transfer-encoding': 'chunked' };
    expectFailure(await gateway.send(path, { method: 'POST', key, headers: chunked, body }), 400, 51, 'body_too_large');
  });

  it('of a body that is not JSON by its type', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml', 'json', '']) {
      const headers = { 'content-type': type };
      const answer = await gateway.send(path, { method: 'POST', key, headers, body: '{"amount":1}' });
      expectFailure(answer, 400, 51, 'unsupported_media_type');
    }
    const untyped = await gateway.send(path, { method: 'POST', key, body: '{"amount":1}' });
    expectFailure(untyped, 400, 51, 'unsupported_media_type');
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
    const hostless = await gateway.raw('GET /nowhere HTTP/1.1\r\nconnection: close\r\n\r\n');
    expect(envelopeIn(hostless)).toMatchObject({ code: 53, error: { type: 'unknown_path' } });
    const expecting = 'GET /nowhere HTTP/1.1\r\nhost: x\r\nexpect: a miracle\r\nconnection: close\r\n\r\n';
    expect(envelopeIn(await gateway.raw(expecting))).toMatchObject({ code: 53 });
    const upgrade = 'GET /nowhere HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade, close\r\n\r\n';
    expect(envelopeIn(await gateway.raw(upgrade))).toMatchObject({ code: 53 });
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
    expect((await gateway.send('/readyz')).json).toMatchObject({ callers: true, serving: true, bus: 'connected' });
    const { version } = (await gateway.send('/version')).json as unknown as { version: string };
    expect(version).toMatch(/^daily,buildtime:\d{10}$/);
    await gateway.post(path, { amount: 1 }, key);
    await gateway.send(path, { method: 'POST', key, body: 'no JSON' });
    const { text } = await gateway.send('/metrics');
    for (const outcome of ['ok', 'unsupported_media_type']) {
      expect(text).toContain(`recur_http_request_seconds_count{operation="billing.sample.write",outcome="${outcome}"}`);
    }
  });
});
