import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { type Client, createClient, orThrow } from '@recur/client';
import { services } from '@recur/contracts';
import { Bus, createLog, patient, streamOf, systemClock } from '@recur/platform';
import { MemoryBus, TestNats, type TestService, testService } from '@recur/platform/testing';
import { gatewayConfig } from '../../../apps/gateway/src/config.js';
import { Gateway } from '../../../apps/gateway/src/gateway.js';
import { Heartbeat } from '../../../apps/identity/src/callers/heartbeat.js';
import { identity } from '../../../apps/identity/src/service.js';
import { type Company, newCompany } from '../../../apps/identity/test/company.js';
import { type Answer, Wire } from '../wire.js';
import { expectFailure, pause, times } from './stand.js';

// identity and a gateway as they are, on one bus and one clock, so that hours and silences can be had

let ahead = 0;
const clock = { now: () => Math.floor((Date.now() + ahead) / 1000), wall: () => Date.now() + ahead };
const log = createLog('test', process.env.TEST_LOG_LEVEL ?? 'silent');

let nats: TestNats;
let bus: Bus;
let t: TestService;
let gateway: Gateway;
let baseUrl: string;
let company: Company;
let merchant: Client;
let merchantWire: Wire;
let published: Promise<void> = Promise.resolve();

class Bridge extends MemoryBus {
  override signal(subject = '', payload = ''): void {
    bus.signal(subject, payload);
  }
}

/** Publishes what identity has emitted, one after the other, as its relay does. */
function publish(): Promise<void> {
  published = published.then(async () => {
    for (const event of await t.emitted()) {
      await jetstream(bus.nc).publish(`evt.identity.${event.type}`, JSON.stringify(event));
      await t.deliver('identity', [event]);
    }
  });
  return published;
}

beforeAll(async () => {
  nats = await TestNats.start();
  bus = await Bus.connect(nats.url, 'identity', systemClock, log);
  await (await jetstreamManager(bus.nc)).streams.add({ name: streamOf('identity'), subjects: ['evt.identity.>'] });
  t = await testService(identity, { bus: new Bridge(), clock });
  await bus.serve('identity', async (command, payload, caller) => {
    const reply = await t.bus.request(`cmd.identity.${command}`, Buffer.from(payload).toString(), caller);
    void publish();
    return reply;
  });
  t.app.get(Heartbeat).start();
  const CALLER_KEYS = services.map(service => `${service}:${Buffer.alloc(32, 8).toString('base64')}`).join(',');
  const ports = { HOST: '127.0.0.1', PORT: '0', OPS_PORT: '0' };
  const settings = { RECUR_ENV: 'sandbox', NATS_URL: nats.url, ...ports, BASE_URL: 'http://x', CALLER_KEYS };
  const config = gatewayConfig.parse(settings);
  gateway = await Gateway.create({ config, bus: await Bus.connect(nats.url, 'gateway', systemClock, log), clock, log });
  baseUrl = `http://127.0.0.1:${(await gateway.listen()).port}`;
});
afterAll(async () => {
  await gateway.drain();
  await t.app.get(Heartbeat).stop();
  await published;
  await bus.close();
  await t.close();
  await nats.close();
});
beforeEach(async () => {
  company = await newCompany(t);
  await publish();
  merchant = createClient({ baseUrl, credential: company.apiKey });
  merchantWire = new Wire(baseUrl, company.apiKey);
  await within5Seconds(merchantWire, ({ status }) => status === 200, '/merchant/role/list');
});

/** The promise to members: a change holds everywhere within 5 seconds. */
async function within5Seconds(wire: Wire, wanted: (answer: Answer) => boolean, path = '/merchant/member/profile') {
  const until = Date.now() + patient(5_000);
  for (;;) {
    const answer = await wire.request(path);
    if (wanted(answer)) return answer;
    if (Date.now() > until) throw new Error(`after 5 seconds still ${answer.text}`);
    await pause();
  }
}

/** A member with these permissions, as it calls from one device. */
async function member(memberId: number, ip = '192.0.2.1') {
  const { token, sid } = await company.signIn(memberId, { name: 'Firefox', ip });
  await publish();
  return { memberId, sid, api: createClient({ baseUrl, credential: token }), wire: new Wire(baseUrl, token) };
}
const newMember = async (...permissions: Parameters<Company['role']>) => {
  const roleId = await company.role('my-account.read', ...permissions);
  const { memberId } = await company.invite(roleId);
  return { roleId, ...(await member(memberId)) };
};
const profile = (wire: Wire) => wire.request('/merchant/member/profile');

describe('a member who is signed in', () => {
  it('calls at once, and is in the log by its e-mail', async () => {
    const { memberId, api, wire } = await newMember('my-account.write', 'activity-logs.read');
    expect((await profile(wire)).status).toBe(200);
    orThrow(await api.post('/merchant/member/update', { firstName: 'Ada' }));
    await publish();
    const { merchantOperationLogs } = orThrow(
      await api.get('/merchant/member/operation_log_list', { memberFirstName: 'ada' }),
    );
    const email = expect.stringMatching(/^member-\d+@example.com$/);
    expect(merchantOperationLogs).toMatchObject([
      {
        optAccountType: 0,
        optAccount: email,
        optAccountId: String(memberId),
        memberId,
        optTarget: `Member(${memberId})`,
        optContent: 'Update',
        member: { id: memberId, email },
      },
    ]);
    expectFailure(await wire.send('/merchant/role/new', { role: 'x', permissions: [] }), 403, 63, 'permission_denied');
  });

  it('and is suspended is refused within 5 seconds, on every device', async () => {
    const { memberId, wire } = await newMember();
    const other = await member(memberId, '192.0.2.2');
    for (const one of [wire, other.wire]) expect((await profile(one)).status).toBe(200);
    orThrow(await merchant.post('/merchant/member/suspend_member', { memberId }));
    for (const one of [wire, other.wire]) {
      expectFailure(await within5Seconds(one, ({ status }) => status === 401), 401, 61, 'credential_invalid');
    }
    orThrow(await merchant.post('/merchant/member/resume_member', { memberId }));
    expect((await profile(wire)).status).toBe(401);
    expect((await profile((await member(memberId)).wire)).status).toBe(200);
  });

  it.each(['role/edit', 'member/update_member_role'])('whose permissions change by %s signs in again', async how => {
    const { memberId, roleId, wire } = await newMember();
    expect((await profile(wire)).status).toBe(200);
    expect((await wire.request('/merchant/role/list')).status).toBe(403);
    const permissions = [
      { group: 'my-account' as const, permissions: ['read' as const] },
      { group: 'admin' as const, permissions: ['read' as const] },
    ];
    if (how === 'role/edit')
      orThrow(await merchant.post('/merchant/role/edit', { id: roleId, role: 'Admins', permissions }));
    else {
      const role = await company.role('my-account.read', 'admin.read');
      orThrow(await merchant.post('/merchant/member/update_member_role', { memberId, roleIds: [role] }));
    }
    expectFailure(await within5Seconds(wire, ({ status }) => status === 401), 401, 62, 'permissions_changed');
    const again = await member(memberId);
    expect((await again.wire.request('/merchant/role/list')).status).toBe(200);
  });

  it('and logs out is refused within 5 seconds, there and nowhere else', async () => {
    const { memberId, api, wire } = await newMember('my-account.access');
    const other = await member(memberId, '192.0.2.2');
    orThrow(await api.post('/merchant/member/logout', {}));
    expectFailure(await within5Seconds(wire, ({ status }) => status === 401), 401, 61, 'credential_invalid');
    expect((await profile(other.wire)).status).toBe(200);
  });

  it('and does nothing for 8 hours is refused', async () => {
    const { wire } = await newMember();
    expect((await profile(wire)).status).toBe(200);
    ahead += 8 * 3_600_000;
    await t.work.drain();
    await publish();
    expectFailure(await within5Seconds(wire, ({ status }) => status === 401), 401, 61, 'credential_invalid');
  });

  it('gets 56 while identity is silent for 5 seconds, and API keys go on', async () => {
    const { wire } = await newMember();
    expect((await profile(wire)).status).toBe(200);
    await t.app.get(Heartbeat).stop();
    ahead += patient(5_000);
    expectFailure(await profile(wire), 503, 56, 'dependency_away');
    expect((await merchantWire.request('/merchant/role/list')).status).toBe(200);
    t.app.get(Heartbeat).start();
    await within5Seconds(wire, ({ status }) => status === 200);
  });
});

describe('an invitation', () => {
  it('of one e-mail 64 times at once is one member', async () => {
    const input = { email: 'sixty-four@example.com', roleIds: [] };
    const answers = await Promise.all(times(64, () => merchantWire.send('/merchant/member/new_member', input)));
    expect(answers.map(({ status }) => status)).toEqual(times(64, () => 200));
    const ids = answers.map(({ envelope }) => (envelope.data as { memberId: number }).memberId);
    expect(new Set(ids).size).toBe(1);
  });
});
