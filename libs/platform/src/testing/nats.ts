import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A NATS server of a test's own, which it may stop, start again, and rob of its JetStream files. */
export class TestNats {
  private server: ChildProcess | undefined;

  private constructor(
    private readonly folder: string,
    private readonly port: number,
    private readonly maxPayload: string,
  ) {}

  /** `maxPayload`: of a message; a deployment has 4MB. */
  static async start(maxPayload = '1MB'): Promise<TestNats> {
    const nats = new TestNats(await mkdtemp(join(tmpdir(), 'recur-nats-')), await freePort(), maxPayload);
    await nats.start();
    return nats;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const config = join(this.folder, 'nats.conf');
    await writeFile(
      config,
      `listen: 127.0.0.1:${this.port}\nmax_payload: ${this.maxPayload}\njetstream { store_dir: "${this.folder}/jetstream" }\n`,
    );
    const server = spawn(process.env.TEST_NATS_SERVER_BIN ?? 'nats-server', ['-c', config], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('exit', code => reject(new Error(`nats-server ended with ${code}`)));
      server.stderr?.on('data', chunk => String(chunk).includes('Server is ready') && resolve());
    });
  }

  async kill(): Promise<void> {
    if (!this.server || this.server.exitCode !== null) return;
    const ended = once(this.server, 'exit');
    this.server.kill('SIGKILL');
    await ended;
  }

  /** Removes what JetStream has stored; the server must not run. */
  async wipe(): Promise<void> {
    await rm(join(this.folder, 'jetstream'), { recursive: true, force: true });
  }

  async close(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}

const ports = { first: 10_000, count: 10_000 } as const;
let portsTried = randomInt(ports.count);

/**
 * Another port each time, this process's until it ends: nothing on this machine listens on it, and no other test takes it,
 * since it is held for UDP. It is from below the range from which systems take the near end of outgoing connections: a
 * port from there could be a mere client's just when its server is started again.
 */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < ports.count; tried++) {
    const port = ports.first + (portsTried++ % ports.count);
    const holder = createSocket('udp4').unref();
    if ((await isHeld(holder, port)) && (await isFree(port))) return port;
    holder.close();
  }
  throw new Error(`no port from ${ports.first} on is free`);
}

const isHeld = (holder: Socket, port: number): Promise<boolean> =>
  new Promise(resolve => {
    holder.once('error', () => resolve(false));
    holder.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true));
  });

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  const listens = await new Promise<boolean>(resolve => {
    probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
  });
  if (listens) await new Promise(resolve => probe.close(resolve));
  return listens;
}
