import { createPublicKey } from 'node:crypto';
import { everything, type In, type KeySource, type newAuthProvider, type SignatureAlgorithm } from '@recur/contracts';
import { invalid } from '@recur/kernel';
import type { AuthProviderRow } from './tables.js';

/** A provider as it verifies tokens; `secret` is decrypted: of HS256, HS384, HS512 or Auth.js. */
export interface Provider
  extends Pick<
    AuthProviderRow,
    | 'merchantId'
    | 'id'
    | 'name'
    | 'issuer'
    | 'audience'
    | 'keySource'
    | 'algorithms'
    | 'jwksUrl'
    | 'publicKey'
    | 'authJsSalt'
    | 'granted'
    | 'version'
  > {
  secret: string;
  /** True for the deployment's provider, which only operators set; false for a merchant's own. */
  isDeployments: boolean;
}

/** The default session cookie of Auth.js; its name salts the encryption of the token. */
export const defaultSalt = 'authjs.session-token';

/** The key source of the settings sent; undefined if no key is sent. */
export function keySourceOf(sent: Partial<In<typeof newAuthProvider>>): KeySource | undefined {
  if (sent.jwksUrl !== undefined) return 'jwks';
  if (sent.publicKey !== undefined) return 'publicKey';
  if (sent.secret !== undefined) return 'secret';
  return sent.authJsSecret === undefined ? undefined : 'authJs';
}

/** The deployment's provider from its settings. Rejects `invalid_parameters` if its key is unusable. */
export function deploymentProvider(settings: In<typeof newAuthProvider>): Provider {
  const { issuer, audience, name, jwksUrl = '', publicKey = '', secret, authJsSecret, authJsSalt } = settings;
  const keySource = keySourceOf(settings) ?? 'jwks';
  return {
    merchantId: 0,
    id: 0,
    name: name || issuer,
    issuer,
    audience,
    keySource,
    jwksUrl,
    publicKey,
    algorithms: chosenAlgorithms({ keySource, publicKey }, settings.algorithms),
    secret: secret ?? authJsSecret ?? '',
    authJsSalt: authJsSalt || defaultSalt,
    granted: everything,
    version: 0,
    isDeployments: true,
  };
}

/** The signature algorithms accepted: as requested, else the former ones that fit the key, else the key's default. */
export function chosenAlgorithms(
  { keySource, publicKey }: Pick<Provider, 'keySource' | 'publicKey'>,
  asked: readonly SignatureAlgorithm[] = [],
  before: readonly SignatureAlgorithm[] = [],
): SignatureAlgorithm[] {
  const fitting = fittingAlgorithms(keySource, publicKey);
  const wrong = asked.filter(algorithm => !fitting.includes(algorithm));
  if (wrong.length > 0) throw invalid('/algorithms', `algorithms: ${wrong.join(', ')} does not fit the key`);
  if (asked.length > 0) return [...new Set(asked)];
  const kept = before.filter(algorithm => fitting.includes(algorithm));
  return kept.length > 0 ? kept : fitting.slice(0, 1);
}

const rsa: readonly SignatureAlgorithm[] = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
const ofCurves: Readonly<Record<string, SignatureAlgorithm>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

/** The algorithms that fit a key, default first; never an HMAC for a public key. */
function fittingAlgorithms(source: KeySource, pem: string): readonly SignatureAlgorithm[] {
  if (source === 'authJs') return [];
  if (source === 'secret') return ['HS256', 'HS384', 'HS512'];
  if (source === 'jwks') return [...rsa, ...Object.values(ofCurves), 'EdDSA'];
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = publicKeyIn(pem);
  const ofCurve = ofCurves[details?.namedCurve ?? ''];
  if (type === 'rsa' && (details?.modulusLength ?? 0) >= 2048) return rsa;
  if (type === 'ed25519') return ['EdDSA'];
  if (ofCurve !== undefined) return [ofCurve];
  throw invalid('/publicKey', 'publicKey must be an RSA key of 2048 bits or more, Ed25519, P-256, P-384 or P-521');
}

function publicKeyIn(pem: string) {
  try {
    if (pem.trim().startsWith('-----BEGIN PUBLIC KEY-----')) return createPublicKey(pem);
  } catch {
    // refused below
  }
  throw invalid('/publicKey', 'publicKey must be a PEM text that begins with -----BEGIN PUBLIC KEY-----');
}
