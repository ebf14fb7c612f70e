import { createHash, hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { type Actor, allows, anyUser, type Operation } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { CLOCK, type Clock, CONFIG, LOG, type Log } from '@recur/platform';
import { decodeProtectedHeader, type JWK, type JWTPayload, jwtVerify } from 'jose';
import type { GatewayConfig } from '../config.js';
import { gatewayLimits } from '../limits.js';
import { Callers, type PublicKeys } from './callers.js';
import type { SignedInMember } from './signed-in.js';

/** The verified sender of a request. */
export type Principal = KeyHolder | Member | User;

interface KeyHolder {
  kind: 'key';
  /** SHA-256 of the jti, base64url: its rate is counted under this, and it is revoked by it. */
  id: string;
  merchantId: number;
  actor: Actor;
}

interface Member {
  kind: 'member';
  /** The session; its rate is counted under it. */
  id: string;
  merchantId: number;
  actor: Actor;
  /** Permissions of its roles, as last received from identity. */
  grant: string;
}

/** A user of a merchant on the hosted pages. */
interface User {
  kind: 'user';
  /** The client session that its token is of. */
  id: string;
  merchantId: number;
  actor: Actor;
}

/**
 * An API key acts as the owner, except for members' own affairs. A member may do what its roles permit. A user may call
 * what is for users, and nobody else may.
 */
export function mayCall(principal: Principal, { permission, memberOnly }: Operation): boolean {
  if (principal.kind === 'user' || permission === anyUser) return principal.kind === 'user' && permission === anyUser;
  if (principal.kind === 'key') return memberOnly === undefined;
  return allows(principal.grant, permission);
}

/** A verified credential: only its first use costs a signature check. */
interface Proof {
  principal: Principal;
  /** The member at the time of verification; once it has changed, the token is verified again. */
  member?: SignedInMember;
  /** The public keys it was verified with; once they change, it is verified again. */
  keys: PublicKeys;
  expiresMs: number;
}
type Shown = Pick<Proof, 'principal' | 'member'>;

const kinds = ['api-key+jwt', 'member+jwt', 'user+jwt'] as const;
type Kind = (typeof kinds)[number];
const isKind = (typ: unknown): typ is Kind => kinds.some(kind => kind === typ);

/** The scheme may be missing: clients of this API family send the bare token. */
const bearer = /^(?:Bearer +)?([\w-]+\.[\w-]+\.[\w-]+)$/i;

/** The token of an Authorization header, however the header spells its scheme. */
const tokenIn = (authorization: string | undefined) => bearer.exec(authorization ?? '')?.[1];

/** True if a part of a token is base64url as an encoder writes it: other last characters may decode to the same bytes. */
const isCanonical = (part: string) => Buffer.from(part, 'base64url').toString('base64url') === part;

/** Verifies credentials. The answer is the same whatever is wrong with one. */
@Injectable()
export class Credentials {
  /** By digest of the token, since credentials themselves are not kept; in order of last use. */
  private readonly proofs = new Map<string, Proof>();

  constructor(
    private readonly callers: Callers,
    @Inject(CONFIG) private readonly config: GatewayConfig,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** The caller, when this Authorization header was verified before and still holds. */
  remembered(authorization: string): Principal | undefined {
    const token = tokenIn(authorization);
    if (token === undefined) return undefined;
    const digest = hash('sha256', token, 'base64');
    const proof = this.proofs.get(digest);
    if (proof === undefined) return undefined;
    this.proofs.delete(digest);
    if (proof.keys !== this.callers.keys || proof.expiresMs <= this.clock.wall()) return undefined;
    if (!this.holds(proof)) return undefined;
    this.proofs.set(digest, proof);
    return proof.principal;
  }

  /** True if a proof is still valid: nothing that it depends on has changed since. */
  private holds({ principal, member }: Proof): boolean {
    if (member === undefined) return !this.callers.isRevoked(principal.id);
    return this.callers.current && this.callers.member(principal.id) === member;
  }

  /**
   * Verifies an Authorization header. Rejects with `credential_invalid`, whatever is wrong with it; a member's also with
   * `permissions_changed` when it was signed for other permissions than the member has, and with `dependency_away` while
   * these are not known.
   */
  async verify(authorization: string | undefined, requestId: string): Promise<Principal> {
    if (!this.callers.known) {
      throw new Rejected('dependency_away', 'It is not known yet who may call; nothing was done');
    }
    try {
      const token = tokenIn(authorization);
      if (token === undefined || token.length > gatewayLimits.tokenBytes) throw new Error('no bearer token');
      if (!token.split('.').every(isCanonical)) throw new Error('not canonical base64url');
      const { keys } = this.callers;
      const { typ, payload } = await this.signed(token, keys);
      const shown = await this.shown(typ, payload);
      const expiresMs = payload.exp === undefined ? Number.POSITIVE_INFINITY : payload.exp * 1000;
      this.remember(token, { ...shown, keys, expiresMs });
      return shown.principal;
    } catch (error) {
      if (error instanceof Rejected) throw error;
      this.log.debug({ requestId, reason: error instanceof Error ? error.message : error }, 'a credential was refused');
      throw new Rejected('credential_invalid');
    }
  }

  /** The claims of a token that one of identity's keys has signed. The token chooses neither algorithm nor key. */
  private async signed(token: string, keys: PublicKeys): Promise<{ typ: Kind; payload: JWTPayload }> {
    const header = decodeProtectedHeader(token);
    const more = Object.keys(header).filter(name => name !== 'alg' && name !== 'typ' && name !== 'kid');
    if (more.length > 0) throw new Error(`header parameters ${more}`);
    const { typ } = header;
    if (!isKind(typ)) throw new Error('another kind of token');
    const key: JWK | undefined = keys.get(header.kid ?? '');
    if (key === undefined) throw new Error('unknown key');
    const { payload } = await jwtVerify(token, key, {
      algorithms: ['EdDSA'],
      issuer: this.config.TOKEN_ISSUER,
      currentDate: new Date(this.clock.wall()),
    });
    if (payload.aud !== 'recur') throw new Error('another audience');
    if (payload.env !== this.config.RECUR_ENV) throw new Error('another environment');
    return { typ, payload };
  }

  private shown(typ: Kind, payload: JWTPayload): Shown | Promise<Shown> {
    if (typ === 'member+jwt') return this.member(payload);
    return typ === 'user+jwt' ? userIn(payload) : this.keyHolder(payload);
  }

  private keyHolder({ sub, jti }: JWTPayload): Shown {
    const merchantId = idIn(sub);
    if (typeof jti !== 'string' || jti === '') throw new Error('no id');
    const id = createHash('sha256').update(jti).digest('base64url');
    if (this.callers.isRevoked(id)) throw new Error('revoked');
    return {
      principal: { kind: 'key', id, merchantId, actor: { kind: 'key', id, display: `key_...${id.slice(-6)}` } },
    };
  }

  /** A token may arrive before the event of its session; it names that event's version, which is awaited. */
  private async member({ sub, merchant, sid, perm, exp, callers: told }: JWTPayload): Promise<Shown> {
    const id = idIn(sub);
    if (typeof sid !== 'string' || exp === undefined) throw new Error('no session, or one without an end');
    if (!Number.isSafeInteger(told)) throw new Error('no version of what gateways were told');
    if (!this.callers.current || !(await this.callers.knows(Number(told)))) {
      throw new Rejected('dependency_away', 'It is currently not known whether this member may call; nothing was done');
    }
    const member = this.callers.member(sid);
    if (member?.id !== id || member.merchantId !== merchant) throw new Error('the session has ended');
    if (member.perm !== perm) throw new Rejected('permissions_changed');
    const { merchantId, email, grant } = member;
    const actor = { kind: 'member', id: String(id), display: email } as const;
    return { principal: { kind: 'member', id: sid, merchantId, actor, grant }, member };
  }

  private remember(token: string, proof: Proof): void {
    if (this.proofs.size >= gatewayLimits.rememberedCredentials) {
      for (const oldest of this.proofs.keys()) {
        this.proofs.delete(oldest);
        break;
      }
    }
    this.proofs.set(hash('sha256', token, 'base64'), proof);
  }
}

/** The user that a token is of. It ends by itself, soon: nothing ends it before. */
function userIn({ sub, merchant, sid, email, exp }: JWTPayload): Shown {
  const id = idIn(sub);
  if (typeof sid !== 'string' || sid === '' || exp === undefined) throw new Error('no session, or one without an end');
  if (!Number.isSafeInteger(merchant) || typeof email !== 'string') throw new Error('no merchant, or no e-mail');
  const actor = { kind: 'user', id: String(id), display: email } as const;
  return { principal: { kind: 'user', id: sid, merchantId: Number(merchant), actor } };
}

/** The subject of a token as an id. */
function idIn(sub: string | undefined): number {
  const id = typeof sub === 'string' && /^[1-9]\d{0,15}$/.test(sub) ? Number(sub) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw new Error('no subject');
  return id;
}
