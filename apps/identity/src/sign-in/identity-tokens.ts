import { createPublicKey, type KeyObject } from 'node:crypto';
import { decode as decodeAuthJs } from '@auth/core/jwt';
import { Inject, Injectable } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import { CLOCK, type Clock, LOG, type Log } from '@recur/platform';
import { type CryptoKey, generateKeyPair, type JWSHeaderParameters, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { sameEmail } from '../domain/email.js';
import { hasNameTwice } from './domain/json-names.js';
import { KeySets } from './key-sets.js';
import type { Provider } from './provider-keys.js';

const leewaySeconds = 60;
const maxLengths = { subject: 255, text: 2_000 } as const;

/** The identity that a verified token asserts. */
export interface Identity {
  issuer: string;
  subject: string;
  provider: string;
  email: string;
  emailVerified: boolean;
  name: string;
  image: string;
  /** The provider that verified the token. */
  source: Provider;
}

/** A token with its verification key; without a provider for the decoy. */
interface Candidate {
  token: string;
  provider: Provider | undefined;
  key: CryptoKey | KeyObject | Uint8Array | undefined;
}

/**
 * Verifies the identity tokens of external providers. A token chooses neither its algorithm nor its key: its `iss` only
 * selects the provider. A token that fits no provider costs the same as one that does (no timing oracle).
 */
@Injectable()
export class IdentityTokens {
  /** Number of verifications so far, successful or not. */
  verifications = 0;
  private decoy: Promise<Candidate> | undefined;

  constructor(
    private readonly keySets: KeySets,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /**
   * The identity of a valid token that one of the providers issued to us for this e-mail; undefined otherwise, whatever
   * the reason. Rejects `dependency_away` if the provider's keys cannot be fetched.
   */
  async verify(providers: readonly Provider[], token: string, email: string): Promise<Identity | undefined> {
    try {
      const candidate = await this.candidate(providers, token);
      const claims = await this.opened(candidate ?? (await this.decoyToken()));
      if (candidate?.provider === undefined) throw new Error('no provider has issued it');
      return identityIn(claims, candidate.provider, email, this.clock.wall() / 1000);
    } catch (error) {
      if (error instanceof Rejected) throw error;
      this.log.debug({ reason: error instanceof Error ? error.message : '' }, 'an identity token was refused');
      return undefined;
    }
  }

  /** The provider that the token names, with the key to verify it; undefined if there is none. */
  private async candidate(providers: readonly Provider[], token: string): Promise<Candidate | undefined> {
    // decoders tolerate characters outside base64url, which would give one token many spellings
    const parts = /^[\w.-]+$/.test(token) ? token.split('.') : [];
    if (parts.length === 5) {
      const provider = providers.find(({ keySource }) => keySource === 'authJs');
      return provider && { token, provider, key: undefined };
    }
    const [header, claims] = parts.length === 3 ? [objectIn(parts[0]), objectIn(parts[1])] : [];
    const provider = providers.find(({ issuer, keySource }) => keySource !== 'authJs' && issuer === claims?.iss);
    if (header === undefined || provider === undefined || !isPlain(header, provider)) return undefined;
    const key = await this.keyOf(provider, header as JWSHeaderParameters);
    return key && { token, provider, key };
  }

  private keyOf(provider: Provider, header: JWSHeaderParameters) {
    if (provider.keySource === 'publicKey') return createPublicKey(provider.publicKey);
    if (provider.keySource === 'secret') return new TextEncoder().encode(provider.secret);
    return this.keySets.find({ ...provider, url: provider.jwksUrl }, header);
  }

  /** Verifies or decrypts a token; the only place that does. */
  private async opened({ token, provider, key }: Candidate): Promise<JWTPayload> {
    this.verifications++;
    if (key === undefined) {
      const { secret = '', authJsSalt = '' } = provider ?? {};
      return (await decodeAuthJs({ token, secret, salt: authJsSalt })) as JWTPayload;
    }
    const { payload } = await jwtVerify(token, key, {
      algorithms: [...(provider?.algorithms ?? ['ES256'])],
      clockTolerance: leewaySeconds,
      currentDate: new Date(this.clock.wall()),
    });
    return payload;
  }

  /** A token of our own to verify in place of one that fits no provider. */
  private decoyToken(): Promise<Candidate> {
    this.decoy ??= generateKeyPair('ES256').then(async ({ publicKey, privateKey }) => ({
      token: await new SignJWT({}).setProtectedHeader({ alg: 'ES256' }).sign(privateKey),
      provider: undefined,
      key: publicKey,
    }));
    return this.decoy;
  }
}

/** The JSON object in a part of a token; undefined if it is none or has duplicate names. */
function objectIn(part = ''): Record<string, unknown> | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(part, 'base64url'));
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject && !hasNameTwice(text) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Header parameters with which a token would bring its own key, or change how it is read. */
const refusedParameters = ['jku', 'jwk', 'x5u', 'x5c', 'crit', 'b64', 'zip', 'enc'];

/** True if a header is plain: an algorithm of the provider, and no parameter beyond the known ones. */
const isPlain = ({ alg, typ, kid, ...more }: Record<string, unknown>, { algorithms }: Provider): boolean =>
  typeof alg === 'string' &&
  algorithms.some(algorithm => algorithm === alg) &&
  (typ === undefined || (typeof typ === 'string' && typ.toUpperCase() === 'JWT')) &&
  (kid === undefined || typeof kid === 'string') &&
  !refusedParameters.some(name => name in more);

/** The identity in verified claims. Throws if they are not meant for us or not valid now. */
function identityIn(claims: JWTPayload, provider: Provider, email: string, now: number): Identity {
  const { iss, aud, sub, exp, nbf, iat, email_verified: verified = true, ...profile } = claims;
  const isAuthJs = provider.keySource === 'authJs';
  const audiences = Array.isArray(aud) ? aud : [aud];
  const isOurs = audiences.length === 1 && audiences[0] === provider.audience;
  // tokens of Auth.js usually have neither; if present they must match
  if (!(isAuthJs && iss === undefined) && iss !== provider.issuer) throw new Error('another issuer');
  if (!(isAuthJs && aud === undefined) && !isOurs) throw new Error('another audience');
  if (!isNumber(exp) || exp + leewaySeconds <= now) throw new Error('expired');
  for (const from of [nbf ?? 0, iat ?? 0]) {
    if (!isNumber(from) || from - leewaySeconds > now) throw new Error('not valid yet');
  }
  if (typeof sub !== 'string' || sub === '' || sub.length > maxLengths.subject || !isStorable(sub)) {
    throw new Error('no subject');
  }
  if (verified !== true) throw new Error('the e-mail is not verified');
  if (typeof profile.email !== 'string' || !sameEmail(profile.email, email)) throw new Error('another e-mail');
  return {
    issuer: provider.issuer,
    subject: sub,
    provider: provider.name,
    email: profile.email.trim(),
    emailVerified: claims.email_verified === true,
    name: claimText(profile.name),
    image: claimText(profile.picture),
    source: provider,
  };
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

/** True if PostgreSQL can store the value as text. */
const isStorable = (value: string) => /^[^\0\p{Cs}]*$/u.test(value);

/** A display-only claim: a storable text, or ''. */
const claimText = (value: unknown): string =>
  typeof value === 'string' && value.length <= maxLengths.text && isStorable(value) ? value : '';
