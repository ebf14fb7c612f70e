import { Inject, Injectable } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import { CLOCK, type Clock, CONFIG, type Span } from '@recur/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Activity } from '../callers/activity.js';
import { networkOf } from '../callers/address.js';
import { type Allowance, Buckets } from '../callers/buckets.js';
import { Credentials, type Principal } from '../callers/credentials.js';
import { FailedSignIns } from '../callers/failed-sign-ins.js';
import { SignInLimits } from '../callers/sign-in-limits.js';
import type { GatewayConfig } from '../config.js';
import { gatewayLimits } from '../limits.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The verified sender; null until its credential is verified. */
    principal: Principal | null;
    /** The trace that the request is part of, with our own span. */
    traceparent: string;
    /** That span; null where the trace is not recorded. */
    span: Span | null;
    /** Charge for the body: the bucket, and the tokens. */
    charged: { id: string; tokens: number } | null;
    /** The e-mail of an attempt to sign in, once it is known. */
    attempted: string | null;
  }
}

/** Authenticates requests and limits their rate, before the body is read. */
@Injectable()
export class Admission {
  private readonly buckets: Buckets;
  private readonly userBuckets: Buckets;
  private readonly signIns: SignInLimits;

  constructor(
    private readonly credentials: Credentials,
    private readonly activity: Activity,
    private readonly failedSignIns: FailedSignIns,
    @Inject(CONFIG) config: GatewayConfig,
    @Inject(CLOCK) clock: Clock,
  ) {
    this.buckets = new Buckets(config.RATE_PER_SECOND, config.RATE_BURST, () => clock.wall());
    this.userBuckets = new Buckets(config.USER_RATE_PER_SECOND, config.USER_RATE_BURST, () => clock.wall());
    this.signIns = new SignInLimits(config, () => clock.wall());
  }

  /**
   * Sets the request's principal and calls `done`; with a Rejected when the credential is not valid or is used too
   * often. Only its first use waits for a signature. Until then it is counted by address, so that nobody can make us
   * verify signatures without end.
   */
  admit(request: FastifyRequest, reply: FastifyReply, done: (rejection?: Rejected) => void): void {
    const { authorization } = request.headers;
    const known = authorization === undefined ? undefined : this.credentials.remembered(authorization);
    if (known !== undefined) {
      this.letIn(request, reply, known, done);
      return;
    }
    const tooOften = this.count(request, reply, addressId(request));
    if (tooOften !== undefined) {
      done(tooOften);
      return;
    }
    this.credentials
      .verify(authorization, request.id)
      .then(principal => this.letIn(request, reply, principal, done), done);
  }

  private letIn(
    request: FastifyRequest,
    reply: FastifyReply,
    principal: Principal,
    done: (rejection?: Rejected) => void,
  ): void {
    request.principal = principal;
    if (principal.kind === 'member') this.activity.seen(principal.id);
    done(this.count(request, reply, rateIdOf(principal), bodyTokens(request), this.bucketsOf(principal)));
  }

  /** Checks the credential again after the body has arrived, which may take long. Throws Rejected where it has ended. */
  async confirm(request: FastifyRequest): Promise<void> {
    const { authorization = '' } = request.headers;
    request.principal = this.credentials.remembered(authorization) ?? null;
    request.principal ??= await this.credentials.verify(authorization, request.id);
  }

  /** Admits requests that need no credential; they are counted by address. */
  admitAnyone(request: FastifyRequest, reply: FastifyReply, done: (rejection?: Rejected) => void): void {
    done(this.count(request, reply, addressId(request), bodyTokens(request)));
  }

  /** Counts an attempt to sign in by its address, before its body is read. */
  countAddress(request: FastifyRequest, reply: FastifyReply): Rejected | undefined {
    const allowance = this.signIns.fromAddress(request.ip);
    return allowance.allowed ? undefined : refused(reply, allowance);
  }

  /** Counts an attempt to sign in with an e-mail, or to guess its password. Throws `rate_limited`. */
  countAttempt(request: FastifyRequest, reply: FastifyReply, email: string): void {
    request.attempted = email;
    const allowance = this.signIns.withEmail(email, request.ip);
    if (!allowance.allowed) throw refused(reply, allowance);
    show(reply, allowance);
  }

  /** Counts an attempt to sign in that was refused, for the log. */
  attemptFailed({ ip, attempted }: FastifyRequest, slug: string): void {
    this.failedSignIns.add(ip, slug, attempted ?? undefined);
  }

  /** A user of the hosted pages has an allowance of its own size. */
  private bucketsOf(principal: Principal | null): Buckets {
    return principal?.kind === 'user' ? this.userBuckets : this.buckets;
  }

  /** Corrects what a body was charged, once its length is known. */
  chargeBody({ charged, principal }: FastifyRequest, bytes: number): void {
    if (charged === null) return;
    const owed = tokensOf(bytes) - charged.tokens;
    if (owed !== 0) this.bucketsOf(principal).charge(charged.id, owed);
    charged.tokens += owed;
  }

  /**
   * Charges what a body holds beyond its bytes, before it is parsed. Throws `rate_limited` where requests of the same
   * caller that came with it have run into debt: none of them was charged for its contents when it was admitted.
   */
  chargeContents({ charged, principal }: FastifyRequest, reply: FastifyReply, tokens: number): void {
    if (charged === null || tokens === 0) return;
    const allowance = this.bucketsOf(principal).takeMore(charged.id, tokens, 1 + charged.tokens);
    if (!allowance.allowed) throw refused(reply, allowance);
    show(reply, allowance);
  }

  /** Charges the mistakes of an input, one token each: finding and telling them costs more than a right input does. */
  chargeMistakes({ charged, principal }: FastifyRequest, mistakes: number): void {
    if (charged !== null) this.bucketsOf(principal).charge(charged.id, mistakes);
  }

  private count(
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    bodyTokens = 0,
    buckets = this.buckets,
  ): Rejected | undefined {
    const allowance = buckets.take(id, 1 + bodyTokens);
    if (!allowance.allowed) return refused(reply, allowance);
    request.charged = { id, tokens: bodyTokens };
    show(reply, allowance);
    return undefined;
  }
}

/** The id that a caller's requests are counted under: of the key or session, or of the user with all its sessions. */
const rateIdOf = ({ kind, id, merchantId, actor }: Principal) => (kind === 'user' ? `${merchantId} ${actor.id}` : id);
const addressId = ({ ip }: FastifyRequest) => `address ${networkOf(ip)}`;

/** Tokens that a body costs beyond the request itself. */
const tokensOf = (bytes: number) => Math.floor(bytes / gatewayLimits.bytesPerToken);

/** Tokens that the announced body costs; one whose length is not announced costs the most, until it has arrived. */
function bodyTokens({ headers, is404, routeOptions }: FastifyRequest): number {
  // no body is read
  if (is404) return 0;
  const { bodyLimit = gatewayLimits.bodyBytes } = routeOptions;
  if (headers['transfer-encoding'] !== undefined) return tokensOf(bodyLimit);
  const announced = Number(headers['content-length'] ?? 0);
  return tokensOf(Math.min(Number.isSafeInteger(announced) ? announced : 0, bodyLimit));
}

function show(reply: FastifyReply, { limit, remaining, resetSeconds }: Allowance): void {
  reply.header('ratelimit-limit', String(limit));
  reply.header('ratelimit-remaining', String(remaining));
  reply.header('ratelimit-reset', String(resetSeconds));
}

function refused(reply: FastifyReply, allowance: Allowance): Rejected {
  show(reply, allowance);
  reply.header('retry-after', String(allowance.retrySeconds));
  return new Rejected('rate_limited');
}
