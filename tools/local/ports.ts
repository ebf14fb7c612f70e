import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createServer, type Server } from 'node:net';
import { Failure } from './failure.js';

const publicPorts = { first: 3000, last: 3199 } as const;
/**
 * Below the range from which systems take the near end of outgoing connections: a port from there could be in use by
 * a mere client just when its server is started again.
 */
const innerPorts = { first: 20_000, last: 29_999 } as const;
const tries = 1_000;
/** The ports that this process has claimed. */
const claimed = new Set<number>();

/** True when a server could listen on this port of the loopback address now. */
export async function isFree(port: number): Promise<boolean> {
  // A listener on all addresses shadows one on the loopback address on some systems, so both are tried.
  for (const host of ['127.0.0.1', '0.0.0.0']) {
    const server = await listen(port, host).catch(() => undefined);
    if (server === undefined) return false;
    await close(server);
  }
  return true;
}

/**
 * The port of the public API, this process's from then on. A port that was asked for must be free; else the one of the
 * last run, so that the base URL stays; else the first free one from 3000 on.
 */
export async function choosePublicPort(asked: string | undefined, remembered: number | undefined): Promise<number> {
  if (asked !== undefined && asked !== '') {
    const port = Number(asked);
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new Failure(`PORT must be a number from 1 to 65535, and is "${asked}".`, 64);
    }
    if (await claim(port)) return port;
    throw new Failure(
      `port ${port} (from PORT) is taken by another program${port < 1024 ? ', or root alone may listen on it' : ''}: stop that program, set another PORT, or unset it to get a free one.`,
      69,
    );
  }
  if (remembered !== undefined && (await claim(remembered))) return remembered;
  for (let port = publicPorts.first; port <= publicPorts.last; port++) if (await claim(port)) return port;
  throw new Failure(`no port from ${publicPorts.first} to ${publicPorts.last} is free: set PORT to a free one.`, 69);
}

/**
 * Takes a port that is free. Its server listens seconds later, and is stopped and started again in tests; the stack of
 * another process that starts meanwhile would take the same port, and that server for its own. So the port is held for
 * UDP, where nobody else wants it, until this process ends.
 */
async function claim(port: number): Promise<boolean> {
  const holder = createSocket('udp4').unref();
  const held = await new Promise<boolean>(resolve => {
    holder
      .once('error', () => resolve(false))
      .bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true));
  });
  if (held && (await isFree(port))) {
    claimed.add(port);
    return true;
  }
  holder.close();
  return false;
}

/**
 * Takes a free port per name, for this process from then on: the remembered one where it still is free, else another. No two
 * names get the same, nor one that is remembered for a name that is chosen for later or has been already.
 */
export async function choosePorts<N extends string>(
  names: readonly N[],
  remembered: Partial<Record<string, number>>,
): Promise<Record<N, number>> {
  const others = Object.keys(remembered).filter(other => !names.some(name => name === other));
  const taken = new Set(others.map(other => remembered[other]));
  const chosen = new Map<N, number>();
  for (const name of names) {
    const port = await choosePort(remembered[name], taken);
    chosen.set(name, port);
    taken.add(port);
  }
  return Object.fromEntries(chosen) as Record<N, number>;
}

async function choosePort(remembered: number | undefined, taken: ReadonlySet<number | undefined>): Promise<number> {
  if (remembered !== undefined && !taken.has(remembered)) {
    // a stack that this process starts once more keeps what it has claimed the first time
    if (claimed.has(remembered) ? await isFree(remembered) : await claim(remembered)) return remembered;
  }
  for (let tried = 0; tried < tries; tried++) {
    const port = randomInt(innerPorts.first, innerPorts.last + 1);
    if (!taken.has(port) && (await claim(port))) return port;
  }
  throw new Failure(
    `no port from ${innerPorts.first} to ${innerPorts.last} is free: stop what uses them, then run this again.`,
    69,
  );
}

function listen(port: number, host: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => resolve(server));
  });
}

function close(server: Server): Promise<void> {
  return new Promise(resolve => server.close(() => resolve()));
}
