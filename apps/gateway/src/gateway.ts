import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClientsModule } from '@nestjs/microservices';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { operations as all, type Operation } from '@recur/contracts';
import { idGenerator } from '@recur/kernel';
import { Bus, CLOCK, type Clock, CONFIG, LOG, type Log, NatsClient, pooledRandom, signerOf } from '@recur/platform';
import { Activity } from './callers/activity.js';
import { Callers } from './callers/callers.js';
import { Credentials } from './callers/credentials.js';
import { FailedSignIns } from './callers/failed-sign-ins.js';
import type { GatewayConfig } from './config.js';
import { Docs } from './docs/docs.js';
import { DocumentRoutes } from './files/documents.js';
import { ExportRoutes } from './files/exports.js';
import { Health } from './health.js';
import { Admission } from './http/admission.js';
import { CallbackRoutes } from './http/callbacks.js';
import { Edge } from './http/edge.js';
import { stopListening } from './http/node-server.js';
import { OpenPaths } from './http/open-paths.js';
import { Responses } from './http/responses.js';
import { OPERATIONS, Routes, SERVICES } from './http/routes.js';
import { SandboxPages } from './http/sandbox-pages.js';
import { gatewayLimits } from './limits.js';
import { OAuth } from './oauth/oauth.js';
import { PortalPages } from './portal/pages.js';

export interface GatewayParts {
  config: GatewayConfig;
  bus: Bus;
  clock: Clock;
  log: Log;
  /** The operations to serve; by default all of the contract. */
  operations?: readonly Operation[];
}

/** The gateway as a value: what `main.ts` runs as a process, and tests start in theirs. */
export class Gateway {
  private constructor(
    private readonly app: NestFastifyApplication,
    private readonly responses: Responses,
    private readonly parts: GatewayParts,
  ) {}

  static async create(parts: GatewayParts): Promise<Gateway> {
    const { config, bus, clock, log, operations = all } = parts;
    const newId = idGenerator(() => clock.wall(), pooledRandom);
    const responses = new Responses(config, log);
    bus.sign = signerOf(config.CALLER_KEYS);
    class App {}
    Module({
      imports: [ClientsModule.register([{ name: SERVICES, customClass: NatsClient, options: { bus } }])],
      providers: [
        { provide: CONFIG, useValue: config },
        { provide: LOG, useValue: log },
        { provide: CLOCK, useValue: clock },
        { provide: OPERATIONS, useValue: operations },
        { provide: Bus, useValue: bus },
        { provide: Responses, useValue: responses },
        Callers,
        Credentials,
        Activity,
        FailedSignIns,
        Admission,
        Routes,
        Health,
        Docs,
        OAuth,
        OpenPaths,
        DocumentRoutes,
        ExportRoutes,
        CallbackRoutes,
        SandboxPages,
        PortalPages,
      ],
    })(App);
    const edge = new Edge(config, responses, () => newId('req_'));
    const app = await NestFactory.create<NestFastifyApplication>(App, edge, {
      logger: false,
      bodyParser: false,
      abortOnError: false,
    });
    return new Gateway(app, responses, parts);
  }

  /** Listens on the public port and on the one for operators, whose `/readyz` says when it is ready. */
  async listen(): Promise<{ port: number; opsPort: number }> {
    const { HOST, PORT } = this.parts.config;
    const opsPort = await this.app.get(Health).listen();
    await this.app.listen(PORT, HOST);
    const address = this.app.getHttpServer().address();
    return { port: typeof address === 'object' && address !== null ? address.port : PORT, opsPort };
  }

  /**
   * Ends without losing a request: not ready, then no new connections; what is in flight is answered, each answer the
   * last on its connection; when none is left, the bus is closed.
   */
  async drain(): Promise<void> {
    const server = this.app.getHttpServer();
    const health = this.app.get(Health);
    this.responses.draining = true;
    const ended = stopListening(server);
    const closeIdle = setInterval(() => server.closeIdleConnections(), gatewayLimits.idleGraceMs);
    const closeAll = setTimeout(() => server.closeAllConnections(), gatewayLimits.drainMs);
    await ended;
    clearInterval(closeIdle);
    clearTimeout(closeAll);
    await this.app.close();
    health.close();
    await this.parts.bus.close().catch(error => this.parts.log.warn({ err: error }, 'the bus was closed unclean'));
  }
}
