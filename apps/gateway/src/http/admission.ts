import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import { CLOCK, type Clock, CONFIG } from '@recur/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Activity } from '../callers/activity.js';
import { Buckets } from '../callers/buckets.js';
import { Credentials, type Principal } from '../callers/credentials.js';
import type { GatewayConfig } from '../config.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The verified sender; null until its credential is verified. */
    principal: Principal | null;
    /** The trace that the request is part of, with our own span. */
    traceparent: string;
  }
}

/** Authenticates requests and limits their rate, before the body is read. */
@Injectable()
export class Admission {
  private readonly buckets: Buckets;
  private readonly signIns: Buckets;

  constructor(
    private readonly credentials: Credentials,
    private readonly activity: Activity,
    @Inject(CONFIG) config: GatewayConfig,
    @Inject(CLOCK) clock: Clock,
  ) {
    this.buckets = new Buckets(config.RATE_PER_SECOND, config.RATE_BURST, () => clock.wall());
    const perMinute = config.SIGN_IN_PER_MINUTE;
    this.signIns = new Buckets(perMinute / 60, perMinute, () => clock.wall());
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
    const tooOften = this.count(reply, `address ${request.ip}`);
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
    done(this.count(reply, principal.id));
  }

  /** Checks the credential again after the body has arrived, which may take long. Throws Rejected where it has ended. */
  async confirm(request: FastifyRequest): Promise<void> {
    const { authorization = '' } = request.headers;
    request.principal = this.credentials.remembered(authorization) ?? null;
    request.principal ??= await this.credentials.verify(authorization, request.id);
  }

  /** Admits requests that need no credential; they are counted by address. */
  admitAnyone(request: FastifyRequest, reply: FastifyReply, done: (rejection?: Rejected) => void): void {
    done(this.count(reply, `address ${request.ip}`));
  }

  /** Throws `rate_limited` where somebody tries to sign in with an e-mail, or its password, from one address too often. */
  countAttempt(request: FastifyRequest, reply: FastifyReply, email: string): void {
    // hashed because e-mails may be long, and a bucket only needs a distinct name
    const who = createHash('sha256').update(email.trim().toLowerCase()).update(`\n${request.ip}`).digest('base64');
    const rejection = this.count(reply, who, this.signIns);
    if (rejection !== undefined) throw rejection;
  }

  private count(reply: FastifyReply, id: string, buckets = this.buckets): Rejected | undefined {
    const { allowed, limit, remaining, resetSeconds, retrySeconds } = buckets.take(id);
    reply.header('ratelimit-limit', String(limit));
    reply.header('ratelimit-remaining', String(remaining));
    reply.header('ratelimit-reset', String(resetSeconds));
    if (allowed) return undefined;
    reply.header('retry-after', String(retrySeconds));
    return new Rejected('rate_limited');
  }
}
