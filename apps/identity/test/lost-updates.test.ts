import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  changeUserEmail,
  changeUserGateway,
  clearMemberTotp,
  clearOauth,
  confirmTotpKey,
  deleteAuthProvider,
  deleteRole,
  deleteTotpDevice,
  editAuthProvider,
  editRole,
  emptyOf,
  Gateway,
  inviteMember,
  logoutMember,
  newApiKey,
  newAuthProvider,
  newRole,
  newSession,
  newUser,
  type Operation,
  oauthLogin,
  oauthSetup,
  operations,
  passwordLogin,
  passwordSetup,
  portalSessionExchange,
  portalUserUpdate,
  resetPassword,
  resetTotp,
  resumeMember,
  resumeUser,
  revokeApiKey,
  suspendMember,
  suspendUser,
  totpKey,
  updateMember,
  updateMemberRole,
  updateMerchant,
  updateOauth,
  updateUser,
} from '@recur/contracts';
import { merchantState, type TestCaller, unserializable } from '@recur/platform/testing';
import { decodeJwt } from 'jose';
import { generateSync } from 'otplib';
import { byGroup } from './company.js';
import { type Merchant, makePortal, type Portal } from './portal.js';

let p: Portal;
beforeAll(async () => {
  p = await makePortal();
  // the first merchant gets the key pair that signs for all
  await p.merchant();
});
afterAll(() => p.t.close());

type As = TestCaller & { identityToken?: string };
type Call = readonly [input: object, as: As];
/** The two calls, about new objects of a merchant. */
type Calls = (of: Merchant) => Promise<readonly [Call, Call]>;

const key = ({ merchantId }: Merchant): As => ({ merchantId });
const both = (as: As, one: object, other = one) => [[one, as] as const, [other, as] as const] as const;

const roleOf = async (of: Merchant, role = 'Support') => {
  const permissions = byGroup(['plan.read']);
  return (await p.t.done(newRole, { role, permissions }, key(of))).merchantRole.id;
};
const memberOf = async (of: Merchant) => (await p.invited(of.merchantId)).memberId;
const userOf = async (of: Merchant) => (await p.t.done(newUser, { email: 'user@example.com' }, key(of))).user.id;
const providerOf = async (of: Merchant) => {
  const input = { issuer: 'https://idp.example.org', audience: 'portal', publicKey: p.pair.pem };
  return (await p.t.done(newAuthProvider, input, key(of))).authProvider.id;
};

const passwords = ['correct horse', 'battery staple', 'paper clip holder'] as const;
/** A member who signs in with a password or an identity, and is signed in. */
async function signedIn(of: Merchant) {
  const invited = await p.invited(of.merchantId);
  const person = { email: invited.email };
  const set = { setupToken: invited.setupToken, newPassword: passwords[0] };
  const entered = await p.oauthSetup(of.merchantId, person, set);
  if (!entered.ok) throw new Error(entered.slug);
  const session = String(decodeJwt(entered.data.token).sid);
  const [device] = entered.data.merchantMember.deviceList;
  return { ...invited, person, as: { ...p.as(invited), session } as As, identity: device?.identity ?? '' };
}
const codeOf = (secret: string, steps = 0) => generateSync({ secret, epoch: p.clock.now() + 30 * steps });
/** A member who has asked for a key of two-factor codes, and uses the current code to turn them on. */
async function withKey(of: Merchant, on: boolean) {
  const member = await signedIn(of);
  const secret = (await p.t.done(totpKey, {}, member.as)).totpKey;
  if (on) await p.t.done(confirmTotpKey, { totpCode: codeOf(secret, -1) }, member.as);
  return { ...member, secret };
}
const gatewaysOf = async ({ merchantId }: Merchant) => {
  for (const gatewayId of [3, 4]) {
    const gateway = JSON.stringify({ ...emptyOf(Gateway), gatewayId });
    await p.t.rows('insert into gateway_copies values ($1, $2, false, $3, 1)', [merchantId, gatewayId, gateway]);
  }
};

/** Commands on a merchant, its members and what they may do. */
const administration: readonly (readonly [Operation, Calls])[] = [
  [updateMerchant, async of => both(key(of), { companyName: 'Acme Ltd' }, { phone: '123' })],
  [newApiKey, async of => both(key(of), {})],
  [
    revokeApiKey,
    async of => {
      const [row] = await p.t.rows('select id from api_keys where merchant_id = $1', [of.merchantId]);
      return both(key(of), { apiKeyId: Number(row?.id) });
    },
  ],
  [
    inviteMember,
    async of => both(key(of), { email: 'new@example.com', firstName: 'Ann', roleIds: [await roleOf(of)] }),
  ],
  [suspendMember, async of => both(key(of), { memberId: (await signedIn(of)).memberId })],
  [
    resumeMember,
    async of => {
      const memberId = await memberOf(of);
      await p.t.done(suspendMember, { memberId }, key(of));
      return both(key(of), { memberId });
    },
  ],
  [
    updateMemberRole,
    async of => {
      const [memberId, one, other] = [await memberOf(of), await roleOf(of, 'One'), await roleOf(of, 'Other')];
      return both(key(of), { memberId, roleIds: [one] }, { memberId, roleIds: [one, other] });
    },
  ],
  [newRole, async of => both(key(of), { role: 'Support', permissions: [] })],
  [
    editRole,
    async of => {
      const id = await roleOf(of);
      const permissions = byGroup(['plan.read']);
      return both(key(of), { id, role: 'Sales', permissions }, { id, role: 'Support', permissions: [] });
    },
  ],
  [deleteRole, async of => both(key(of), { id: await roleOf(of) })],
  [
    newAuthProvider,
    async of => {
      const input = { issuer: 'https://idp.example.org', audience: 'portal', publicKey: p.pair.pem };
      return both(key(of), input, { ...input, name: 'Second' });
    },
  ],
  [
    editAuthProvider,
    async of => {
      const authProviderId = await providerOf(of);
      return both(key(of), { authProviderId, name: 'Ours' }, { authProviderId, audience: 'others' });
    },
  ],
  [deleteAuthProvider, async of => both(key(of), { authProviderId: await providerOf(of) })],
  [clearMemberTotp, async of => both(key(of), { memberId: (await withKey(of, true)).memberId })],
];

/** Commands of members on their own accounts, and their sign-in. */
const accounts: readonly (readonly [Operation, Calls])[] = [
  [updateMember, async of => both(p.as(of), { firstName: 'Ann' }, { lastName: 'Lee' })],
  [logoutMember, async of => both((await signedIn(of)).as, {})],
  [
    resetPassword,
    async of => {
      const [oldPassword, one, other] = passwords;
      return both((await signedIn(of)).as, { oldPassword, newPassword: one }, { oldPassword, newPassword: other });
    },
  ],
  [totpKey, async of => both((await signedIn(of)).as, {})],
  [
    confirmTotpKey,
    async of => {
      const { as, secret } = await withKey(of, false);
      return both(as, { totpCode: codeOf(secret) });
    },
  ],
  [
    resetTotp,
    async of => {
      const { as, secret } = await withKey(of, true);
      return both(as, { totpCode: codeOf(secret) });
    },
  ],
  [
    deleteTotpDevice,
    async of => {
      const { as, identity } = await signedIn(of);
      return both(as, { deviceIdentity: identity });
    },
  ],
  [
    updateOauth,
    async of => {
      const { as, email } = await signedIn(of);
      const linking = (sub: string) => [{ email }, { ...as, identityToken: p.token({ email, sub }) }] as const;
      return [linking('home'), linking('work')];
    },
  ],
  [
    clearOauth,
    async of => {
      const { as, email } = await signedIn(of);
      return both(as, { provider: 'idp', providerId: email });
    },
  ],
  [
    passwordLogin,
    async of => {
      const { email } = await signedIn(of);
      return both({ merchantId: 0 }, { email, password: passwords[0] });
    },
  ],
  [
    oauthLogin,
    async of => {
      const { person } = await signedIn(of);
      return both({ ...key(of), identityToken: p.token(person) }, { email: person.email });
    },
  ],
  [
    passwordSetup,
    async of => {
      const { email, setupToken } = await p.invited(of.merchantId);
      return both({ merchantId: 0 }, { email, setupToken, newPassword: passwords[0] });
    },
  ],
  [
    oauthSetup,
    async of => {
      const { email, setupToken } = await p.invited(of.merchantId);
      return both({ ...key(of), identityToken: p.token({ email }) }, { email, setupToken });
    },
  ],
];

/** Commands on users. */
const ofUsers: readonly (readonly [Operation, Calls])[] = [
  [newUser, async of => both(key(of), { email: 'one@example.com' }, { email: 'One@example.com', firstName: 'Ann' })],
  [
    updateUser,
    async of => {
      const userId = await userOf(of);
      return both(key(of), { userId, firstName: 'Ann' }, { userId, lastName: 'Lee', city: 'Rome' });
    },
  ],
  [
    changeUserEmail,
    async of => {
      const userId = await userOf(of);
      return both(key(of), { userId, email: 'a@example.com' }, { userId, email: 'b@example.com' });
    },
  ],
  [
    changeUserGateway,
    async of => {
      const [userId] = [await userOf(of), await gatewaysOf(of)];
      return both(key(of), { userId, gatewayId: 3 }, { userId, gatewayId: 4 });
    },
  ],
  [suspendUser, async of => both(key(of), { userId: await userOf(of) })],
  [
    resumeUser,
    async of => {
      const userId = await userOf(of);
      await p.t.done(suspendUser, { userId }, key(of));
      return both(key(of), { userId });
    },
  ],
  [
    newSession,
    async of => {
      const email = 'one@example.com';
      return both(key(of), { email, firstName: 'Ann' }, { email, firstName: 'Ann', lastName: 'Lee' });
    },
  ],
];

/** The gateway's caller for a user of the hosted pages. */
const visitor = (of: Merchant, userId: number): As => ({
  merchantId: of.merchantId,
  actor: { kind: 'user', id: String(userId), display: 'one@example.com' },
});

/** Commands of users on the hosted pages. */
const ofPages: readonly (readonly [Operation, Calls])[] = [
  [
    portalSessionExchange,
    async of => {
      const { clientSession } = await p.t.done(newSession, { email: 'one@example.com' }, key(of));
      return both({ merchantId: 0 }, { clientSession });
    },
  ],
  [
    portalUserUpdate,
    async of => both(visitor(of, await userOf(of)), { firstName: 'Ann' }, { lastName: 'Lee', city: 'Rome' }),
  ],
];

/** These only add a row to what is never removed. */
const additions = ['user.new_admin_note', 'session.customer_portal_url', 'session.user_sub_update_url'];

/** Codes by e-mail belong to no merchant: mailed-codes/ tries one code many times at once. */
const elsewhere = [
  'auth.login_otp',
  'auth.login_otp_verify',
  'auth.password_forget_otp',
  'auth.password_forget_otp_verify',
];

const tables = [
  'merchants',
  'members',
  'member_emails',
  'roles',
  'api_keys',
  'api_key_lookups',
  'auth_providers',
  'member_totps',
  'oauth_accounts',
  'setup_tokens',
  'member_sessions',
  'live_sessions',
  'users',
  'client_sessions',
];
/** Ids, secrets and their hashes, and what is made of random e-mails. */
const unlike = [
  'id',
  'merchant_id',
  'member_id',
  'user_id',
  'role_ids',
  'sid',
  'subject',
  'identity',
  'jti_hash',
  'hint',
  'email_hash',
  'token_hash',
  'session_hash',
  'password_hash',
  'sealed_key',
  'pending_key',
  'recovery_hashes',
];
/** The e-mails of owners and invited members are random. */
const named = (state: object) => JSON.parse(JSON.stringify(state).replaceAll(/(owner|member)-[\w-]+@/g, '$1@'));

const commands = [...administration, ...accounts, ...ofUsers, ...ofPages];

describe('a command that reads before it writes, twice at once', () => {
  it.each(commands.map(([operation, calls]) => ({ name: operation.name, operation, calls })))(
    '$name: ends as if one had come after the other',
    async ({ operation, calls }) => {
      const found = await unserializable(async () => {
        const merchant = await p.merchant();
        const [[one, as], [other, asOther]] = await calls(merchant);
        return {
          commands: [() => p.call(operation, one, as), () => p.call(operation, other, asOther)],
          state: async () =>
            named(await merchantState(p.t, merchant.merchantId, { tables, unlike, shared: ['callers'] })),
        };
      });
      expect(found).toEqual([]);
    },
  );

  it('is each of the service', () => {
    const all = operations.filter(({ service, effect }) => service === 'identity' && effect === 'write');
    expect([...commands.map(([{ name }]) => name), ...additions, ...elsewhere].sort()).toEqual(
      all.map(({ name }) => name).sort(),
    );
  });
});
