import { afterEach, describe, expect, it } from '@jest/globals';
import { createClient, orThrow, RecurError } from '../src/index.js';
import { refusal, type Scripted, scriptedServer, success } from './server.js';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function against(...answers: Scripted[]) {
  const server = await scriptedServer(answers);
  open.push(server);
  return { ...server, client: createClient({ baseUrl: server.baseUrl, credential: 'key', pauseMs: 1 }) };
}
const email = 'a@example.com';

describe('a call', () => {
  it('sends the input as JSON with the credential and an idempotency key, and returns the data', async () => {
    const { client, received } = await against(success({ user: { id: 5 } }));
    const result = await client.post('/merchant/user/new', { email });
    expect(result).toMatchObject({ ok: true, data: { user: { id: 5 } }, requestId: 'req_1', merchantId: 7 });
    expect(received).toHaveLength(1);
    expect(received[0]).toMatchObject({
      method: 'POST',
      url: '/api/merchant/user/new',
      body: JSON.stringify({ email }),
    });
    expect(received[0]?.headers).toMatchObject({ authorization: 'Bearer key', 'content-type': 'application/json' });
    expect(received[0]?.headers['idempotency-key']).toMatch(/^[0-9a-f]{32}$/);
  });

  it('by GET has its input in the query, without absent fields', async () => {
    const { client, received } = await against(success({}));
    await client.get('/merchant/subscription/list', { userId: 5, status: [1, 2], currency: undefined });
    expect(received[0]).toMatchObject({ method: 'GET', body: '' });
    expect(received[0]?.url).toBe('/api/merchant/subscription/list?userId=5&status=1&status=2');
  });

  it('takes the present credential each time, and none where there is none', async () => {
    const { baseUrl, received } = await against(success({}));
    let token: string | undefined = 'first';
    const client = createClient({ baseUrl, credential: () => token });
    await client.get('/portal/user/detail', {});
    token = undefined;
    await client.get('/portal/user/detail', {});
    expect(received.map(({ headers }) => headers.authorization)).toEqual(['Bearer first', undefined]);
  });
});

describe('a failure', () => {
  it('is a value with the slug, the issues and the request id, and is not retried if it stays', async () => {
    const { client, received } = await against(refusal(400, 51, 'invalid_parameters'));
    const result = await client.post('/merchant/user/new', { email: '' });
    expect(result).toMatchObject({
      ok: false,
      error: { type: 'invalid_parameters', code: 51, status: 400, retryable: false, requestId: 'req_2' },
    });
    expect(!result.ok && result.error.issues).toEqual([{ path: '/email', message: 'email is required' }]);
    expect(received).toHaveLength(1);
    expect(() => orThrow(result)).toThrow(RecurError);
  });

  it.each([
    ['a service that is away', refusal(503, 56, 'dependency_away')],
    ['a rate limit', refusal(429, 55, 'rate_limited')],
    ['a key in use', refusal(409, 54, 'idempotency_in_use')],
    ['a proxy without its server', { status: 502, body: '<html>bad gateway</html>' } as const],
    ['a cut connection', 'cut' as const],
  ])('of %s is retried under the same key until it succeeds', async (_what, failure) => {
    const { client, received } = await against(failure, failure, success({ user: { id: 5 } }));
    const result = await client.post('/merchant/user/new', { email }, { idempotencyKey: 'intent-1' });
    expect(result).toMatchObject({ ok: true, data: { user: { id: 5 } } });
    expect(received.map(({ headers }) => headers['idempotency-key'])).toEqual(['intent-1', 'intent-1', 'intent-1']);
    expect(new Set(received.map(({ body }) => body)).size).toBe(1);
  });

  it('leads to a retry where no answer comes in time', async () => {
    const { baseUrl, received } = await against('silent', success({ user: { id: 5 } }));
    const client = createClient({ baseUrl, timeoutMs: 100, pauseMs: 1 });
    expect(await client.post('/merchant/user/new', { email })).toMatchObject({ ok: true });
    const [first, second] = received.map(({ headers }) => headers['idempotency-key']);
    expect([first, second]).toEqual([expect.any(String), first]);
  });

  it('has no part in the next call, which is another intent under another key', async () => {
    const { client, received } = await against(refusal(400, 51, 'invalid_parameters'));
    for (const _ of [1, 2]) await client.post('/merchant/user/new', { email });
    expect(new Set(received.map(({ headers }) => headers['idempotency-key'])).size).toBe(2);
  });

  it('is returned once the attempts are used up: the outcome of a cut call is unknown', async () => {
    const { client, received } = await against('cut');
    const result = await client.post('/merchant/user/new', { email });
    expect(result).toMatchObject({ ok: false, error: { type: 'unreachable', status: 0, retryable: true } });
    expect(received).toHaveLength(4);
  });

  it('is returned at once where the server asks for a long pause', async () => {
    const { client, received } = await against(refusal(429, 55, 'rate_limited', { 'retry-after': '600' }));
    const result = await client.get('/portal/user/detail', {});
    expect(result).toMatchObject({ ok: false, error: { type: 'rate_limited', retryAfterSeconds: 600 } });
    expect(received).toHaveLength(1);
  });

  it('of an answer that is not an envelope is unreadable', async () => {
    const { client } = await against({ status: 200, body: 'hello' });
    expect(await client.get('/portal/user/detail', {})).toMatchObject({ ok: false, error: { type: 'unreadable' } });
  });

  it('of a redirect is not followed: a credential goes to the base URL only', async () => {
    const elsewhere = await against(success({}));
    const { client } = await against({ status: 302, headers: { location: elsewhere.baseUrl }, body: '' });
    expect(await client.get('/portal/user/detail', {})).toMatchObject({ ok: false });
    expect(elsewhere.received).toEqual([]);
  });

  it('of a call that the caller gave up is no retry', async () => {
    const { client, received } = await against(success({}));
    const result = await client.get('/portal/user/detail', {}, { signal: AbortSignal.abort() });
    expect(result).toMatchObject({ ok: false, error: { type: 'aborted', retryable: false } });
    expect(received).toEqual([]);
  });

  it('of a call that the caller gives up while it waits or pauses is no retry', async () => {
    for (const answer of ['silent', refusal(429, 55, 'rate_limited', { 'retry-after': '20' })] as const) {
      const { client, received } = await against(answer);
      const signal = AbortSignal.timeout(50);
      const result = await client.get('/portal/user/detail', {}, { signal });
      expect(result).toMatchObject({ ok: false, error: { type: 'aborted', retryable: false } });
      expect(received).toHaveLength(1);
    }
  });

  it('of a credential that cannot be got is a value too', async () => {
    const { baseUrl } = await against(success({}));
    const credential = () => {
      throw new Error('no key');
    };
    const client = createClient({ baseUrl, credential, attempts: 1 });
    const result = await client.get('/portal/user/detail', {});
    expect(result).toMatchObject({ ok: false, error: { message: expect.stringContaining('no key') } });
  });
});

describe('a key', () => {
  it('that is blank is a new one; null sends none', async () => {
    const { client, received } = await against(success({}));
    for (const idempotencyKey of ['', null]) await client.post('/merchant/user/new', { email }, { idempotencyKey });
    expect(received.map(({ headers }) => headers['idempotency-key'])).toEqual([
      expect.stringMatching(/^[0-9a-f]{32}$/),
      undefined,
    ]);
  });

  it('is the same at each attempt, and an answer tells that it was replayed', async () => {
    const { client, received } = await against('cut', success({}, { 'idempotency-replayed': 'true' }));
    expect(await client.post('/merchant/user/new', { email })).toMatchObject({ ok: true, replayed: true });
    const [first, second] = received.map(({ headers }) => headers['idempotency-key']);
    expect(second).toBe(first);
  });
});

describe('pages', () => {
  const page = (...ids: string[]) => success({ invoices: ids.map(invoiceId => ({ invoiceId })), total: 3 });

  it('are read as they are consumed, to the end', async () => {
    const { client, received } = await against(page('a', 'b'), page('c'));
    const ids: string[] = [];
    for await (const { invoiceId } of client.pages('/portal/invoice/list', { count: 2 })) ids.push(invoiceId);
    expect(ids).toEqual(['a', 'b', 'c']);
    expect(received.map(({ body }) => JSON.parse(body))).toEqual([
      { count: 2, page: 0 },
      { count: 2, page: 1 },
    ]);
  });

  it('end with the total, at a whole page too', async () => {
    const { client, received } = await against(success({ invoices: [{}, {}], total: 2 }));
    for await (const entry of client.pages('/portal/invoice/list', { count: 2 })) expect(entry).toEqual({});
    expect(received).toHaveLength(1);
  });

  it('are not read beyond what is consumed', async () => {
    const { client, received } = await against(page('a', 'b'), page('c'));
    for await (const { invoiceId } of client.pages('/portal/invoice/list', { count: 2 })) {
      expect(invoiceId).toBe('a');
      break;
    }
    expect(received).toHaveLength(1);
  });

  it('throw where one cannot be read', async () => {
    const { client } = await against(page('a', 'b'), refusal(401, 61, 'credential_invalid'));
    const all = async () => {
      for await (const entry of client.pages('/portal/invoice/list', { count: 2 })) expect(entry).toBeDefined();
    };
    await expect(all()).rejects.toMatchObject({ failure: { type: 'credential_invalid' } });
  });
});
