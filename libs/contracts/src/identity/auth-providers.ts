import { z } from 'zod';
import { Empty, integer, type Shape, text, time } from '../field.js';
import * as input from '../input.js';
import { operation } from '../operation.js';

/** Sources of the key that verifies a provider's identity tokens. */
export const keySources = ['jwks', 'publicKey', 'secret', 'authJs'] as const;
export type KeySource = (typeof keySources)[number];

/** Signature algorithms of identity tokens; a provider accepts a subset that fits its key. */
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
  algorithms: z.array(text).describe('Accepted signature algorithms; empty for authJs, whose tokens are encrypted'),
  jwksUrl: text,
  publicKey: text,
  secret: text.describe('Masked; empty if the key is not a secret'),
  authJsSalt: text,
  createTime: time,
});
export interface AuthProvider extends z.output<typeof authProvider> {}
export const AuthProvider: Shape<AuthProvider> = authProvider.meta({ id: 'AuthProvider' });

/** A secret shared with a provider, at least as long as its hash (RFC 7518 §3.2). */
const sharedSecret = input.line.min(32);
const keys = {
  jwksUrl: input.httpUrl.optional().describe("URL of the provider's public keys"),
  publicKey: input.prose.optional().describe('PEM, SubjectPublicKeyInfo'),
  secret: sharedSecret.optional().describe('Shared with the provider, for HS256, HS384 and HS512'),
  authJsSecret: sharedSecret.optional().describe('AUTH_SECRET of an Auth.js application'),
};
const settings = {
  name: input.line.optional().describe('Shown with linked accounts; defaults to the issuer'),
  algorithms: input
    .list(z.enum(signatureAlgorithms), signatureAlgorithms.length)
    .optional()
    .describe('Accepted signature algorithms; defaults to RS256, HS256 or the one that fits publicKey'),
  authJsSalt: input.line.optional().describe('Name of the session cookie; defaults to authjs.session-token'),
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
  summary: 'Add an identity provider trusted to sign members in',
  effect: 'write',
  permission: 'admin.write',
  input: input.rule(
    z.object({
      ...settings,
      ...keys,
      issuer: input.filledKey.describe('The iss of its tokens; for Auth.js, whose tokens have none, any name'),
      audience: input.line.default('').describe('The aud of its tokens; required except for Auth.js'),
    }),
    'must have exactly one of jwksUrl, publicKey, secret and authJsSecret, and an audience unless it is authJsSecret',
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
  summary: 'Update the fields sent; a different key or issuer unlinks the accounts that the provider has linked',
  effect: 'write',
  permission: 'admin.write',
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
  summary: 'Remove an identity provider; accounts that it has linked can no longer sign in with it',
  effect: 'write',
  permission: 'admin.write',
  input: z.object({ authProviderId: z.int() }),
  output: Empty,
  errors: ['auth_provider_not_found'],
});
