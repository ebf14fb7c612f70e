import { Inject, Injectable } from '@nestjs/common';
import { Rejected } from '@recur/kernel';
import { CLOCK, type Clock, CONFIG } from '@recur/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Credentials, type Principal } from './caller.js';
import type { GatewayConfig } from './config.js';
import { Buckets } from './limits.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; null until its credential is verified. */
    principal: Principal | null;
    /** The trace that the request is part of, with our own span. */
    traceparent: string;
  }
}

/** Tells who sends a request, and how often they may: before the body is read. */
@Injectable()
export class Admission {
  private readonly buckets: Buckets;

  constructor(
    private readonly credentials: Credentials,
    @Inject(CONFIG) config: GatewayConfig,
    @Inject(CLOCK) clock: Clock,
  ) {
    this.buckets = new Buckets(config.RATE_PER_SECOND, config.RATE_BURST, () => clock.wall());
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
      request.principal = known;
      done(this.count(reply, known.id));
      return;
    }
    const tooOften = this.count(reply, `address ${request.ip}`);
    if (tooOften !== undefined) {
      done(tooOften);
      return;
    }
    this.credentials.verify(authorization, request.id).then(principal => {
      request.principal = principal;
      done(this.count(reply, principal.id));
    }, done);
  }

  /** Calls `done`; with a Rejected when too much is asked from this address by those who need no credential here. */
  admitStranger(request: FastifyRequest, reply: FastifyReply, done: (rejection?: Rejected) => void): void {
    done(this.count(reply, `address ${request.ip}`));
  }

  private count(reply: FastifyReply, id: string): Rejected | undefined {
    const { allowed, limit, remaining, resetSeconds, retrySeconds } = this.buckets.take(id);
    reply.header('ratelimit-limit', String(limit));
    reply.header('ratelimit-remaining', String(remaining));
    reply.header('ratelimit-reset', String(resetSeconds));
    if (allowed) return undefined;
    reply.header('retry-after', String(retrySeconds));
    return new Rejected('rate_limited');
  }
}
