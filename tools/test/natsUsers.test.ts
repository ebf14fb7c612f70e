import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Bus, createLog, systemCaller, systemClock } from '@recur/platform';
import { freePort } from '@recur/platform/testing';
import { checkoutRoot } from '../local/home.js';
import { natsUsers } from '../local/settings.js';

let folder: string;
let server: ChildProcess;
let port: number;
const open: Bus[] = [];

/** A number to a parser that is not told that it is a text. */
const password = '1e5';
const log = createLog('test', 'silent');

async function as(user: string, name = user): Promise<Bus> {
  const bus = await Bus.connect(`nats://${user}:${password}@127.0.0.1:${port}`, name, systemClock, log, false);
  open.push(bus);
  return bus;
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'recur-nats-users-'));
  port = await freePort();
  await copyFile(path.join(checkoutRoot(), 'deploy/nats-users.conf'), path.join(folder, 'nats-users.conf'));
  const config = `listen: "127.0.0.1:${port}"\ninclude nats-users.conf\n`;
  await writeFile(path.join(folder, 'nats.conf'), config);
  const logins = Object.fromEntries(natsUsers.map(user => [`${user.toUpperCase()}_LOGIN`, `"${password}"`]));
  server = spawn(process.env.TEST_NATS_SERVER_BIN ?? 'nats-server', ['-c', path.join(folder, 'nats.conf')], {
    env: { ...process.env, ...logins },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await new Promise<void>((resolve, reject) => {
    server.once('exit', code => reject(new Error(`nats-server ended with ${code}`)));
    server.stderr?.on('data', chunk => String(chunk).includes('Server is ready') && resolve());
  });
});
afterAll(async () => {
  for (const bus of open) await bus.close();
  server.removeAllListeners('exit');
  const ended = once(server, 'exit');
  server.kill();
  await ended;
  await rm(folder, { recursive: true, force: true });
});

const caller = () => systemCaller(15, 'r', systemClock.wall() + 1_000);
const serve = (bus: Bus, service: string) =>
  bus.serve(service, async command => ({ ok: true, bytes: JSON.stringify(command) }));
const say = async (bus: Bus, subject: string) =>
  bus.request(subject, '{}', caller()).then(
    ({ bytes }) => bytes.toString(),
    ({ slug }) => slug,
  );

describe('on the bus', () => {
  it('the gateway sends every command, and its service answers', async () => {
    const [gateway, billing] = [await as('gateway'), await as('billing')];
    await serve(billing, 'billing');
    expect(Buffer.from((await gateway.request('cmd.billing.invoice.new', '{}', caller())).bytes).toString()).toBe(
      '"invoice.new"',
    );
  });

  it('a service asks others about copies, and sends no command: it does not go out, so nothing comes back', async () => {
    const [billing, identity] = [await as('billing'), await as('identity')];
    const heard: string[] = [];
    await identity.serve('identity', async command => {
      heard.push(command);
      return { ok: true, bytes: '{}' };
    });
    expect(await say(billing, 'cmd.identity.merchant.get')).toBe('deadline_exceeded');
    await billing.request('cmd.identity.platform.state', '{}', caller());
    expect(heard).toEqual(['platform.state']);
  });

  it("nobody hears another service's commands, nor another app's replies", async () => {
    const billing = await as('billing');
    const refused: string[] = [];
    for (const subject of ['cmd.identity.>', 'cmd.billing.>', '_INBOX.gateway.>', '_INBOX.>', '>']) {
      billing.nc.subscribe(subject, { callback: error => void (error && refused.push(subject)) });
    }
    await billing.nc.flush();
    expect(refused).toEqual(['cmd.identity.>', 'cmd.billing.>', '_INBOX.gateway.>', '_INBOX.>', '>']);
  });

  it('nobody without a password is let in', async () => {
    for (const url of [`nats://127.0.0.1:${port}`, `nats://billing:wrong@127.0.0.1:${port}`]) {
      await expect(Bus.connect(url, 'billing', systemClock, log, false)).rejects.toThrow(/Authorization Violation/i);
    }
  });
});
