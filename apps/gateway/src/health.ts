import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { Bus, isReady, metrics } from '@recur/platform';
import { Callers } from './callers/callers.js';
import { Responses } from './http/responses.js';

/** The build time in unix seconds; the form of the version is part of the API. */
export const version = `daily,buildtime:${Math.floor(statSync(fileURLToPath(import.meta.url)).mtimeMs / 1000)}`;

/** Probes and metrics for operators: plain answers without an envelope, as the tools that read them expect. */
@Injectable()
export class Health implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost<FastifyAdapter>,
    private readonly bus: Bus,
    private readonly callers: Callers,
    private readonly responses: Responses,
  ) {}

  onModuleInit(): void {
    const http = this.host.httpAdapter.getInstance();
    http.get('/livez', (_request, reply) => reply.send({ live: true }));
    http.get('/readyz', (_request, reply) => {
      const checks = this.checks();
      reply.code(isReady(checks) ? 200 : 503).send(checks);
    });
    http.get('/version', (_request, reply) => reply.send({ version }));
    http.get('/metrics', async (_request, reply) => {
      return reply.header('content-type', metrics.contentType).send(await metrics.metrics());
    });
  }

  /** Ready without the bus, too: requests are answered 56 at once, and other replicas share the same bus. */
  private checks(): Record<string, boolean | string> {
    return {
      callers: this.callers.known,
      serving: !this.responses.draining,
      bus: this.bus.up ? 'connected' : 'away',
      identity: this.callers.inTouch ? 'heard' : 'silent',
    };
  }
}
