import { createSocket, type Socket } from 'node:dgram';
import { createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { choosePorts, choosePublicPort, isFree } from '../local/ports.js';

const servers: Server[] = [];

/** Takes a port, a free one unless it is named, and returns it. */
function occupy(port = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    servers.push(server);
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
}

async function free(port: number): Promise<void> {
  for (const server of servers) {
    const address = server.address();
    if (typeof address === 'object' && address?.port === port) await new Promise(done => server.close(done));
  }
}

/** Holds a port as another start does whose server does not listen yet. */
function hold(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createSocket('udp4');
    socket.once('error', reject);
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(socket));
  });
}

afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise(done => server.close(done));
});

describe('the public port', () => {
  it('is the one asked for when that is free', async () => {
    const port = await occupy();
    await free(port);
    expect(await choosePublicPort(String(port), undefined)).toBe(port);
  });

  it('is refused with a sentence when the one asked for is taken', async () => {
    const port = await occupy();
    await expect(choosePublicPort(String(port), undefined)).rejects.toMatchObject({
      exitCode: 69,
      message: expect.stringContaining(`port ${port} (from PORT) is taken`),
    });
  });

  it.each(['http', '0', '65536', '80.5', '-1'])('is refused when it is no port: %s', async asked => {
    await expect(choosePublicPort(asked, undefined)).rejects.toMatchObject({ exitCode: 64 });
  });

  it('stays the same from run to run while it is free', async () => {
    const port = await occupy();
    await free(port);
    expect(await choosePublicPort(undefined, port)).toBe(port);
  });

  it('is not the one of a start that is under way, whose gateway does not listen yet', async () => {
    const first = await choosePublicPort(undefined, undefined);
    expect(await isFree(first)).toBe(true);
    expect(await choosePublicPort(undefined, first)).toBeGreaterThan(first);
    await expect(choosePublicPort(String(first), undefined)).rejects.toMatchObject({ exitCode: 69 });
  });

  it('is the next free one from 3000 on when the last one is taken and none was asked for', async () => {
    const before = await choosePublicPort(undefined, undefined);
    await occupy(before);
    const chosen = await choosePublicPort(undefined, before);
    expect(chosen).toBeGreaterThan(before);
    expect(await isFree(chosen)).toBe(true);
  });
});

describe('the other ports', () => {
  it('are kept where they are free and replaced where they are not, each one once', async () => {
    const first = await choosePorts(['postgres', 'nats', 'redis'], {});
    expect(new Set(Object.values(first)).size).toBe(3);
    await occupy(first.nats);
    const second = await choosePorts(['postgres', 'nats', 'redis'], first);
    expect(second).toMatchObject({ postgres: first.postgres, redis: first.redis });
    expect(second.nats).not.toBe(first.nats);
  });

  it('are never shared, not even when two were remembered as the same', async () => {
    const { a } = await choosePorts(['a'], {});
    const chosen = await choosePorts(['a', 'b'], { a, b: a });
    expect(chosen.a).toBe(a);
    expect(chosen.b).not.toBe(a);
  });

  it('are never shared with a part that is chosen for at another time, and does not listen yet', async () => {
    const { gateway } = await choosePorts(['gateway'], {});
    expect(await isFree(gateway)).toBe(true);
    const { billing } = await choosePorts(['billing'], { gateway, billing: gateway });
    expect(billing).not.toBe(gateway);
  });

  it('are kept by a start once more in the same process', async () => {
    const first = await choosePorts(['gateway', 'billing'], {});
    expect(await choosePorts(['gateway', 'billing'], first)).toEqual(first);
  });

  it('are not those of another start that is under way, whose servers do not listen yet', async () => {
    const { a } = await choosePorts(['a'], {});
    await expect(hold(a)).rejects.toMatchObject({ code: 'EADDRINUSE' });

    const port = await occupy();
    await free(port);
    const other = await hold(port);
    expect(await isFree(port)).toBe(true);
    expect((await choosePorts(['b'], { b: port })).b).not.toBe(port);
    await new Promise<void>(resolve => other.close(resolve));
    await expect(choosePorts(['b'], { b: port })).resolves.toEqual({ b: port });
  });
});
