import { statSync } from 'node:fs';
import type { Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { Bus, CLOCK, type Clock, CONFIG, serveHealth } from '@recur/platform';
import { Callers } from './callers/callers.js';
import type { GatewayConfig } from './config.js';
import { Responses } from './http/responses.js';

/** The build time in unix seconds; the form of the version is part of the API. */
export const version = `daily,buildtime:${Math.floor(statSync(fileURLToPath(import.meta.url)).mtimeMs / 1000)}`;

/**
 * Probes and metrics for operators, on a port of their own: plain answers without an envelope, as the tools that read
 * them expect. The public port tells no more than that the process lives, and its version.
 */
@Injectable()
export class Health implements OnModuleInit {
  private server: Server | undefined;

  constructor(
    private readonly host: HttpAdapterHost<FastifyAdapter>,
    private readonly bus: Bus,
    private readonly callers: Callers,
    private readonly responses: Responses,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: GatewayConfig,
  ) {}

  onModuleInit(): void {
    const http = this.host.httpAdapter.getInstance();
    http.get('/livez', (_request, reply) => reply.send({ live: true }));
    http.get('/version', (_request, reply) => reply.send({ version }));
  }

  /** Listens on the port for operators. Resolves to it. */
  async listen(): Promise<number> {
    const { HOST, OPS_PORT } = this.config;
    this.server = await serveHealth(HOST, OPS_PORT, () => this.checks(), this.clock);
    const address = this.server.address();
    return typeof address === 'object' && address !== null ? address.port : OPS_PORT;
  }

  /** Answers until the gateway has drained, so that probes see it become unready. */
  close(): void {
    this.server?.close();
    this.server?.closeAllConnections();
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
