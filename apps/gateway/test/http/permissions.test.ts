import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  anyMember,
  anyUser,
  everything,
  exportKinds,
  exportTasks,
  importNames,
  type MemberAccess,
  type Operation,
  operations,
  type Permission,
  permissionActions,
  permissionGroups,
  services as serviceNames,
} from '@recur/contracts';
import { grant, signedIn, tokenOf, userToken } from '../callers/sessions.js';
import { Services, type SigningKey, signingKey, TestGateway, TestNats } from '../stand.js';

const all = permissionGroups.flatMap(group => permissionActions.map((action): Permission => `${group}.${action}`));
const isPermission = (permission: Operation['permission']): permission is Permission =>
  permission !== anyMember && permission !== anyUser;
const asked = [...new Set(operations.map(({ permission }) => permission))].filter(isPermission);
const accessOf = (permission: Permission) => permission.replace(/\w+$/, 'access');

/** One member of each kind: with one permission, with all but one, with all, with none, and the owner. */
const members: Record<string, MemberAccess> = { owner: signedIn(1, everything), nothing: signedIn(2, grant()) };
for (const [at, permission] of asked.entries()) {
  members[`only ${permission}`] = signedIn(100 + at, grant(permission));
  // access to the group would imply it
  const others = all.filter(other => other !== permission && other !== accessOf(permission));
  members[`all but ${permission}`] = signedIn(200 + at, grant(...others));
  members[`access for ${permission}`] = signedIn(300 + at, grant(accessOf(permission) as Permission));
}

let nats: TestNats;
let services: Services;
let gateway: TestGateway;
let signer: SigningKey;
const credentials = new Map<string, string>();

beforeAll(async () => {
  nats = await TestNats.start();
  signer = await signingKey('k1');
  services = await Services.start(nats.url, [signer.jwk], [...serviceNames]);
  services.callers.members = Object.values(members);
  services.startBeating();
  gateway = await (await TestGateway.start(nats.url, { operations: operations, env })).ready();
  credentials.set('API key', await signer.sign());
  credentials.set('user', await userToken(signer));
  for (const [who, member] of Object.entries(members)) credentials.set(who, await tokenOf(signer, member));
});
afterAll(async () => {
  await TestGateway.stopAll();
  await services.stop();
  await nats.close();
});

/** More requests than a page or a person makes. */
const env = { USER_RATE_PER_SECOND: '1000', USER_RATE_BURST: '1000', SIGN_IN_PER_ADDRESS: '1000' };

/** Who of these may call an operation, as the gateway answers. Whoever may is told of the input, if of anything. */
async function allowed({ methods, path, permission }: Operation): Promise<Record<string, boolean>> {
  const withRoles = isPermission(permission)
    ? ['only', 'all but', 'access for'].map(who => `${who} ${permission}`)
    : [];
  const callers = ['API key', 'owner', ...withRoles, 'nothing', 'user'];
  const answers = await Promise.all(
    callers.map(async who => {
      const credential = credentials.get(who) ?? '';
      const { status, json } =
        methods[0] === 'GET' ? await gateway.send(path, { key: credential }) : await gateway.post(path, {}, credential);
      if (status === 403)
        expect(json).toMatchObject({ code: 63, error: { type: 'permission_denied' }, merchantId: 15 });
      else expect([0, 51]).toContain(json.code);
      return [
        who
          .replace(/^all but .*/, 'all but it')
          .replace(/^only .*/, 'it alone')
          .replace(/^access for .*/, 'access'),
        status !== 403,
      ] as const;
    }),
  );
  return Object.fromEntries(answers);
}

function rule({ memberOnly, permission, ...operation }: Operation): Record<string, boolean> {
  const anonymous = operation.anonymous === true;
  if (permission === anyUser) return { 'API key': anonymous, owner: anonymous, nothing: anonymous, user: true };
  return {
    'API key': memberOnly !== true,
    owner: true,
    user: anonymous,
    ...(permission !== anyMember && { 'it alone': true, access: true, 'all but it': anonymous }),
    nothing: anonymous || permission === anyMember,
  };
}

describe('every operation is for', () => {
  it.each(operations.map(operation => [operation.name, operation] as const))(
    'who may call %s',
    async (_, operation) => {
      expect(await allowed(operation)).toEqual(rule(operation));
    },
  );

  it('nobody by accident: an operation that asked for another permission would be noticed', async () => {
    const [first] = operations.filter(({ permission, memberOnly }) => !memberOnly && permission === 'plan.write');
    const planted = { ...(first as Operation), permission: 'plan.read' } as const;
    expect(await allowed(planted)).not.toEqual(rule(planted));
    expect(asked.length).toBeGreaterThan(8);
    expect(operations.filter(({ memberOnly }) => memberOnly).length).toBeGreaterThan(3);
  });
});

/** Inputs that bring an effect, by operation: the smallest that is valid, and the fields that are for the effect. */
const effects: Record<string, { input: object; by: object; empty: object }[]> = {
  'task.new_export': exportTasks.map(task => ({ input: {}, by: { task }, empty: { task } })),
  'task.new_import': importNames.map(task => ({ input: { file: { base64: 'YQ==' } }, by: { task }, empty: { task } })),
  'subscription.create_submit': [{ input: { userId: 1, planId: 1 }, by: { discount: {} }, empty: {} }],
  'subscription.renew': [{ input: { subscriptionId: 'sub_1' }, by: { discount: {} }, empty: {} }],
  'subscription.update_submit': [
    { input: { subscriptionId: 'sub_1', newPlanId: 1, quantity: 1 }, by: { discount: {} }, empty: {} },
    { input: { subscriptionId: 'sub_1', newPlanId: 1, quantity: 1 }, by: { refund: true }, empty: { refund: false } },
  ],
  'subscription.cancel': [{ input: { subscriptionId: 'sub_1' }, by: { refund: true }, empty: { refund: false } }],
  'subscription.new_onetime_addon_payment': [
    {
      input: { subscriptionId: 'sub_1', addonId: 1, quantity: 1 },
      by: { discountAmount: 1 },
      empty: { discountAmount: 0 },
    },
    { input: { subscriptionId: 'sub_1', addonId: 1, quantity: 1 }, by: { discountPercentage: 1 }, empty: {} },
  ],
  'invoice.refund': [
    {
      input: { invoiceId: 'in_1', refundAmount: 1, reason: 'x' },
      by: { cancelSubscription: true },
      empty: { cancelSubscription: false },
    },
  ],
  'gateway.edit': ['gatewayKey', 'gatewaySecret', 'subGateway'].map(name => ({
    input: { gatewayId: 1 },
    by: { [name]: 'x' },
    empty: { displayName: 'x' },
  })),
  'gateway.wire_transfer_edit': [
    {
      input: { gatewayId: 1, currency: 'EUR', minimumAmount: 0 },
      by: { bank: { accountHolder: 'x', bic: 'x', iban: 'x', address: 'x' } },
      empty: {},
    },
  ],
  'gateway.setup_webhook': [{ input: { gatewayId: 1 }, by: { webhookSecret: 'x' }, empty: {} }],
  'gateway.setup': [{ input: { gatewayName: 'sandbox' }, by: {}, empty: {} }],
  'gateway.wire_transfer_setup': [{ input: { currency: 'EUR', minimumAmount: 0 }, by: {}, empty: {} }],
  'search.key_search': [{ input: { searchKey: 'x' }, by: {}, empty: {} }],
};

describe('an effect that another permission guards', () => {
  const withOthers = operations.filter(({ also = [] }) => also.length > 0);

  it.each(withOthers.map(operation => [operation.name, operation] as const))(
    'takes that permission too: %s',
    async (name, { path, also = [], permission }) => {
      const cases = effects[name] ?? [];
      expect(cases.length).toBeGreaterThanOrEqual(also.length);
      const main = credentials.get(`only ${permission}`) ?? '';
      for (const { input, by, empty } of cases) {
        const refused = await gateway.post(path, { ...input, ...by }, main);
        expect([refused.status, refused.json.code]).toEqual([403, 63]);
        expect(also.some(each => refused.json.message.includes(each.permission))).toBe(true);
        for (const who of ['API key', 'owner']) {
          const { status, json } = await gateway.post(path, { ...input, ...by }, credentials.get(who) ?? '');
          expect([status, json.code]).toEqual([200, 0]);
        }
        // an effect of each value of a field that must be given is one of every call
        const isAlways = also.some(each => each.by === undefined) || also.every(each => each.is !== undefined);
        const without = await gateway.post(path, { ...input, ...empty }, main);
        expect(without.status).toBe(isAlways ? 403 : 200);
      }
    },
  );

  it.each(exportTasks)('is that of the list for %s', async task => {
    const main = credentials.get('only report.download') ?? '';
    const { status, json } = await gateway.post('/merchant/task/new_export', { task }, main);
    expect([status, json.code]).toEqual([403, 63]);
    expect(json.message).toContain(exportKinds[task].permission);
  });
});
