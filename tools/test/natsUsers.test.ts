import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { connect, type NatsConnection, PermissionViolationError } from '@nats-io/transport-node';
import { internalOperations, keptBy, operations, type Service, services, subjectOf } from '@recur/contracts';
import { Bus, createLog, followedBy, streamOf, systemCaller, systemClock } from '@recur/platform';
import { freePort } from '@recur/platform/testing';
import { billing } from '../../apps/billing/src/service.js';
import { catalog } from '../../apps/catalog/src/service.js';
import { identity } from '../../apps/identity/src/service.js';
import { notification } from '../../apps/notification/src/service.js';
import { formatted } from '../docs/formatted.js';
import { natsUsers as natsUsersFile, withRights } from '../docs/natsRights.js';
import { checkoutRoot } from '../local/home.js';
import { natsUsers } from '../local/settings.js';

const definitions = [identity, catalog, billing, notification];
const fileOf = (name: string) => readFile(path.join(checkoutRoot(), name), 'utf8');
/** A number to a parser that is not told that it is a text. */
const password = '1e5';
const log = createLog('test', 'silent');

/** A server with these users. */
class Server {
  private readonly open: NatsConnection[] = [];

  private constructor(
    private readonly folder: string,
    private readonly child: ChildProcess,
    readonly port: number,
  ) {}

  static async start(users: string): Promise<Server> {
    const folder = await mkdtemp(path.join(tmpdir(), 'recur-nats-users-'));
    const port = await freePort();
    await writeFile(path.join(folder, 'nats-users.conf'), users);
    const jetStream = `jetstream { store_dir: ${JSON.stringify(folder)} }`;
    const config = `listen: "127.0.0.1:${port}"\ninclude nats-users.conf\n${jetStream}\n`;
    await writeFile(path.join(folder, 'nats.conf'), config);
    const logins = Object.fromEntries(natsUsers.map(user => [`${user.toUpperCase()}_LOGIN`, `"${password}"`]));
    const child = spawn(process.env.TEST_NATS_SERVER_BIN ?? 'nats-server', ['-c', path.join(folder, 'nats.conf')], {
      env: { ...process.env, ...logins },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', code => reject(new Error(`nats-server ended with ${code}`)));
      child.stderr?.on('data', chunk => String(chunk).includes('Server is ready') && resolve());
    });
    return new Server(folder, child, port);
  }

  async bus(user: string): Promise<Bus> {
    const bus = await Bus.connect(`nats://${user}:${password}@127.0.0.1:${this.port}`, user, systemClock, log, false);
    this.open.push(bus.nc);
    return bus;
  }

  async as(user: string): Promise<NatsConnection> {
    const nc = await connect({ servers: `127.0.0.1:${this.port}`, user, pass: password, reconnect: false });
    this.open.push(nc);
    return nc;
  }

  async close(): Promise<void> {
    for (const nc of this.open) await nc.close();
    this.child.removeAllListeners('exit');
    const ended = once(this.child, 'exit');
    this.child.kill();
    await ended;
    await rm(this.folder, { recursive: true, force: true });
  }
}

let server: Server;
beforeEach(async () => {
  server = await Server.start(await fileOf('deploy/nats-users.conf'));
});
afterEach(() => server.close());

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
    const [gateway, service] = [await server.bus('gateway'), await server.bus('billing')];
    await serve(service, 'billing');
    expect(Buffer.from((await gateway.request('cmd.billing.invoice.new', '{}', caller())).bytes).toString()).toBe(
      '"invoice.new"',
    );
  });

  it('a service asks others about copies, and sends no command: it does not go out, so nothing comes back', async () => {
    const [asking, asked] = [await server.bus('billing'), await server.bus('identity')];
    const heard: string[] = [];
    await asked.serve('identity', async command => {
      heard.push(command);
      return { ok: true, bytes: '{}' };
    });
    expect(await say(asking, 'cmd.identity.merchant.get')).toBe('deadline_exceeded');
    await asking.request('cmd.identity.platform.state', '{}', caller());
    expect(heard).toEqual(['platform.state']);
  });

  it('a service answers a request once, and says nothing to an app that has not asked', async () => {
    const [gateway, service] = [await server.as('gateway'), await server.as('billing')];
    const { refused, until } = refusals(service);
    const heard: string[] = [];
    gateway.subscribe('_INBOX.gateway.>', {
      callback: (_, { subject, data }) => void heard.push(`${subject} ${data}`),
    });
    service.subscribe('cmd.billing.>', {
      queue: 'billing',
      callback: (_, message) => {
        message.respond('1');
        message.respond('2');
      },
    });
    await service.flush();
    gateway.publish('cmd.billing.invoice.new', '{}', { reply: '_INBOX.gateway.asked' });
    await gateway.flush();
    // the request has come, and both answers to it are out
    await service.flush();
    service.publish('_INBOX.gateway.other', '3');
    await until();
    await gateway.flush();
    expect(heard).toEqual([`_INBOX.gateway.asked ${Buffer.from('1')}`]);
    expect([...refused].sort()).toEqual(['publish _INBOX.gateway.asked', 'publish _INBOX.gateway.other']);
  });

  it('nobody without a password is let in', async () => {
    const { port } = server;
    for (const url of [`nats://127.0.0.1:${port}`, `nats://billing:wrong@127.0.0.1:${port}`]) {
      await expect(Bus.connect(url, 'billing', systemClock, log, false)).rejects.toThrow(/Authorization Violation/i);
    }
  });
});

/** Hears what the server refuses to a connection to publish; `until` the last one, which nobody may publish. */
function refusals(nc: NatsConnection) {
  const refused = new Set<string>();
  const last = 'nobody.may';
  const heard = (async () => {
    for await (const status of nc.status()) {
      const { error } = status as { error?: unknown };
      if (!(error instanceof PermissionViolationError) || error.operation !== 'publish') continue;
      if (error.subject === last) return;
      refused.add(`publish ${error.subject}`);
    }
  })();
  return {
    refused,
    until: async () => {
      nc.publish(last, '');
      await heard;
    },
  };
}

const apps = [...services, 'gateway', 'migrator'] as const;
const consumers = definitions.flatMap(definition =>
  followedBy(definition).map(each => ({ ...each, service: definition.name })),
);
const unknownConsumer = { name: 'another', subject: '>', service: '' };

/** Everything that somebody could try to publish. */
const published = [
  ...new Set([
    ...services.flatMap(service => [
      ...[...operations, ...internalOperations].filter(each => each.service === service).map(subjectOf),
      `evt.${service}.any.thing`,
      `nudge.${service}`,
      `seen.${service}`,
    ]),
    ...apps.map(app => `_INBOX.${app}.any`),
    'beat.identity.callers',
    '$JS.API.INFO',
    '$JS.API.STREAM.NAMES',
    '$JS.API.STREAM.LIST',
    '$SYS.REQ.SERVER.PING',
    ...[...services.map(streamOf), 'another'].flatMap(stream =>
      [
        ...['INFO', 'CREATE', 'UPDATE', 'DELETE', 'PURGE', 'SNAPSHOT', 'RESTORE'].map(
          verb => `STREAM.${verb}.${stream}`,
        ),
        `STREAM.MSG.GET.${stream}`,
        `STREAM.MSG.DELETE.${stream}`,
        `DIRECT.GET.${stream}`,
        `CONSUMER.NAMES.${stream}`,
        `CONSUMER.LIST.${stream}`,
        `CONSUMER.CREATE.${stream}`,
        ...[...consumers, ...services.map(from => ({ ...unknownConsumer, from }))]
          .filter(({ from }) => streamOf(from) === stream)
          .flatMap(({ name, from, subject }) => [
            `CONSUMER.CREATE.${stream}.${name}.evt.${from}.${subject.replace('>', 'x')}`,
            ...['CREATE', 'DURABLE.CREATE', 'DELETE', 'INFO', 'MSG.NEXT'].map(
              verb => `CONSUMER.${verb}.${stream}.${name}`,
            ),
          ]),
      ].map(api => `$JS.API.${api}`),
    ),
    ...consumers.map(({ name, from }) => `$JS.ACK.${streamOf(from)}.${name}.1.1.1.1.0`),
  ]),
];
const subscribed = [
  ...services.flatMap(service => [
    `cmd.${service}.>`,
    `evt.${service}.>`,
    `nudge.${service}`,
    `seen.${service}`,
    ...services.map(queue => `cmd.${service}.> ${queue}`),
  ]),
  ...apps.map(app => `_INBOX.${app}.>`),

  'evt.identity.callers.changed',
  'evt.identity.callers.*',
  '_INBOX.>',
  'cmd.>',
  'evt.>',
  '>',
  '$JS.API.>',
  '$JS.>',
  '$SYS.>',
  'beat.identity.callers',
];

/** Everything that the users may do, as `<user> publish <subject>`: all is tried on a server. */
async function allowedBy(users: string): Promise<string[]> {
  const tried = await Server.start(users);
  try {
    const all = await Promise.all(
      apps.map(async user => {
        const nc = await tried.as(user);
        const { refused, until } = refusals(nc);
        for (const subject of published) nc.publish(subject, '');
        for (const subject of subscribed) {
          const [of = '', queue] = subject.split(' ');
          const callback = (error: Error | null) => void (error && refused.add(`subscribe ${subject}`));
          nc.subscribe(of, { callback, ...(queue !== undefined && { queue }) });
        }
        await until();
        const each = [...published.map(to => `publish ${to}`), ...subscribed.map(to => `subscribe ${to}`)];
        return each.filter(right => !refused.has(right)).map(right => `${user} ${right}`);
      }),
    );
    return all.flat().sort();
  } finally {
    await tried.close();
  }
}

const questions = internalOperations.filter(({ amongServices }) => amongServices).map(subjectOf);
const keeps = (user: string, owner: string) =>
  definitions.some(({ name, copies }) => name === user && copies?.some(copy => copy.owner === owner));
const isOrdered = (user: string, from: string) =>
  consumers.some(each => each.service === user && each.from === from && each.order === 'every');

/** True if a user of the bus needs a right: told apart from how its rights are written. */
function isDue(user: string, verb: string, subject: string): boolean {
  const [kind = '', of = ''] = subject.split('.');
  if (verb === 'subscribe') {
    if (subject === `_INBOX.${user}.>` || subject === `nudge.${user}`) return true;
    if (subject === 'beat.identity.callers' || subject === 'evt.identity.callers.changed') return user === 'gateway';
    if (subject === `seen.${user}`) return keptBy[user as Service] !== undefined;
    return subject === `cmd.${user}.> ${user}`;
  }
  if (kind === 'cmd' && user === 'gateway') return true;
  if (subject === 'cmd.billing.platform.price_change_counts') return user === 'catalog';
  if (subject === 'cmd.identity.platform.users_by_key') return user === 'billing';
  if (/^cmd\.identity\.platform\.(export_rows|import_users)$/.test(subject)) return user === 'billing';
  if (questions.includes(subject)) {
    return subject.endsWith('.platform.events') ? isOrdered(user, of) : keeps(user, of);
  }
  if (kind === 'evt' || kind === 'nudge') return of === user;
  if (kind === 'seen')
    return Object.values(keptBy[of as Service] ?? {})
      .flat()
      .includes(user as Service);
  if (kind === 'beat') return user === 'identity';
  if (subject === '$JS.API.INFO') return services.some(service => service === user);
  const [, api = subject.replace('$JS.ACK.', 'ACK.')] = subject.split('$JS.API.');
  const stream = services.find(service => api.split('.').includes(streamOf(service)));
  if (!subject.startsWith('$JS.') || stream === undefined) return false;
  const consumer = consumers.find(({ name, from }) => from === stream && api.split('.').includes(name));
  if (user === 'migrator') {
    if (/^STREAM\.(INFO|CREATE)\./.test(api)) return true;
    return consumer !== undefined && /^CONSUMER\.(INFO\.|CREATE\.recur-\w+\.[\w-]+\.evt)/.test(api);
  }
  if (/^STREAM\.INFO\./.test(api))
    return stream === user || consumers.some(each => each.service === user && each.from === stream);
  return consumer?.service === user && /^(ACK|CONSUMER\.INFO|CONSUMER\.MSG\.NEXT)\./.test(api);
}

const due = apps
  .flatMap(user => [
    ...published.filter(subject => isDue(user, 'publish', subject)).map(subject => `${user} publish ${subject}`),
    ...subscribed.filter(subject => isDue(user, 'subscribe', subject)).map(subject => `${user} subscribe ${subject}`),
  ])
  .sort();

describe('the table of rights', () => {
  it('gives every user what it is for, of every subject and every call of JetStream, and no more', async () => {
    expect(published.length).toBeGreaterThan(500);
    expect(await allowedBy(await fileOf('deploy/nats-users.conf'))).toEqual(due);
  });

  it.each([
    [
      'a stream of its own',
      'billing',
      '"evt.billing.>"',
      '"$JS.API.STREAM.CREATE.*"',
      'billing publish $JS.API.STREAM.CREATE.another',
    ],
    [
      'another consumer',
      'catalog',
      '"evt.catalog.>"',
      '"$JS.API.CONSUMER.MSG.NEXT.recur-identity.>"',
      'catalog publish $JS.API.CONSUMER.MSG.NEXT.recur-identity.another',
    ],
    [
      'a command',
      'identity',
      '"evt.identity.>"',
      '"cmd.billing.invoice.new"',
      'identity publish cmd.billing.invoice.new',
    ],
    [
      'replies to others',
      'notification',
      '"evt.notification.>"',
      '"_INBOX.>"',
      'notification publish _INBOX.gateway.any',
    ],
    ['commands of others', 'billing', '"nudge.billing", ', '"cmd.identity.>"', 'billing subscribe cmd.identity.>'],
  ])('with %s too, it is not that', async (_, user, beside, planted, right) => {
    const users = await fileOf('deploy/nats-users.conf');
    const at = users.indexOf(beside, users.indexOf(`user: ${user},`));
    const changed = `${users.slice(0, at)}${planted}, ${users.slice(at)}`;
    const more = (await allowedBy(changed)).filter(each => !due.includes(each));
    expect(more).toContain(right);
  });

  it('is what deploy/nats-users.conf and docs/security.md say', async () => {
    expect(await fileOf('deploy/nats-users.conf')).toBe(natsUsersFile(definitions));
    const page = await fileOf('docs/security.md');
    expect(page).toBe(formatted(withRights(page, definitions), 'docs/security.md'));
    const [copy] = billing.copies ?? [];
    const planted = [identity, { ...catalog, copies: copy ? [copy] : [] }, billing, notification];
    expect(natsUsersFile(planted)).not.toBe(natsUsersFile(definitions));
  });
});
