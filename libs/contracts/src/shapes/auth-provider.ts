import { z } from 'zod';
import { integer, type Shape, text, time } from '../field.js';

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
