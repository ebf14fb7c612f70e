import { once } from 'node:events';
import { constants, createSecureServer, type SecureServerOptions, type ServerHttp2Stream } from 'node:http2';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { connect } from 'node:tls';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Http2Session } from '../src/outbound/http2-session.js';
import { Outbound, type OutboundOptions, type OutboundResult } from '../src/outbound/outbound.js';
import { closed, tcp } from '../src/testing/servers.js';
import { certificate, identity, listening } from './tls.js';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type OnStream = (stream: ServerHttp2Stream, headers: Record<string, unknown>) => void;
/** A server that does with each HTTP/2 request what it is told. */
const serve = async (onStream: OnStream, options: SecureServerOptions = {}) => {
  const server = await listening(createSecureServer({ ...identity, allowHTTP1: true, ...options }));
  server.server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    onStream(stream, headers);
  });
  ends.push(server.close);
  return server;
};
const client = (options: Partial<OutboundOptions> = {}) => {
  const outbound = new Outbound({ httpsOnly: true, allowLoopback: true, ca: certificate, ...options });
  ends.push(() => outbound.close());
  return outbound;
};
const times = <T>(count: number, run: (at: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, at) => run(at)));
const statuses = (results: readonly OutboundResult[]) =>
  results.map(result => (result.kind === 'answered' ? result.status : result));
const thanks: OnStream = stream => {
  stream.respond({ ':status': 200 });
  stream.end('ok');
};
/** Resolves once `count` calls have come; the returned function is the one to call. */
const counted = (count: number) => {
  let calls = 0;
  let resolve = () => {};
  const all = new Promise<void>(done => {
    resolve = done;
  });
  return { all, call: () => void (++calls === count && resolve()) };
};

describe('a server that offers HTTP/2', () => {
  it('is sent requests at once over one connection, to the byte', async () => {
    const arrived = counted(40);
    const sent: unknown[] = [];
    const held: ServerHttp2Stream[] = [];
    const server = await serve(async (stream, headers) => {
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      const { ':method': method, ':path': path, 'x-mark': mark, 'content-length': length } = headers;
      sent.push([method, path, mark, length, Buffer.concat(chunks).toString()]);
      held.push(stream);
      arrived.call();
    });
    const outbound = client({ now: () => 1_000 });
    const body = 'Grüße ☂'.repeat(1_000);
    const posting = times(40, at => outbound.post(`${server.url}hooks?at=${at}`, { 'x-mark': String(at) }, body));
    await arrived.all;
    for (const stream of held) {
      stream.respond({ ':status': 503, 'retry-after': '17' });
      stream.end('später ☂');
    }
    const text = 'später ☂';
    const answer = { status: 503, retryAfterSeconds: 17, body: text, bytes: Buffer.from(text), durationMs: 0 };
    expect(await posting).toEqual(Array(40).fill({ kind: 'answered', ...answer }));
    const length = String(Buffer.byteLength(body));
    const expected = Array.from({ length: 40 }, (_, at) => ['POST', `/hooks?at=${at}`, String(at), length, body]);
    expect(sent.toSorted((a, b) => Number((a as string[])[2]) - Number((b as string[])[2]))).toEqual(expected);
    expect(server.sockets).toHaveLength(1);
  });

  it('is sent no more at once than it lets', async () => {
    let [open, most] = [0, 0];
    const server = await serve(
      stream => {
        most = Math.max(most, ++open);
        setImmediate(() => {
          open--;
          thanks(stream, {});
        });
      },
      { settings: { maxConcurrentStreams: 2 } },
    );
    const outbound = client();
    await outbound.get(server.url);
    expect(statuses(await times(20, () => outbound.post(server.url, {}, '{}')))).toEqual(Array(20).fill(200));
    expect([most, server.sockets.length]).toEqual([2, 1]);
  });

  it('may answer before it has read the request, and close its side', async () => {
    const server = await serve(stream => {
      stream.respond({ ':status': 413 });
      stream.end('too long');
    });
    const result = await client().post(server.url, {}, Buffer.alloc(4_000_000, 'x'));
    expect(result).toMatchObject({ kind: 'answered', status: 413, body: 'too long' });
  });

  it('is read up to the cap, and asked again over the same connection', async () => {
    const server = await serve((stream, { ':path': path }) => {
      stream.respond({ ':status': 200 });
      if (path === '/short') return void stream.end('ok');
      const more = () => {
        while (!stream.destroyed && stream.write(Buffer.alloc(16_384, 'x')));
      };
      stream.on('drain', more);
      more();
    });
    const outbound = client();
    for (let round = 0; round < 3; round++) {
      const result = await outbound.post(server.url, {}, '{}');
      expect(result.kind === 'answered' && result.body.length).toBe(65_536);
    }
    expect(await outbound.get(`${server.url}short`)).toMatchObject({ status: 200, body: 'ok' });
    expect(server.sockets).toHaveLength(1);
  });

  it('that does not answer in time is asked over another connection next', async () => {
    let silent = true;
    const server = await serve((stream, headers) => {
      if (!silent) thanks(stream, headers);
    });
    const outbound = client({ deadlineMs: 1_500 });
    const [one, other] = await times(2, () => outbound.post(server.url, {}, '{}'));
    expect([one, other]).toMatchObject(Array(2).fill({ kind: 'failed', reason: 'timeout' }));
    silent = false;
    expect(await outbound.post(server.url, {}, '{}')).toMatchObject({ status: 200 });
    expect(server.sockets).toHaveLength(2);
    await closed(server.sockets[0]);
  });

  it('loses no connection for one that is not used', async () => {
    const server = await serve(thanks);
    const socket = connect({ port: server.port, ca: certificate, ALPNProtocols: ['h2'], host: '127.0.0.1' });
    await once(socket, 'secureConnect');
    await new Promise<void>(done => {
      new Http2Session(server.url, socket, { keptMs: 20, deadlineMs: 1_000 }, done);
    });
    await closed(server.sockets[0]);
  });

  it('is left when the client is closed; what is under way fails', async () => {
    const arrived = counted(1);
    const server = await serve(() => arrived.call());
    const outbound = client();
    const pending = outbound.post(server.url, {}, '{}');
    await arrived.all;
    await outbound.close();
    expect(await pending).toMatchObject({ kind: 'failed', reason: 'reset' });
    await closed(server.sockets[0]);
  });

  it('is not trusted without a certificate, nor reached where its address is not public', async () => {
    const server = await serve(thanks);
    expect(await client({ ca: undefined }).get(server.url)).toMatchObject({ kind: 'failed', reason: 'tls' });
    const name = server.url.replace('127.0.0.1', 'hooks.example');
    const resolve = async () => ['127.0.0.1'];
    const guarded = client({ allowLoopback: false, resolve });
    expect(await guarded.get(name)).toMatchObject({ kind: 'failed', reason: 'address' });
    expect(await guarded.get(server.url)).toMatchObject({ kind: 'failed', reason: 'url' });
    expect(server.sockets).toHaveLength(0);
    expect(await client({ resolve }).get(name)).toMatchObject({ status: 200 });
  });

  it('whose answer has too many or too long headers is no valid HTTP', async () => {
    const server = await serve(stream => {
      stream.respond({
        ':status': 200,
        ...Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`x-${at}`, 'y'.repeat(1_000)])),
      });
      stream.end('ok');
    });
    const outbound = client();
    // the limit holds once the server has heard of it
    await outbound.get(server.url);
    expect(await outbound.get(server.url)).toMatchObject({ kind: 'failed', reason: 'protocol' });
    expect(server.sockets).toHaveLength(1);
  });

  it('a bug stays an exception', async () => {
    const server = await serve(thanks);
    const outbound = client();
    const pending = outbound.get(server.url);
    await expect(outbound.post(server.url, { 'bad\nname': 'x' }, '')).rejects.toThrow('Header name');
    await expect(outbound.post(server.url, { name: 'x\ny' }, '')).rejects.toThrow('Invalid character');
    expect(await pending).toMatchObject({ status: 200 });
  });
});

describe('a handshake that fails', () => {
  it('fails all requests that wait for it; the next begins another', async () => {
    const pits: Socket[] = [];
    const server = await tcp(socket => {
      pits.push(socket);
      socket.once('data', () => socket.destroy());
    });
    ends.push(server.close);
    const url = server.url.replace('http:', 'https:');
    const outbound = client();
    const results = await times(5, () => outbound.post(url, {}, '{}'));
    expect(results).toMatchObject(Array(5).fill({ kind: 'failed', reason: 'tls' }));
    expect(pits).toHaveLength(1);
    expect(await outbound.post(url, {}, '{}')).toMatchObject({ kind: 'failed', reason: 'tls' });
    expect(pits).toHaveLength(2);
  });
});

describe('a server that speaks only HTTP/1.1', () => {
  it('is sent requests over connections of their own, which are kept', async () => {
    const server = await listening(createServer(identity));
    ends.push(server.close);
    const arrived = counted(5);
    let wait: Promise<void> | undefined = arrived.all;
    server.server.on('request', async (request, response) => {
      arrived.call();
      await wait;
      response.end(request.httpVersion);
    });
    const outbound = client();
    const results = await times(5, () => outbound.post(server.url, {}, '{}'));
    expect(results.map(result => result.kind === 'answered' && result.body)).toEqual(Array(5).fill('1.1'));
    expect(server.sockets).toHaveLength(5);
    wait = undefined;
    for (let at = 0; at < 10; at++) await outbound.post(server.url, {}, '{}');
    expect(server.sockets.length).toBeLessThanOrEqual(6);
    await outbound.close();
    for (const socket of server.sockets) await closed(socket);
  });

  it('is asked over it where it says so for one request', async () => {
    const server = await serve(stream => stream.close(constants.NGHTTP2_HTTP_1_1_REQUIRED));
    server.server.on('request', (request, response) => {
      if (request.httpVersion === '1.1') response.end('1.1');
    });
    const outbound = client();
    expect(await outbound.post(server.url, {}, '{}')).toMatchObject({ status: 200, body: '1.1' });
    expect(await outbound.post(server.url, {}, '{}')).toMatchObject({ status: 200, body: '1.1' });
    expect(server.sessions).toHaveLength(1);
  });
});

describe('a session that ends', () => {
  it('by GOAWAY: what is under way is answered, what comes after goes over another', async () => {
    const [first, held] = [counted(3), [] as ServerHttp2Stream[]];
    const server = await serve((stream, headers) => {
      if (headers[':path'] === '/late') return thanks(stream, headers);
      held.push(stream);
      first.call();
    });
    const outbound = client();
    const early = times(3, () => outbound.post(server.url, {}, '{}'));
    await first.all;
    server.sessions[0]?.goaway();
    // the client has read it once it has answered the ping behind it
    await new Promise<void>(resolve => server.sessions[0]?.ping(() => resolve()));
    expect(await outbound.get(`${server.url}late`)).toMatchObject({ status: 200 });
    for (const stream of held) thanks(stream, {});
    expect(statuses(await early)).toEqual([200, 200, 200]);
    expect(server.sessions).toHaveLength(2);
    await closed(server.sockets[0]);
  });

  it('before it has begun with some requests: these go over another, once', async () => {
    const paths: unknown[] = [];
    const server = await serve((stream, headers) => {
      if (server.sessions.length === 1) {
        if (headers[':path'] !== '/0') return;
        stream.session?.goaway(constants.NGHTTP2_NO_ERROR, stream.id);
      }
      paths.push(headers[':path']);
      thanks(stream, headers);
    });
    const outbound = client();
    const results = await times(8, at => outbound.post(`${server.url}${at}`, {}, '{}'));
    expect(statuses(results)).toEqual(Array(8).fill(200));
    expect(paths.toSorted()).toEqual(['/0', '/1', '/2', '/3', '/4', '/5', '/6', '/7']);
    expect(server.sessions).toHaveLength(2);
  });

  it('is not needed for a refused request, which is sent again, but not for ever', async () => {
    let refusing = 2;
    let came = 0;
    const server = await serve((stream, headers) => {
      came++;
      if (refusing-- > 0) stream.close(constants.NGHTTP2_REFUSED_STREAM);
      else thanks(stream, headers);
    });
    const outbound = client();
    expect(await outbound.post(server.url, {}, '{}')).toMatchObject({ status: 200 });
    expect(came).toBe(3);
    refusing = Number.POSITIVE_INFINITY;
    const refused = { kind: 'failed', reason: 'reset', detail: 'REFUSED_STREAM' };
    expect(await outbound.post(server.url, {}, '{}')).toMatchObject(refused);
    expect(came).toBe(6);
  });

  it('in the middle of an answer: it is not sent again, and the next connects anew', async () => {
    let cut = true;
    let came = 0;
    const server = await serve((stream, headers) => {
      came++;
      if (!cut) return thanks(stream, headers);
      stream.respond({ ':status': 200, 'content-length': 100 });
      stream.write('half', () => server.sockets[0]?.destroy());
    });
    const outbound = client();
    expect(await outbound.post(server.url, {}, '{}')).toMatchObject({ kind: 'failed', reason: 'reset' });
    cut = false;
    expect(await outbound.post(server.url, {}, '{}')).toMatchObject({ status: 200 });
    expect([came, server.sessions.length]).toEqual([2, 2]);
  });

  it.each([
    ['CANCEL', constants.NGHTTP2_CANCEL, 'reset'],
    ['INTERNAL_ERROR', constants.NGHTTP2_INTERNAL_ERROR, 'reset'],
    ['PROTOCOL_ERROR', constants.NGHTTP2_PROTOCOL_ERROR, 'protocol'],
  ])('for one request by %s: that fails, the others do not', async (detail, code, reason) => {
    const arrived = counted(2);
    const server = await serve(async (stream, headers) => {
      arrived.call();
      await arrived.all;
      if (headers[':path'] === '/bad') stream.close(code);
      else thanks(stream, headers);
    });
    const outbound = client();
    const [bad, good] = await Promise.all([outbound.get(`${server.url}bad`), outbound.get(server.url)]);
    expect([bad, good]).toMatchObject([{ kind: 'failed', reason, detail }, { status: 200 }]);
    expect(await outbound.get(server.url)).toMatchObject({ status: 200 });
    expect(server.sockets).toHaveLength(1);
  });

  it('while nothing is under way: the next request connects anew', async () => {
    const server = await serve(thanks);
    const outbound = client();
    await outbound.get(server.url);
    server.sessions[0]?.destroy();
    await closed(server.sockets[0]);
    await new Promise(resolve => setImmediate(resolve));
    const result = await outbound.get(server.url);
    expect(result).toMatchObject({ status: 200 });
    expect(server.sessions).toHaveLength(2);
  });
});
