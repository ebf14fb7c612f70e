import { z } from 'zod';
import { Empty, text } from './field.js';
import { filled, filledKey, httpUrl, line, list, newPassword, prose, rule } from './input.js';
import { operation } from './operation.js';
import { AuthProvider, signatureAlgorithms } from './shapes/auth-provider.js';
import { MerchantMember } from './shapes/member.js';

const identityTokenHeaders = ['X-Auth-JS-Token', 'X-Auth-Token', 'X-OAuth-Token'];
const signedIn = z.object({ merchantMember: MerchantMember, token: text });

export const oauthLogin = operation({
  service: 'identity',
  name: 'auth.oauth_login',
  methods: ['POST'],
  path: '/merchant/auth/sso/oauth/login',
  summary: 'Sign a member in with an identity token of an external OAuth provider',
  effect: 'write',
  permission: 'my-account.access',
  oneOfHeaders: identityTokenHeaders,
  signIn: true,
  input: z.object({ email: filled, totpCode: line.optional() }),
  output: signedIn,
  errors: ['totp_required', 'totp_locked'],
  secretOutput: true,
});

export const oauthSetup = operation({
  service: 'identity',
  name: 'auth.oauth_setup',
  methods: ['POST'],
  path: '/merchant/auth/sso/oauth/setup',
  summary: 'Complete the setup of an invited member: link the external identity and, if given, set a password',
  effect: 'write',
  permission: 'my-account.access',
  oneOfHeaders: identityTokenHeaders,
  signIn: true,
  input: z.object({ email: filled, setupToken: filled, newPassword: newPassword.optional() }),
  output: signedIn,
  errors: ['oauth_account_taken'],
  secretOutput: true,
});

export const passwordLogin = operation({
  service: 'identity',
  name: 'auth.login',
  methods: ['POST'],
  path: '/merchant/auth/sso/login',
  summary: 'Sign a member in with e-mail and password; it needs no API key',
  effect: 'write',
  permission: 'my-account.access',
  anonymous: true,
  signIn: true,
  input: z.object({
    email: filled,
    // spaces alone can be a password
    password: rule(line, 'may not be empty', value => value !== ''),
    provider: line.optional().describe('Changes nothing: an identity is linked by its token alone'),
    providerId: line.optional().describe('Changes nothing, like provider'),
    totpCode: line.optional(),
    merchantId: z
      .int()
      .optional()
      .describe('Needed only where the e-mail and password fit members of several merchants, which 51 then lists'),
  }),
  output: signedIn,
  errors: ['totp_required', 'totp_locked'],
  secretOutput: true,
});

export const passwordSetup = operation({
  service: 'identity',
  name: 'auth.password_setup',
  methods: ['POST'],
  path: '/merchant/auth/sso/passwordSetup',
  summary: 'Complete the setup of an invited member with a password; it needs no API key',
  effect: 'write',
  permission: 'my-account.access',
  anonymous: true,
  signIn: true,
  input: z.object({
    email: filled,
    setupToken: filled,
    newPassword,
    merchantId: z.int().optional().describe('Needed only where more than eight merchants have the e-mail'),
  }),
  output: signedIn,
  errors: [],
  secretOutput: true,
});

/** A secret shared with a provider: as long as its hash at least (RFC 7518 §3.2). */
const sharedSecret = line.min(32);
const keys = {
  jwksUrl: httpUrl.optional().describe('Where the provider publishes its public keys'),
  publicKey: prose.optional().describe('PEM, SubjectPublicKeyInfo'),
  secret: sharedSecret.optional().describe('Shared with the provider, for HS256, HS384 and HS512'),
  authJsSecret: sharedSecret.optional().describe('AUTH_SECRET of an Auth.js application'),
};
const settings = {
  name: line.optional().describe('Shown with linked accounts; by default the issuer'),
  algorithms: list(z.enum(signatureAlgorithms), signatureAlgorithms.length)
    .optional()
    .describe('Those that a token may be signed with; by default RS256, HS256, or what fits publicKey'),
  authJsSalt: line.optional().describe('Name of the session cookie; by default authjs.session-token'),
};
const given = ({ jwksUrl, publicKey, secret, authJsSecret }: Partial<Record<keyof typeof keys, string>>) =>
  [jwksUrl, publicKey, secret, authJsSecret].filter(key => key !== undefined).length;

export const listAuthProviders = operation({
  service: 'identity',
  name: 'auth.provider_list',
  methods: ['GET'],
  path: '/merchant/auth/provider/list',
  summary: 'The identity providers of the merchant, newest first; secrets are masked',
  effect: 'read',
  permission: 'configuration.read',
  input: z.object({}),
  output: z.object({ authProviders: z.array(AuthProvider) }),
  errors: [],
});

export const newAuthProvider = operation({
  service: 'identity',
  name: 'auth.provider_new',
  methods: ['POST'],
  path: '/merchant/auth/provider/new',
  summary: "Trust an identity provider to identify the merchant's members",
  effect: 'write',
  permission: 'admin.write',
  input: rule(
    z.object({
      ...settings,
      ...keys,
      issuer: filledKey.describe('The iss of its tokens; of Auth.js, whose tokens have none, a name of your own'),
      audience: line.default('').describe('The aud of its tokens; required but for Auth.js'),
    }),
    'must have one of jwksUrl, publicKey, secret and authJsSecret, and an audience but with the last',
    input => given(input) === 1 && (input.authJsSecret !== undefined || input.audience.trim() !== ''),
  ),
  output: z.object({ authProvider: AuthProvider }),
  errors: ['too_many_auth_providers'],
  secretInput: true,
});

export const editAuthProvider = operation({
  service: 'identity',
  name: 'auth.provider_edit',
  methods: ['POST'],
  path: '/merchant/auth/provider/edit',
  summary: 'Change the fields that are sent; another key or issuer unlinks the accounts that the provider has linked',
  effect: 'write',
  permission: 'admin.write',
  input: rule(
    z.object({
      authProviderId: z.int(),
      ...settings,
      ...keys,
      issuer: filledKey.optional(),
      audience: line.optional(),
    }),
    'must have at most one of jwksUrl, publicKey, secret and authJsSecret',
    input => given(input) <= 1,
  ),
  output: z.object({ authProvider: AuthProvider }),
  errors: ['auth_provider_not_found'],
  secretInput: true,
});

export const deleteAuthProvider = operation({
  service: 'identity',
  name: 'auth.provider_delete',
  methods: ['POST'],
  path: '/merchant/auth/provider/delete',
  summary: 'Stop trusting an identity provider; accounts that it has linked can no longer sign in with it',
  effect: 'write',
  permission: 'admin.write',
  input: z.object({ authProviderId: z.int() }),
  output: Empty,
  errors: ['auth_provider_not_found'],
});

export const updateOauth = operation({
  service: 'identity',
  name: 'member.update_oauth',
  methods: ['POST'],
  path: '/merchant/member/update_oauth',
  summary: 'Link the identity of a token to your own account',
  effect: 'write',
  permission: 'my-account.write',
  memberOnly: true,
  oneOfHeaders: identityTokenHeaders,
  input: z.object({ email: filled.describe('That of the token') }),
  output: z.object({ merchantMember: MerchantMember }),
  errors: ['oauth_account_taken'],
});

export const clearOauth = operation({
  service: 'identity',
  name: 'member.clear_oauth',
  methods: ['POST'],
  path: '/merchant/member/clear_oauth',
  summary: 'Unlink an external identity from your own account',
  effect: 'write',
  permission: 'my-account.write',
  memberOnly: true,
  input: z.object({ provider: filled, providerId: filled }),
  output: z.object({ merchantMember: MerchantMember }),
  errors: ['oauth_account_not_found', 'last_way_in'],
});
