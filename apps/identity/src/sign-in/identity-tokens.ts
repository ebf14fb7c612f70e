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

const limits = { leewaySeconds: 60, subject: 255, text: 2_000 } as const;

/** Who a token says that somebody is. */
export interface Identity {
  issuer: string;
  subject: string;
  provider: string;
  email: string;
  emailVerified: boolean;
  name: string;
  image: string;
}

/** A token and what it is to be verified with; `provider` is none where it fits nobody. */
interface Candidate {
  token: string;
  provider: Provider | undefined;
  key: CryptoKey | KeyObject | Uint8Array | undefined;
}

/**
 * Verifies the identity tokens of external providers. A token chooses neither its algorithm nor its key: its `iss` only
 * says which provider to measure it by. One that fits no provider costs the same as one that does.
 */
@Injectable()
export class IdentityTokens {
  /** How many were verified, whatever came of it. */
  verifications = 0;
  private decoy: Promise<Candidate> | undefined;

  constructor(
    private readonly keySets: KeySets,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /**
   * The identity that a token shows, if one of the providers has issued it to us, it holds, and its e-mail is `email`;
   * else undefined, whatever is wrong. Rejects `dependency_away` where the provider's keys are not to be had.
   */
  async verify(providers: readonly Provider[], token: string, email: string): Promise<Identity | undefined> {
    try {
      const candidate = await this.candidate(providers, token);
      const claims = await this.opened(candidate ?? (await this.anyOther()));
      if (candidate?.provider === undefined) throw new Error('no provider has issued it');
      return identityIn(claims, candidate.provider, email, this.clock.wall() / 1000);
    } catch (error) {
      if (error instanceof Rejected) throw error;
      this.log.debug({ reason: error instanceof Error ? error.message : '' }, 'an identity token was refused');
      return undefined;
    }
  }

  /** The provider whose the token seems to be, and the key that would have to verify it; undefined where there is none. */
  private async candidate(providers: readonly Provider[], token: string): Promise<Candidate | undefined> {
    // decoders forgive what is no base64url, and so would let one token be written in many ways
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

  /** The one place where a token's cryptography is done. */
  private async opened({ token, provider, key }: Candidate): Promise<JWTPayload> {
    this.verifications++;
    if (key === undefined) {
      const { secret = '', authJsSalt = '' } = provider ?? {};
      return (await decodeAuthJs({ token, secret, salt: authJsSalt })) as JWTPayload;
    }
    const { payload } = await jwtVerify(token, key, {
      algorithms: [...(provider?.algorithms ?? ['ES256'])],
      clockTolerance: limits.leewaySeconds,
      currentDate: new Date(this.clock.wall()),
    });
    return payload;
  }

  /** What is verified in place of a token that fits nobody. */
  private anyOther(): Promise<Candidate> {
    this.decoy ??= generateKeyPair('ES256').then(async ({ publicKey, privateKey }) => ({
      token: await new SignJWT({}).setProtectedHeader({ alg: 'ES256' }).sign(privateKey),
      provider: undefined,
      key: publicKey,
    }));
    return this.decoy;
  }
}

/** A part of a token as the object that it holds; undefined where it is none, or has two members of one name. */
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

/** Parameters by which a token would bring its own key, or change how it is read. */
const refusedParameters = ['jku', 'jwk', 'x5u', 'x5c', 'crit', 'b64', 'zip', 'enc'];

/** Whether a header is that of an identity token which the provider may have signed. */
const isPlain = ({ alg, typ, kid, ...more }: Record<string, unknown>, { algorithms }: Provider): boolean =>
  typeof alg === 'string' &&
  algorithms.some(algorithm => algorithm === alg) &&
  (typ === undefined || (typeof typ === 'string' && typ.toUpperCase() === 'JWT')) &&
  (kid === undefined || typeof kid === 'string') &&
  !refusedParameters.some(name => name in more);

/** The identity in claims that are verified. Throws where they are not meant for us, or do not hold now. */
function identityIn(claims: JWTPayload, provider: Provider, email: string, now: number): Identity {
  const { iss, aud, sub, exp, nbf, iat, email_verified: verified = true, ...told } = claims;
  const isAuthJs = provider.keySource === 'authJs';
  const audiences = Array.isArray(aud) ? aud : [aud];
  const isOurs = audiences.length === 1 && audiences[0] === provider.audience;
  // what Auth.js encrypts for itself names neither; where it does, it counts
  if (!(isAuthJs && iss === undefined) && iss !== provider.issuer) throw new Error('another issuer');
  if (!(isAuthJs && aud === undefined) && !isOurs) throw new Error('another audience');
  if (!isNumber(exp) || exp + limits.leewaySeconds <= now) throw new Error('expired');
  for (const from of [nbf ?? 0, iat ?? 0]) {
    if (!isNumber(from) || from - limits.leewaySeconds > now) throw new Error('not valid yet');
  }
  if (typeof sub !== 'string' || sub === '' || sub.length > limits.subject || !isStorable(sub)) {
    throw new Error('no subject');
  }
  if (verified !== true) throw new Error('the e-mail is not verified');
  if (typeof told.email !== 'string' || !sameEmail(told.email, email)) throw new Error('another e-mail');
  return {
    issuer: provider.issuer,
    subject: sub,
    provider: provider.name,
    email: told.email.trim(),
    emailVerified: claims.email_verified === true,
    name: textOf(told.name),
    image: textOf(told.picture),
  };
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

/** What PostgreSQL can store as text. */
const isStorable = (value: string) => /^[^\0\p{Cs}]*$/u.test(value);

/** What is only shown: a text that can be stored, or nothing. */
const textOf = (value: unknown): string =>
  typeof value === 'string' && value.length <= limits.text && isStorable(value) ? value : '';
