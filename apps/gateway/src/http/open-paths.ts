import { Inject, Injectable } from '@nestjs/common';
import { type InternalOperation, validate } from '@recur/contracts';
import { type ErrorSlug, Rejected } from '@recur/kernel';
import { ask, Bus, CLOCK, type Clock, systemCaller } from '@recur/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { gatewayLimits } from '../limits.js';
import { Admission } from './admission.js';
import { Responses } from './responses.js';

/** Shared parts of the paths that need no credential and whose answer another service has. */
@Injectable()
export class OpenPaths {
  constructor(
    private readonly bus: Bus,
    private readonly admission: Admission,
    private readonly responses: Responses,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Counts a request by its address; for a route's onRequest. */
  readonly onRequest = (request: FastifyRequest, reply: FastifyReply, done: () => void): void =>
    this.admission.admitAnyone(request, reply, rejection => {
      if (rejection === undefined) done();
      else this.responses.refuse(reply, rejection);
    });

  /** A handler that never throws: every failure becomes a response. */
  handler(answer: (request: FastifyRequest, reply: FastifyReply) => Promise<void>) {
    return (request: FastifyRequest, reply: FastifyReply): void => {
      void answer(request, reply).catch(error => this.responses.refuse(reply, error));
    };
  }

  /** Asks the service that owns an internal operation. Throws Rejected `unknown`, with `message`, where the input does not fit. */
  async ask<Op extends InternalOperation>(
    operation: Op,
    input: unknown,
    { id, traceparent }: FastifyRequest,
    unknown: ErrorSlug,
    message?: string,
  ): ReturnType<typeof ask<Op>> {
    const checked = validate(operation.input, input);
    if (!checked.ok) throw new Rejected(unknown, message);
    const caller = systemCaller(0, id, this.clock.wall() + gatewayLimits.deadlineMs, traceparent);
    return ask(this.bus, operation, checked.value as Parameters<typeof ask<Op>>[2], caller);
  }
}

/** The gateway that a path names; 0, which is nobody's, for what is no id. */
export const gatewayIdIn = ({ params }: FastifyRequest): number => {
  const { gatewayId } = params as { gatewayId: string };
  return /^\d{1,16}$/.test(gatewayId) ? Number(gatewayId) : 0;
};
