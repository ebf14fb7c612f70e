import { z } from 'zod';
import { Empty, integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';

/** Where the key comes from that verifies a provider's identity tokens. */
export const keySources = ['jwks', 'publicKey', 'secret', 'authJs'] as const;
export type KeySource = (typeof keySources)[number];

/** The algorithms that an identity token may be signed with; a provider allows some of those that fit its key. */
export const signatureAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'HS256',
  'HS384',
  'HS512',
] as const;
export type SignatureAlgorithm = (typeof signatureAlgorithms)[number];

const authProvider = z.object({
  id: integer,
  merchantId: integer,
  name: text,
  issuer: text,
  audience: text,
  keySource: text.describe('jwks, publicKey, secret or authJs'),
  algorithms: z.array(text).describe('Of signatures; empty for authJs, whose tokens are encrypted'),
  jwksUrl: text,
  publicKey: text,
  secret: text.describe('Masked; empty where the key is no secret'),
  authJsSalt: text,
  createTime: time,
});
export interface AuthProvider extends z.output<typeof authProvider> {}
export const AuthProvider: Shape<AuthProvider> = authProvider.meta({ id: 'AuthProvider' });

/** A secret shared with a provider: as long as its hash at least (RFC 7518 §3.2). */
const sharedSecret = input.line.min(32);
const keys = {
  jwksUrl: input.httpUrl.optional().describe('Where the provider publishes its public keys'),
  publicKey: input.prose.optional().describe('PEM, SubjectPublicKeyInfo'),
  secret: sharedSecret.optional().describe('Shared with the provider, for HS256, HS384 and HS512'),
  authJsSecret: sharedSecret.optional().describe('AUTH_SECRET of an Auth.js application'),
};
const settings = {
  name: input.line.optional().describe('Shown with linked accounts; by default the issuer'),
  algorithms: input
    .list(z.enum(signatureAlgorithms), signatureAlgorithms.length)
    .optional()
    .describe('Those that a token may be signed with; by default RS256, HS256, or what fits publicKey'),
  authJsSalt: input.line.optional().describe('Name of the session cookie; by default authjs.session-token'),
};
const given = ({ jwksUrl, publicKey, secret, authJsSecret }: Partial<Record<keyof typeof keys, string>>) =>
  [jwksUrl, publicKey, secret, authJsSecret].filter(key => key !== undefined).length;

export const listAuthProviders = operation({
  service: 'identity',
  name: 'auth.provider_list',
  methods: ['GET', 'POST'],
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
  summary: "Trust an identity provider to tell who the merchant's members are",
  effect: 'write',
  permission: 'configuration.write',
  input: input.rule(
    z.object({
      ...settings,
      ...keys,
      issuer: input.filledKey.describe('The iss of its tokens; of Auth.js, whose tokens have none, a name of your own'),
      audience: input.line.default('').describe('The aud of its tokens; required but for Auth.js'),
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
  summary: 'Change the fields that are sent; another key replaces the one before, whatever its kind',
  effect: 'write',
  permission: 'configuration.write',
  input: input.rule(
    z.object({
      authProviderId: z.int(),
      ...settings,
      ...keys,
      issuer: input.filledKey.optional(),
      audience: input.line.optional(),
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
  summary: 'Trust an identity provider no longer; accounts that it has linked stay, and cannot sign in',
  effect: 'write',
  permission: 'configuration.write',
  input: z.object({ authProviderId: z.int() }),
  output: Empty,
  errors: ['auth_provider_not_found'],
});
