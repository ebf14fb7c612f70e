import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { type Operation, type Slug, subjectOf, validate } from '@recur/contracts';
import { type Issue, invalid, Rejected } from '@recur/kernel';
import { Bus, type Caller, CLOCK, type Clock } from '@recur/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Admission } from './admission.js';
import { Answers } from './answers.js';
import { jsonOf } from './body.js';
import { mayCall, type Principal } from './caller.js';
import { limits } from './limits.js';
import { senderOf } from './sender.js';

export const OPERATIONS = Symbol('operations');

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation;
  }
}

/** Who calls what needs no credential: the service that is asked finds out who it is. */
const nobody = { kind: 'nobody', merchantId: 0, actor: { kind: 'system', id: '', display: 'nobody' } } as const;
const printable = /^[\x20-\x7e]{1,255}$/;

/** Serves every operation of the contract table alike: who asks, may they, is the input right, what is the answer. */
@Injectable()
export class Routes implements OnModuleInit {
  private inFlight = 0;

  constructor(
    private readonly host: HttpAdapterHost<FastifyAdapter>,
    private readonly bus: Bus,
    private readonly admission: Admission,
    private readonly answers: Answers,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(OPERATIONS) private readonly operations: readonly Operation[],
  ) {}

  onModuleInit(): void {
    const http = this.host.httpAdapter.getInstance();
    for (const operation of this.operations) {
      const subject = subjectOf(operation);
      http.route({
        method: [...operation.methods],
        url: operation.path,
        config: { operation },
        onRequest: (request, reply, done) =>
          this.admission[operation.anonymous ? 'admitAnyone' : 'admit'](request, reply, rejection => {
            if (rejection === undefined) done();
            else this.answers.refuse(reply, rejection, operation);
          }),
        handler: (request, reply) => {
          void this.run(operation, subject, request, reply);
        },
      });
    }
    http.addHook('onRequest', (request, reply, done) => (request.is404 ? this.unknown(request, reply) : done()));
  }

  /** Never throws: whatever happens is answered. */
  private async run(
    operation: Operation,
    subject: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    this.inFlight++;
    try {
      if (this.inFlight > limits.inFlight) throw new Rejected('overloaded');
      if (request.principal !== null && request.method === 'POST') await this.admission.confirm(request);
      const caller = this.callerOf(request, operation);
      const input = this.inputOf(operation, request);
      if (operation.signIn) this.admission.countAttempt(request, reply, String((input as { email?: unknown }).email));
      if (operation.checksPassword) this.admission.countAttempt(request, reply, caller.actor.display);
      const answer = await this.bus.request(subject, this.payloadOf(input), caller);
      if (answer.ok) this.answers.succeed(reply, operation, answer.bytes, answer.replayOf);
      else this.answers.refuse(reply, rejectionIn(answer.bytes), operation);
    } catch (error) {
      this.answers.refuse(reply, error, operation);
    } finally {
      this.inFlight--;
    }
  }

  private callerOf(request: FastifyRequest, operation: Operation): Caller {
    const { id, traceparent, headers, method } = request;
    const principal = operation.anonymous ? nobody : principalOf(request, operation);
    const key = method === 'POST' && operation.effect === 'write' ? headers['idempotency-key'] : undefined;
    if (key !== undefined && !printable.test(String(key))) {
      throw invalid('Idempotency-Key', 'The Idempotency-Key header must have 1 to 255 printable ASCII characters');
    }
    const sender = senderOf(operation, request);
    return {
      merchantId: principal.merchantId,
      actor: principal.actor,
      ...(principal.kind === 'member' && { session: principal.id }),
      requestId: id,
      traceparent,
      deadline: this.clock.wall() + limits.deadlineMs,
      ...(key !== undefined && { idempotencyKey: String(key) }),
      ...(sender !== undefined && { sender }),
    };
  }

  /** The validated input: what the schema does not know is not passed on. */
  private inputOf(operation: Operation, { method, query, body }: FastifyRequest): unknown {
    const asked = method === 'POST' ? jsonOf(body as Buffer | undefined) : saidIn(query as Record<string, unknown>);
    const checked = validate(operation.input, asked);
    if (!checked.ok) throw new Rejected('invalid_parameters', undefined, checked.issues);
    return checked.value;
  }

  /** The input as the command's payload. */
  private payloadOf(input: unknown): string {
    const payload = JSON.stringify(input);
    // what is written may be longer than what was read (defaults, escapes), and the bus has a limit of its own
    const most = (this.bus.nc.info?.max_payload ?? limits.bodyBytes) - limits.commandHeaderBytes;
    if (payload.length * 3 > most && Buffer.byteLength(payload) > most) throw new Rejected('body_too_large');
    return payload;
  }

  /** No operation has this path, or none with this method. The body is not read; who asks is told if it can be. */
  private unknown(request: FastifyRequest, reply: FastifyReply): void {
    const path = request.url.split('?', 1)[0];
    const methods = this.operations.find(operation => operation.path === path)?.methods.join(' or ');
    const unknown = new Rejected('unknown_path', methods && `This path takes ${methods}, not ${request.method}`);
    if (request.headers.authorization === undefined) {
      this.answers.refuse(reply, unknown);
      return;
    }
    this.admission.admit(request, reply, rejection =>
      this.answers.refuse(reply, rejection?.slug === 'rate_limited' ? rejection : unknown),
    );
  }
}

/** What a query says: a field without a text, as forms send each that is left empty, is not given. */
const saidIn = (query: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''));

function principalOf({ principal }: FastifyRequest, operation: Operation): Principal {
  if (principal === null) throw new Error('a request without a caller has come through');
  if (!mayCall(principal, operation)) throw new Rejected('permission_denied');
  return principal;
}

function rejectionIn(bytes: Uint8Array | string): Rejected {
  const answer: { slug: Slug; message?: string; issues?: Issue[] } = JSON.parse(Buffer.from(bytes).toString());
  return new Rejected(answer.slug, answer.message, answer.issues);
}
