import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Outbound, type OutboundOptions } from '../src/outbound/outbound.js';
import { closed, http, type Listening, tcp } from '../src/testing/servers.js';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const serve = async (starting: Promise<Listening>) => {
  const server = await starting;
  ends.push(server.close);
  return server;
};
const web = (handler: (req: IncomingMessage, res: ServerResponse) => void) => serve(http(handler));
const client = (options: Partial<OutboundOptions> = {}) => {
  const outbound = new Outbound({ httpsOnly: false, allowLoopback: true, ...options });
  ends.push(() => outbound.close());
  return outbound;
};
const soon = { deadlineMs: 300 };

describe('an answer', () => {
  it('comes with its status, text and duration; what was sent arrives to the byte', async () => {
    const body = JSON.stringify({ note: 'Grüße ☂' });
    let sent: unknown;
    const server = await web((req, res) => {
      const chunks: Buffer[] = [];
      req.on('data', chunk => chunks.push(chunk));
      req.on('end', () => {
        sent = [req.method, req.url, req.headers['x-mark'], Buffer.concat(chunks).toString()];
        res.writeHead(202).end('danke ☂');
      });
    });
    const times = [1_000, 1_250];
    const outbound = client({ now: () => times.shift() ?? 1_250 });
    const result = await outbound.post(`${server.url}hooks?shop=1#part`, { 'x-mark': '1' }, body);
    expect(result).toEqual({
      kind: 'answered',
      status: 202,
      retryAfterSeconds: undefined,
      body: 'danke ☂',
      bytes: Buffer.from('danke ☂'),
      durationMs: 250,
    });
    expect(sent).toEqual(['POST', '/hooks?shop=1', '1', body]);
  });

  it.each([
    ['17', 17],
    ['0', 0],
    ['Thu, 01 Jan 2026 00:01:30 GMT', 90],
    ['Wed, 31 Dec 2025 00:00:00 GMT', undefined],
    ['-5', undefined],
    ['soon', undefined],
  ])('has Retry-After %s understood', async (header, expected) => {
    const server = await web((_, res) => res.writeHead(503, { 'retry-after': header }).end());
    const result = await client({ now: () => Date.UTC(2026, 0, 1) }).post(server.url, {}, '');
    expect(result).toMatchObject({ kind: 'answered', status: 503, retryAfterSeconds: expected });
  });

  it('is stored without NUL, which PostgreSQL refuses, and with broken UTF-8 mended', async () => {
    const server = await web((_, res) => res.end(Buffer.from([0x61, 0, 0xff, 0x62])));
    expect(await client().post(server.url, {}, '')).toMatchObject({ body: 'a\uFFFD\uFFFDb' });
  });

  it('that never ends is read up to the cap, and its connection closed', async () => {
    const endless = await web((_, res) => {
      const more = () => {
        while (!res.destroyed && res.write(Buffer.alloc(16_384, 'x')));
      };
      res.on('drain', more);
      more();
    });
    const result = await client().post(endless.url, {}, '');
    expect(result).toMatchObject({ kind: 'answered', status: 200 });
    expect(result.kind === 'answered' && result.body.length).toBe(65_536);
    await closed(endless.sockets[0]);
  });

  it('that announces a gigabyte is no different', async () => {
    const server = await web((_, res) => {
      res.writeHead(200, { 'content-length': 2 ** 30 });
      res.write(Buffer.alloc(100_000, 'x'));
    });
    const result = await client({ answerBytes: 10 }).post(server.url, {}, '');
    expect(result).toMatchObject({ kind: 'answered', status: 200, body: 'xxxxxxxxxx' });
    await closed(server.sockets[0]);
  });

  it('that leads elsewhere is the answer', async () => {
    let asked = 0;
    const server = await web((_, res) => {
      asked++;
      res.writeHead(302, { location: '/elsewhere' }).end();
    });
    expect(await client().post(server.url, {}, '')).toMatchObject({ kind: 'answered', status: 302 });
    expect(asked).toBe(1);
  });
});

describe('the deadline', () => {
  /** Writes one byte at a time, for as long as anybody listens. */
  const drip = (res: NodeJS.WritableStream & { destroyed?: boolean }) => {
    const timer = setInterval(() => res.write('x'), 100);
    res.on('close', () => clearInterval(timer));
  };

  it('ends a body that drips', async () => {
    const server = await web((_, res) => drip(res.writeHead(200)));
    expect(await client(soon).post(server.url, {}, '')).toMatchObject({ kind: 'failed', reason: 'timeout' });
    await closed(server.sockets[0]);
  });

  it('ends headers that drip', async () => {
    const server = await serve(
      tcp(socket => {
        socket.write('HTTP/1.1 200 OK\r\nx-slow: ');
        drip(socket);
      }),
    );
    expect(await client(soon).post(server.url, {}, '')).toMatchObject({ kind: 'failed', reason: 'timeout' });
    await closed(server.sockets[0]);
  });

  it('ends informational answers without end', async () => {
    const server = await serve(
      tcp(socket => {
        const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 50);
        socket.on('close', () => clearInterval(timer));
      }),
    );
    expect(await client(soon).post(server.url, {}, '')).toMatchObject({ kind: 'failed', reason: 'timeout' });
    await closed(server.sockets[0]);
  });

  it.each(['http', 'https'])('ends a tar-pit behind %s, which takes the connection and says nothing', async scheme => {
    const server = await serve(tcp(() => {}));
    const url = server.url.replace('http', scheme);
    expect(await client(soon).post(url, {}, '')).toMatchObject({ kind: 'failed', reason: 'timeout' });
  });

  it('ends a lookup that never answers', async () => {
    const outbound = client({ ...soon, resolve: () => new Promise(() => {}) });
    expect(await outbound.post('http://hooks.example/', {}, '')).toMatchObject({ kind: 'failed', reason: 'timeout' });
  });

  it('ends the wait for a connection to an origin that is busy, and sends nothing afterwards', async () => {
    let asked = 0;
    const server = await web((_, res) => (++asked > 1 ? res.end() : undefined));
    // who waits ends first: of two equal deadlines the later is over a moment later, with time enough to send
    // the first is asked for by what connects
    const deadlines = [400, 400, 200];
    const outbound = new Outbound({
      httpsOnly: false,
      allowLoopback: true,
      connectionsPerOrigin: 1,
      get deadlineMs() {
        return deadlines.shift() ?? 10_000;
      },
    });
    ends.push(() => outbound.close());
    const results = await Promise.all(['a', 'b'].map(body => outbound.post(server.url, {}, body)));
    for (const result of results) expect(result).toMatchObject({ kind: 'failed', reason: 'timeout' });
    expect(await outbound.post(server.url, {}, 'c')).toMatchObject({ kind: 'answered' });
    expect(asked).toBe(2);
  });
});

describe('without an answer', () => {
  it('a refused connection, a reset and nonsense are told apart', async () => {
    const gone = await http(() => {});
    await gone.close();
    const resets = await serve(tcp(socket => socket.on('data', () => socket.resetAndDestroy())));
    const hangsUp = await serve(tcp(socket => socket.on('data', () => socket.end())));
    const halfway = await web((_, res) => {
      res.writeHead(200, { 'content-length': 10 });
      res.write('half', () => res.destroy());
    });
    const nonsense = await serve(tcp(socket => socket.end('SSH-2.0-OpenSSH_9.2\r\n')));
    const heavy = await serve(tcp(socket => socket.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`)));
    const plain = await web((_, res) => res.end());
    const outbound = client();
    const reasonOf = async (url: string) => {
      const result = await outbound.post(url, {}, '{}');
      return result.kind === 'failed' ? result.reason : result.status;
    };
    expect(await outbound.post(nonsense.url, {}, '{}')).toMatchObject({ detail: 'the answer is no valid HTTP' });
    expect(await reasonOf(gone.url)).toBe('connect');
    expect(await reasonOf('http://127.0.0.1:0/')).toBe('connect');
    expect(await reasonOf(resets.url)).toBe('reset');
    expect(await reasonOf(hangsUp.url)).toBe('reset');
    expect(await reasonOf(halfway.url)).toBe('reset');
    expect(await reasonOf(nonsense.url)).toBe('protocol');
    expect(await reasonOf(heavy.url)).toBe('protocol');
    expect(await reasonOf(plain.url.replace('http:', 'https:'))).toBe('tls');
  });

  it('an unknown name says what the name server said', async () => {
    const resolve = async () => {
      throw Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' });
    };
    const result = await client({ resolve }).post('http://hooks.example/', {}, '');
    expect(result).toMatchObject({ kind: 'failed', reason: 'dns', detail: 'ENOTFOUND' });
    const empty = await client({ resolve: async () => [] }).post('http://hooks.example/', {}, '');
    expect(empty).toMatchObject({ kind: 'failed', reason: 'dns', detail: 'ENODATA' });
  });

  it('localhost is found without a name server, where it is allowed', async () => {
    const server = await web((_, res) => res.end());
    const resolve = async () => {
      throw new Error('asked');
    };
    const url = server.url.replace('127.0.0.1', 'shop.localhost.');
    expect(await client({ resolve }).post(url, {}, '')).toMatchObject({ kind: 'answered', status: 200 });
  });

  it('a bug stays an exception', async () => {
    const server = await web((_, res) => res.end());
    await expect(client().post(server.url, { 'bad\nname': 'x' }, '')).rejects.toThrow('invalid header');
  });
});

describe('connections', () => {
  it('are kept for the next request', async () => {
    const server = await web((_, res) => res.end());
    const outbound = client();
    for (let i = 0; i < 20; i++) await outbound.post(server.url, {}, '{}');
    // The pool notes that a connection is free just after the answer is out: a second one is opened in between.
    expect(server.sockets.length).toBeLessThanOrEqual(2);
  });

  it('to one origin are bounded', async () => {
    const server = await web((_, res) => setImmediate(() => res.end()));
    const outbound = client({ connectionsPerOrigin: 2 });
    const results = await Promise.all(Array.from({ length: 20 }, () => outbound.post(server.url, {}, '{}')));
    expect(results.filter(result => result.kind === 'answered')).toHaveLength(20);
    expect(server.sockets).toHaveLength(2);
  });

  it('to many origins are given up, the least recently used first', async () => {
    const outbound = client({ idleOrigins: 2 });
    const servers = [];
    for (let i = 0; i < 4; i++) servers.push(await web((_, res) => res.end()));
    const [a, b, c, d] = servers;
    for (const server of [a, b, a, c, d]) await outbound.post(server?.url ?? '', {}, '{}');
    await closed(b?.sockets[0]);
    await closed(a?.sockets[0]);
    expect([a, b, c, d].map(server => server?.sockets.length)).toEqual([1, 1, 1, 1]);
    expect([c, d].map(server => server?.sockets[0]?.destroyed)).toEqual([false, false]);
  });

  it('with a request under way are not given up for others', async () => {
    let answer = () => {};
    const slow = await web((_, res) => {
      answer = () => res.end('at last');
      hears();
    });
    const quick = await web((_, res) => res.end());
    let hears = () => {};
    const heard = new Promise<void>(resolve => {
      hears = resolve;
    });
    const outbound = client({ idleOrigins: 0 });
    const pending = outbound.post(slow.url, {}, '{}');
    await heard;
    await outbound.post(quick.url, {}, '{}');
    await closed(quick.sockets[0]);
    answer();
    expect(await pending).toMatchObject({ kind: 'answered', body: 'at last' });
  });

  it('end when the client is closed', async () => {
    const server = await web((_, res) => res.end());
    const outbound = client();
    await outbound.post(server.url, {}, '{}');
    await outbound.close();
    await closed(server.sockets[0]);
  });
});
