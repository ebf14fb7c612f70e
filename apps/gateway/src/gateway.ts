import 'reflect-metadata';
import { Server } from 'node:net';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type Operation, routed } from '@recur/contracts';
import { idGenerator } from '@recur/kernel';
import { Bus, CLOCK, type Clock, CONFIG, LOG, type Log, pooledRandom } from '@recur/platform';
import { Activity } from './activity.js';
import { Admission } from './admission.js';
import { Answers } from './answers.js';
import { Credentials } from './caller.js';
import { Callers } from './callers.js';
import type { GatewayConfig } from './config.js';
import { Docs } from './docs.js';
import { Edge } from './edge.js';
import { Health } from './health.js';
import { limits } from './limits.js';
import { OAuth } from './oauth.js';
import { OPERATIONS, Routes } from './routes.js';

export interface GatewayParts {
  config: GatewayConfig;
  bus: Bus;
  clock: Clock;
  log: Log;
  /** What is served; all that has a handler, but in tests. */
  operations?: readonly Operation[];
}

/** The gateway as a value: what `main.ts` runs as a process, and tests start in theirs. */
export class Gateway {
  private constructor(
    private readonly app: NestFastifyApplication,
    private readonly answers: Answers,
    private readonly parts: GatewayParts,
  ) {}

  static async create(parts: GatewayParts): Promise<Gateway> {
    const { config, bus, clock, log, operations = routed } = parts;
    const newId = idGenerator(() => clock.wall(), pooledRandom);
    const answers = new Answers(config, log);
    class App {}
    Module({
      providers: [
        { provide: CONFIG, useValue: config },
        { provide: LOG, useValue: log },
        { provide: CLOCK, useValue: clock },
        { provide: OPERATIONS, useValue: operations },
        { provide: Bus, useValue: bus },
        { provide: Answers, useValue: answers },
        ...[Callers, Credentials, Activity, Admission, Routes, Health, Docs, OAuth],
      ],
    })(App);
    const edge = new Edge(config, answers, () => newId('req_'));
    const app = await NestFactory.create<NestFastifyApplication>(App, edge, {
      logger: false,
      bodyParser: false,
      abortOnError: false,
    });
    return new Gateway(app, answers, parts);
  }

  /** Listens; ready is what `/readyz` says. Answers the port. */
  async listen(): Promise<number> {
    const { HOST, PORT } = this.parts.config;
    await this.app.listen(PORT, HOST);
    const address = this.app.getHttpServer().address();
    return typeof address === 'object' && address !== null ? address.port : PORT;
  }

  /**
   * Ends without losing a request: not ready, then no new connections; what is in flight is answered, each answer the
   * last on its connection; when none is left, the bus is closed.
   */
  async drain(): Promise<void> {
    const server = this.app.getHttpServer();
    this.answers.draining = true;
    const ended = new Promise<void>(resolve => {
      // of the socket server's own, since that of HTTP also closes connections on which a request may just arrive
      Server.prototype.close.call(server, () => resolve());
    });
    const closeIdle = setInterval(() => server.closeIdleConnections(), limits.idleGraceMs);
    const closeAll = setTimeout(() => server.closeAllConnections(), limits.drainMs);
    await ended;
    clearInterval(closeIdle);
    clearTimeout(closeAll);
    await this.app.close();
    await this.parts.bus.close().catch(error => this.parts.log.warn({ err: error }, 'the bus was closed unclean'));
  }
}
