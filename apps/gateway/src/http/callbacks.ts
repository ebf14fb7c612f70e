import type { IncomingHttpHeaders } from 'node:http';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { gatewayCallback } from '@recur/contracts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { gatewayLimits } from '../limits.js';
import { Admission } from './admission.js';
import { gatewayIdIn, OpenPaths } from './open-paths.js';
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
    private readonly paths: OpenPaths,
    private readonly admission: Admission,
    private readonly responses: Responses,
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
        onRequest: this.paths.onRequest,
        handler: this.paths.handler((request, reply) => this.answer(request, reply)),
      });
    });
  }

  private async answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const body = request.body as Buffer | undefined;
    this.admission.chargeBody(request, body?.length ?? 0);
    const [headers, base64] = [forwarded(request.headers), body?.toString('base64') ?? ''];
    const input = { gatewayId: gatewayIdIn(request), headers, base64 };
    await this.paths.ask(gatewayCallback, input, request, 'gateway_not_found');
    this.responses.done(reply);
  }
}

const forwarded = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && !secret.includes(name) ? [[name, value]] : [],
    ),
  );
