import type { IncomingHttpHeaders } from 'node:http';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { gatewayCallback, wrongSignature } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { networkOf } from '../callers/address.js';
import { gatewayLimits } from '../limits.js';
import { Admission } from './admission.js';
import { gatewayIdIn, OpenPaths } from './open-paths.js';
import { Responses } from './responses.js';

/** Headers that are credentials of a client: never forwarded. */
const secret: readonly string[] = ['authorization', 'cookie', 'proxy-authorization'];

/**
 * Callbacks of payment gateways at /gateway/<id>/webhook, which need no credential: their signature is over the exact
 * bytes, so bytes and headers go to billing as they came. Requests are counted by address, with the size of their bodies; a
 * gateway sends what it has to tell in one body, however large, so that these are not kept as small as other bodies of
 * strangers. Of large ones, few are held at a time.
 */
@Injectable()
export class CallbackRoutes implements OnModuleInit {
  /** Large bodies that are being received or answered, by network. */
  private readonly large = new Map<string, number>();

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
        bodyLimit: gatewayLimits.bodyBytes,
        onRequest: (request, reply, done) =>
          this.paths.onRequest(request, reply, () => this.holdLarge(request, reply, done)),
        handler: this.paths.handler((request, reply) => this.answer(request, reply)),
      });
    });
  }

  /** Bounds the memory of large bodies, which strangers may send slowly. */
  private holdLarge(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
    if (!isLarge(request)) {
      done();
      return;
    }
    const network = networkOf(request.ip);
    const held = this.large.get(network) ?? 0;
    const all = [...this.large.values()].reduce((sum, count) => sum + count, 0);
    if (held >= gatewayLimits.largeCallbacksOfAddress || all >= gatewayLimits.largeCallbacks) {
      this.responses.refuse(reply, new Rejected('overloaded'));
      return;
    }
    this.large.set(network, held + 1);
    reply.raw.once('close', () => {
      const left = (this.large.get(network) ?? 1) - 1;
      if (left === 0) this.large.delete(network);
      else this.large.set(network, left);
    });
    done();
  }

  private async answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const body = request.body as Buffer | undefined;
    this.admission.chargeBody(request, body?.length ?? 0);
    const [headers, base64] = [forwarded(request.headers), body?.toString('base64') ?? ''];
    const input = { gatewayId: gatewayIdIn(request), headers, base64 };
    await this.paths.ask(gatewayCallback, input, request, 'credential_invalid', wrongSignature);
    this.responses.done(reply);
  }
}

/** A body larger than strangers may send elsewhere, or one whose length is not announced. */
const isLarge = ({ headers }: FastifyRequest): boolean =>
  headers['transfer-encoding'] !== undefined ||
  Number(headers['content-length'] ?? 0) > gatewayLimits.anonymousBodyBytes;

const forwarded = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && !secret.includes(name) ? [[name, value]] : [],
    ),
  );
