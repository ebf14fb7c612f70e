import { createHash } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect as connectSocket } from 'node:net';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { type CallersChanged, type Operation, operation, services } from '@recur/contracts';
import { Bus, type Caller, type Clock, createLog, type Reply, streamOf, systemClock } from '@recur/platform';
import { TestNats } from '@recur/platform/testing';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { z } from 'zod';
import { gatewayConfig } from '../src/config.js';
import { Gateway } from '../src/gateway.js';

export { TestNats };

const log = createLog('test', process.env.TEST_LOG_LEVEL ?? 'silent');
const base = { service: 'billing', permission: 'invoice.write', errors: [], summary: 'A sample' } as const;

/** Operations that no service has: what the gateway does with one does not depend on which it is. */
export const write = operation({
  ...base,
  name: 'sample.write',
  methods: ['POST'],
  path: '/merchant/sample/write',
  effect: 'write',
  input: z.object({
    amount: z.int(),
    note: z.string().toUpperCase().default('none'),
    lines: z.array(z.object({ quantity: z.int().min(1) })).default([]),
    data: z.unknown().optional(),
  }),
  output: z.object({}),
});
export const read = operation({
  ...base,
  name: 'sample.read',
  methods: ['GET', 'POST'],
  path: '/merchant/sample/read',
  effect: 'read',
  permission: 'invoice.read',
  input: z.object({
    id: z.string().optional(),
    page: z.string().regex(/^\d+$/).optional(),
    tags: z.preprocess(value => (typeof value === 'string' ? value.split(',') : value), z.array(z.string())).optional(),
  }),
  output: z.object({}),
});
export const own = operation({
  ...base,
  name: 'sample.own',
  methods: ['POST'],
  path: '/merchant/sample/own',
  effect: 'write',
  memberOnly: true,
  input: z.object({}),
  output: z.object({}),
});
export const elsewhere = operation({
  ...base,
  service: 'catalog',
  name: 'sample.elsewhere',
  methods: ['POST'],
  path: '/merchant/sample/elsewhere',
  effect: 'write',
  input: z.object({}),
  output: z.object({}),
});
export const samples: readonly Operation[] = [write, read, own, elsewhere];

export interface SigningKey {
  kid: string;
  jwk: JWK;
  sign(claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
}

/** An identity's signing key. `sign` makes an API key of merchant 15; claims set to undefined are left out. */
export async function signingKey(kid: string): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true });
  return {
    kid,
    jwk: { ...(await exportJWK(publicKey)), kid, alg: 'EdDSA', use: 'sig' },
    sign: (claims = {}, header = {}) =>
      new SignJWT({ iss: 'recur', aud: 'recur', sub: '15', jti: 'first', env: 'sandbox', ...claims })
        .setProtectedHeader({ alg: 'EdDSA', typ: 'api-key+jwt', kid, ...header })
        .sign(privateKey),
  };
}

export const idOf = (jti: string) => createHash('sha256').update(jti).digest('base64url');

type Answer = (command: string, payload: string, caller: Caller) => Promise<Reply> | Reply;

/** Stands in for the services, which are other processes: it answers their commands on the same bus. */
export class Services {
  /** What the next commands are answered. */
  answer: Answer = () => ({ ok: true, bytes: '{}' });
  readonly asked: { command: string; payload: string; caller: Caller }[] = [];
  callers = {
    version: 0,
    keys: [] as JWK[],
    revoked: [] as string[],
    ending: [] as CallersChanged['ending'],
    members: [] as CallersChanged['members'],
  };
  /** What happens before a page of the snapshot is read, after which member. */
  beforePage: (after?: number) => Promise<void> | void = () => undefined;
  /** How many members are told of in a page of the snapshot. */
  membersInPage = 1_000;
  /** How many revoked keys. */
  keysInPage = 1_000;
  /** What gateways have said of sessions that were used. */
  readonly activity: { sid: string; at: number }[] = [];
  snapshots = 0;
  private beating: NodeJS.Timeout | undefined;

  private constructor(readonly bus: Bus) {}

  static async start(url: string, keys: JWK[], served = ['identity', 'billing']): Promise<Services> {
    const services = new Services(await Bus.connect(url, 'services', systemClock, log));
    services.callers.keys = keys;
    await services.createStream();
    for (const service of served) {
      await services.bus.serve(service, async (command, payload, caller) => {
        if (command.startsWith('platform.')) return services.tell(command, payload);
        services.asked.push({ command, payload, caller });
        return services.answer(command, payload, caller);
      });
    }
    return services;
  }

  /** What identity answers to gateways; its members stand in the order of their ids. */
  private async tell(command: string, payload: string): Promise<Reply> {
    const asked: { after?: { memberId: number; jtiHash: string }; sessions?: Services['activity'] } =
      JSON.parse(payload);
    if (command === 'platform.activity') {
      this.activity.push(...(asked.sessions ?? []));
      return { ok: true, bytes: '{}' };
    }
    if (!asked.after) this.snapshots++;
    await this.beforePage(asked.after?.memberId);
    const left = this.callers.members.filter(
      ({ id, sessions }) => id > (asked.after?.memberId ?? 0) && sessions.length > 0,
    );
    const members = left.slice(0, this.membersInPage);
    const keysLeft = this.callers.revoked.filter(hash => hash > (asked.after?.jtiHash ?? '')).sort();
    const revoked = keysLeft.slice(0, this.keysInPage);
    const { merchantId = 0, id = asked.after?.memberId ?? 0 } = members.at(-1) ?? {};
    const isLast = left.length === members.length && keysLeft.length === revoked.length;
    const next = isLast ? null : { merchantId, memberId: id, jtiHash: revoked.at(-1) ?? asked.after?.jtiHash ?? '' };
    return { ok: true, bytes: JSON.stringify({ ...this.callers, members, revoked, next }) };
  }

  async createStream(): Promise<void> {
    const manager = await jetstreamManager(this.bus.nc);
    await manager.streams.add({ name: streamOf('identity'), subjects: ['evt.identity.>'] });
  }

  /** Changes what identity knows, and tells it by an event unless that is `lost`. */
  async change(told: Partial<Services['callers']>, { lost = false } = {}): Promise<void> {
    const event = this.changed(told);
    if (!lost) await jetstream(this.bus.nc).publish('evt.identity.callers.changed', event);
  }

  /** Several changes, whose events come in one message. */
  async changeTogether(...told: Partial<Services['callers']>[]): Promise<void> {
    const events = told.map(each => this.changed(each));
    await jetstream(this.bus.nc).publish('evt.identity.callers.changed', events.join('\n'));
  }

  private changed(told: Partial<Services['callers']>): string {
    const { version, keys, revoked, ending, members } = this.callers;
    const data = { keys: [], revoked: [], ending: [], members: [], ...told };
    this.callers = {
      version: version + 1,
      keys: told.keys ?? keys,
      revoked: [...revoked, ...data.revoked],
      ending: [...ending, ...data.ending].filter(({ jtiHash }) => !data.revoked.includes(jtiHash)),
      members: [...members.filter(({ id }) => !data.members.some(member => member.id === id)), ...data.members].sort(
        (one, other) => one.id - other.id,
      ),
    };
    const head = {
      id: `ev_${version}`,
      type: 'callers.changed',
      merchantId: 0,
      aggregate: 'callers',
      aggregateId: '1',
    };
    return JSON.stringify({ ...head, version: version + 1, data });
  }

  beat(): void {
    this.bus.signal('beat.identity.callers', JSON.stringify({ version: this.callers.version }));
  }

  startBeating(everyMs = 1_000): void {
    this.beat();
    this.beating = setInterval(() => this.beat(), everyMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.beating);
    await this.bus.close();
  }
}

export interface Answered {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  text: string;
  json: {
    code: number;
    data: unknown;
    merchantId: number;
    message: string;
    redirect: string;
    requestId: string;
    error?: { type: string; issues: { path: string; message: string }[] };
  };
}

interface Sent {
  method?: string;
  key?: string | undefined;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
}

/** The keys with which a gateway signs callers, of services that check none. */
const callerKeys = services.map(service => `${service}:${Buffer.alloc(32, 8).toString('base64')}`).join(',');

/** A gateway on a port of its own, with a client that opens a connection for each request. */
export class TestGateway {
  private static readonly running = new Set<TestGateway>();

  private constructor(
    readonly gateway: Gateway,
    readonly port: number,
    private readonly opsPort: number,
  ) {}

  static async start(
    url: string,
    {
      env = {},
      operations = samples,
      clock = systemClock,
    }: { env?: Record<string, string>; operations?: readonly Operation[]; clock?: Clock } = {},
  ): Promise<TestGateway> {
    const config = gatewayConfig.parse({
      RECUR_ENV: 'sandbox',
      NATS_URL: url,
      HOST: '127.0.0.1',
      PORT: '0',
      OPS_PORT: '0',
      BASE_URL: 'http://127.0.0.1',
      CALLER_KEYS: callerKeys,
      ...env,
    });
    const bus = await Bus.connect(url, 'gateway', systemClock, log);
    const gateway = await Gateway.create({ config, bus, clock, log, operations });
    const { port, opsPort } = await gateway.listen();
    const started = new TestGateway(gateway, port, opsPort);
    TestGateway.running.add(started);
    return started;
  }

  /** Stops those that run still, so that a test that fails leaves nothing behind. */
  static async stopAll(): Promise<void> {
    await Promise.all([...TestGateway.running].map(gateway => gateway.stop()));
  }

  async ready(): Promise<this> {
    await eventually(async () => (await this.ops('/readyz')).status === 200);
    return this;
  }

  send(path: string, sent: Sent = {}): Promise<Answered> {
    return this.sendTo(this.port, path, sent);
  }

  /** Asks the port for operators. */
  ops(path: string): Promise<Answered> {
    return this.sendTo(this.opsPort, path, {});
  }

  private sendTo(port: number, path: string, { method = 'GET', key, headers = {}, body }: Sent): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const sent = httpRequest(
        {
          host: '127.0.0.1',
          port,
          path,
          method,
          agent: false,
          headers: { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...headers },
        },
        async response => {
          const chunks: Buffer[] = [];
          for await (const chunk of response) chunks.push(chunk);
          const bytes = Buffer.concat(chunks);
          const text = bytes.toString();
          const isPlain = response.headers['content-encoding'] === undefined;
          const isJson = isPlain && response.headers['content-type']?.startsWith('application/json');
          const json = isJson && text !== '' ? JSON.parse(text) : {};
          resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, text, json });
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }

  post(path: string, body: unknown, key: string, headers: Record<string, string> = {}): Promise<Answered> {
    const json = { 'content-type': 'application/json', ...headers };
    return this.send(path, { method: 'POST', key, headers: json, body: JSON.stringify(body) });
  }

  /** Writes bytes to a connection and answers all that comes back until it is closed. */
  raw(bytes: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connectSocket(this.port, '127.0.0.1', () => socket.write(bytes));
      let text = '';
      socket.on('data', chunk => {
        text += chunk;
      });
      socket.on('error', reject);
      socket.on('end', () => resolve(text));
    });
  }

  async stop(): Promise<void> {
    if (TestGateway.running.delete(this)) await this.gateway.drain();
  }
}

/** Waits until a condition holds that nothing announces. */
export async function eventually(holds: () => Promise<boolean> | boolean): Promise<void> {
  const until = Date.now() + 60_000;
  while (!(await holds())) {
    if (Date.now() > until) throw new Error('it did not happen in time');
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

/** The body of an answer on the wire, as an envelope. */
export const envelopeIn = (text: string): Answered['json'] => JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4));
