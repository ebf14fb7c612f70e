import type { IncomingHttpHeaders } from 'node:http';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { gatewayCallback, validate } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { ask, Bus, CLOCK, type Clock, systemCaller } from '@recur/platform';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { gatewayLimits } from '../limits.js';
import { Admission } from './admission.js';
import { Responses } from './responses.js';

/** Headers that are credentials of a client: never forwarded. */
const secret: readonly string[] = ['authorization', 'cookie', 'proxy-authorization'];

/**
 * Callbacks of payment gateways at /gateway/<id>/webhook, which need no credential: their signature is over the exact
 * bytes, so bytes and headers go to billing as they came. Requests are counted by address, bodies are small.
 */
@Injectable()
export class CallbackRoutes implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost<FastifyAdapter>,
    private readonly bus: Bus,
    private readonly admission: Admission,
    private readonly responses: Responses,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    const http = this.host.httpAdapter.getInstance<FastifyInstance>();
    // a scope of its own: here a body of any media type is taken, and none is parsed
    void http.register(async scope => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
      scope.route({
        method: 'POST',
        url: '/gateway/:gatewayId/webhook',
        bodyLimit: gatewayLimits.anonymousBodyBytes,
        onRequest: (request, reply, done) =>
          this.admission.admitAnyone(request, reply, rejection => {
            if (rejection === undefined) done();
            else this.responses.refuse(reply, rejection);
          }),
        handler: (request, reply) => {
          void this.answer(request, reply);
        },
      });
    });
  }

  /** Never throws: every outcome becomes a response. */
  private async answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    try {
      await this.forward(request);
      this.responses.done(reply);
    } catch (error) {
      this.responses.refuse(reply, error);
    }
  }

  private async forward(request: FastifyRequest): Promise<void> {
    const { params, headers, id, traceparent } = request;
    const body = request.body as Buffer | undefined;
    this.admission.chargeBody(request, body?.length ?? 0);
    const { gatewayId } = params as { gatewayId: string };
    const checked = validate(gatewayCallback.input, {
      gatewayId: /^\d{1,16}$/.test(gatewayId) ? Number(gatewayId) : 0,
      headers: forwarded(headers),
      base64: body?.toString('base64') ?? '',
    });
    if (!checked.ok) throw new Rejected('gateway_not_found');
    const caller = systemCaller(0, id, this.clock.wall() + gatewayLimits.deadlineMs, traceparent);
    await ask(this.bus, gatewayCallback, checked.value, caller);
  }
}

const forwarded = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && !secret.includes(name) ? [[name, value]] : [],
    ),
  );
