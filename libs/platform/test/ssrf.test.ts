import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkUrl } from '../src/outbound/address.js';
import { Outbound } from '../src/outbound/outbound.js';
import { canary, closed, http, type Listening } from '../src/testing/servers.js';
import { publicUrls, refusedAddresses, refusedUrls } from './ssrf.js';

const strict = { httpsOnly: false, allowLoopback: false };
const publicAddress = '1.1.1.1';
let bird: Listening;
const at = (url: string) => url.replaceAll('PORT', String(bird.port));

beforeAll(async () => {
  bird = await canary();
});
afterAll(async () => {
  await bird.close();
});

/** Posts through a client whose names resolve as told, and gives what was looked up too. */
async function postWith(url: string, resolve: (name: string) => readonly string[], allowLoopback = false) {
  const lookedUp: string[] = [];
  const outbound = new Outbound({
    httpsOnly: false,
    allowLoopback,
    resolve: async name => {
      lookedUp.push(name);
      return resolve(name);
    },
  });
  const result = await outbound.post(url, {}, '{}');
  await outbound.close();
  return { result, lookedUp };
}

describe('a URL that leads inside', () => {
  it('stands in the list once, and the list is long', () => {
    expect(new Set(refusedUrls).size).toBe(refusedUrls.length);
    expect(refusedUrls.length + 2 * refusedAddresses.length).toBeGreaterThan(200);
  });

  it.each(refusedUrls)('%s is refused by its text', async url => {
    const { result, lookedUp } = await postWith(at(url), () => ['127.0.0.1']);
    expect(result).toMatchObject({ kind: 'failed', reason: 'url' });
    expect(lookedUp).toEqual([]);
    expect(checkUrl(at(url), strict)).toMatch(/^must /);
    expect(bird.sockets).toHaveLength(0);
  });

  it.each(refusedAddresses)('a name that resolves to "%s" is refused, alone or beside a public one', async address => {
    for (const addresses of [[address], [publicAddress, address], [address, publicAddress]]) {
      const { result } = await postWith(at('http://hooks.example:PORT/'), () => addresses);
      expect(result).toMatchObject({ kind: 'failed', reason: 'address' });
    }
    expect(bird.sockets).toHaveLength(0);
  });

  it.each([301, 302, 303, 307, 308])('a %d that leads there is not followed', async status => {
    for (const location of [bird.url, at('http://localhost:PORT/'), at('//127.1:PORT/')]) {
      const server = await http((_, res) => res.writeHead(status, { location }).end());
      const { result } = await postWith(server.url, () => [], true);
      await server.close();
      expect(result).toMatchObject({ kind: 'answered', status });
    }
    expect(bird.sockets).toHaveLength(0);
  });

  it('is heard by the canary when loopback is allowed: the canary sings', async () => {
    const heard = bird.sockets.length;
    const outbound = new Outbound({ httpsOnly: false, allowLoopback: true, deadlineMs: 200 });
    await outbound.post(bird.url, {}, '{}');
    await outbound.close();
    expect(bird.sockets).toHaveLength(heard + 1);
  });
});

describe('a name that changes its mind', () => {
  it('is looked up once for a connection, and the address checked is the one connected to', async () => {
    const server = await http((_, res) => res.end('ok'));
    const answers = [['127.0.0.1'], ['127.0.0.99']];
    const url = server.url.replace('127.0.0.1', 'hooks.example');
    const { result, lookedUp } = await postWith(url, () => answers.shift() ?? [], true);
    expect(result).toMatchObject({ kind: 'answered', status: 200 });
    expect(lookedUp).toEqual(['hooks.example']);
    expect(server.sockets.map(socket => socket.localAddress)).toEqual(['127.0.0.1']);
    await server.close();
  });

  it('is checked again for the next connection', async () => {
    const server = await http((_, res) => res.setHeader('connection', 'close').end('ok'));
    const answers = [['127.0.0.1'], ['10.0.0.1'], ['169.254.169.254']];
    const outbound = new Outbound({
      httpsOnly: false,
      allowLoopback: true,
      resolve: async () => answers.shift() ?? [],
    });
    const url = server.url.replace('127.0.0.1', 'hooks.example');
    expect(await outbound.post(url, {}, '{}')).toMatchObject({ kind: 'answered', status: 200 });
    await closed(server.sockets[0]);
    expect(await outbound.post(url, {}, '{}')).toMatchObject({ kind: 'failed', reason: 'address' });
    expect(await outbound.post(url, {}, '{}')).toMatchObject({ kind: 'failed', reason: 'address' });
    await outbound.close();
    await server.close();
  });

  it('is caught at the socket where the check of its addresses was deceived, before a byte is sent', async () => {
    const asked: string[] = [];
    const server = await http((req, res) => {
      asked.push(req.url ?? '');
      res.end();
    });
    const deceit = Object.assign([publicAddress], { map: () => [{ address: '127.0.0.1', family: 4 }] });
    const { result } = await postWith(server.url.replace('127.0.0.1', 'hooks.example'), () => deceit);
    expect(result).toMatchObject({
      kind: 'failed',
      reason: 'address',
      detail: expect.stringContaining('connected to'),
    });
    await closed(server.sockets[0]);
    expect(asked).toEqual([]);
    await server.close();
  });
});

describe('a URL that is checked when it is registered', () => {
  it.each(publicUrls)('%s is fine', url => {
    expect(checkUrl(url, strict)).toBeUndefined();
  });

  it.each([
    ['hooks.example/path', 'must be an http or https URL'],
    ['ftp://hooks.example/', 'must be an http or https URL'],
    ['http://me:secret@hooks.example/', 'must not hold a user name or a password'],
    ['http://0x7f.1/', 'must not point to an address that is not public (127.0.0.1: loopback)'],
    ['http://[::ffff:10.0.0.1]/', 'must not point to an address that is not public (::ffff:a00:1: IPv4-mapped)'],
    ['http://redis/', 'must name a host on the public internet, not redis'],
    ['http://a..b/', 'must name a valid host'],
    [`http://${'a.'.repeat(127)}example/`, 'must name a valid host'],
    [`http://hooks.example/${'a'.repeat(2048)}`, 'must not be longer than 2048 characters'],
  ])('%s is explained', (url, problem) => {
    expect(checkUrl(url, strict)).toBe(problem);
  });

  it('is read alike however often: URL.canParse of Node 20 misreads such a name once it is compiled', () => {
    const problems = Array.from({ length: 20_000 }, () => checkUrl('https://b\u00fccher.example/', strict));
    expect(problems.filter(problem => problem !== undefined).length).toBe(0);
  });

  it('must be https where the deployment says so', () => {
    const production = { httpsOnly: true, allowLoopback: false };
    expect(checkUrl('http://hooks.example/', production)).toBe('must be an https URL');
    expect(checkUrl('nonsense', production)).toBe('must be an https URL');
    expect(checkUrl('https://hooks.example/', production)).toBeUndefined();
  });

  it('may be loopback where the deployment says so, and nothing else that is private', () => {
    const local = { httpsOnly: false, allowLoopback: true };
    const fine = [
      'http://localhost:1/',
      'http://shop.localhost./',
      'http://127.0.0.1:1/',
      'http://127.1/',
      'http://[::1]/',
    ];
    for (const url of fine) expect(checkUrl(url, local)).toBeUndefined();
    for (const host of ['0.0.0.0', '10.0.0.1', '[::]', '[::ffff:127.0.0.1]', '169.254.169.254', 'redis', 'a.local']) {
      expect(checkUrl(`http://${host}/`, local)).toMatch(/^must /);
    }
  });
});
