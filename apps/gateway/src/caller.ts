import { createHash, hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Actor, Operation } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { CLOCK, type Clock, CONFIG, LOG, type Log } from '@recur/platform';
import { decodeProtectedHeader, type JWK, type JWTPayload, jwtVerify } from 'jose';
import { Callers, type PublicKeys } from './callers.js';
import type { GatewayConfig } from './config.js';
import { limits } from './limits.js';

/** Who sent a request, shown by its credential. */
export interface Principal {
  kind: 'key';
  /** What its rate is counted under and what revokes it: of an API key the SHA-256 of its jti, base64url. */
  id: string;
  merchantId: number;
  actor: Actor;
}

/** An API key acts as the owner: it may do all but a member's own affairs. */
export function mayCall(principal: Principal, operation: Operation): boolean {
  return principal.kind === 'key' && operation.memberOnly === undefined;
}

/** A credential that was verified, so that only its first use costs a signature. */
interface Proof {
  principal: Principal;
  /** The public keys it was verified with; when they are others now, it is verified again. */
  keys: PublicKeys;
  expiresMs: number;
}

const bearer = /^Bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i;

/** Tells callers by their credentials. Who asks is told the same whatever is wrong with a credential. */
@Injectable()
export class Credentials {
  /** By digest: the credentials themselves are not kept. In the order of their last use. */
  private readonly proofs = new Map<string, Proof>();

  constructor(
    private readonly callers: Callers,
    @Inject(CONFIG) private readonly config: GatewayConfig,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** The caller, when this Authorization header was verified before and still holds. */
  remembered(authorization: string): Principal | undefined {
    const digest = hash('sha256', authorization, 'base64');
    const proof = this.proofs.get(digest);
    if (proof === undefined) return undefined;
    this.proofs.delete(digest);
    if (proof.keys !== this.callers.keys || proof.expiresMs <= this.clock.wall()) return undefined;
    if (this.callers.isRevoked(proof.principal.id)) return undefined;
    this.proofs.set(digest, proof);
    return proof.principal;
  }

  /** Verifies an Authorization header. Rejects with `credential_invalid`, whatever is wrong with it. */
  async verify(authorization: string | undefined, requestId: string): Promise<Principal> {
    if (!this.callers.known) {
      throw new Rejected('dependency_away', 'It is not known yet who may call; nothing was done');
    }
    try {
      const token = bearer.exec(authorization ?? '')?.[1];
      if (token === undefined || token.length > limits.tokenBytes) throw new Error('no bearer token');
      const { keys } = this.callers;
      const payload = await this.signed(token, keys);
      const principal = this.keyHolder(payload);
      if (this.callers.isRevoked(principal.id)) throw new Error('revoked');
      const expiresMs = payload.exp === undefined ? Number.POSITIVE_INFINITY : payload.exp * 1000;
      this.remember(authorization ?? '', { principal, keys, expiresMs });
      return principal;
    } catch (error) {
      this.log.debug({ requestId, reason: error instanceof Error ? error.message : error }, 'a credential was refused');
      throw new Rejected('credential_invalid');
    }
  }

  /** The claims of a token that one of identity's keys has signed. The token chooses neither algorithm nor key. */
  private async signed(token: string, keys: PublicKeys): Promise<JWTPayload> {
    const header = decodeProtectedHeader(token);
    const more = Object.keys(header).filter(name => name !== 'alg' && name !== 'typ' && name !== 'kid');
    if (more.length > 0) throw new Error(`header parameters ${more}`);
    if (header.typ !== 'api-key+jwt') throw new Error('another kind of token');
    const key: JWK | undefined = keys.get(header.kid ?? '');
    if (key === undefined) throw new Error('unknown key');
    const { payload } = await jwtVerify(token, key, {
      algorithms: ['EdDSA'],
      issuer: this.config.TOKEN_ISSUER,
      currentDate: new Date(this.clock.wall()),
    });
    return payload;
  }

  private keyHolder({ aud, sub, jti, env }: JWTPayload): Principal {
    if (aud !== 'recur') throw new Error('another audience');
    if (env !== this.config.RECUR_ENV) throw new Error('another environment');
    const merchantId = typeof sub === 'string' && /^[1-9]\d{0,15}$/.test(sub) ? Number(sub) : Number.NaN;
    if (!Number.isSafeInteger(merchantId)) throw new Error('no merchant');
    if (typeof jti !== 'string' || jti === '') throw new Error('no id');
    const id = createHash('sha256').update(jti).digest('base64url');
    return { kind: 'key', id, merchantId, actor: { kind: 'key', id, display: `key_…${id.slice(-6)}` } };
  }

  private remember(authorization: string, proof: Proof): void {
    if (this.proofs.size >= limits.rememberedCredentials) {
      for (const oldest of this.proofs.keys()) {
        this.proofs.delete(oldest);
        break;
      }
    }
    this.proofs.set(hash('sha256', authorization, 'base64'), proof);
  }
}
