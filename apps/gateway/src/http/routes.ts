import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { ClientProxy } from '@nestjs/microservices';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { allows, alsoNeeded, ignoredFields, type Operation, patternOf, returnFields, validate } from '@recur/contracts';
import { invalid, Rejected } from '@recur/kernel';
import {
  Bus,
  type Caller,
  CLOCK,
  type Clock,
  CONFIG,
  type CommandPacket,
  type Reply,
  rejectionIn,
} from '@recur/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { firstValueFrom } from 'rxjs';
import { mayCall, type Principal } from '../callers/credentials.js';
import type { GatewayConfig } from '../config.js';
import { gatewayLimits } from '../limits.js';
import { Admission } from './admission.js';
import { type Charge, formOf, formType, jsonOf, linesOf, ndjsonType } from './body.js';
import { wrongMethod } from './methods.js';
import { Responses } from './responses.js';
import { senderOf } from './sender.js';

export const OPERATIONS = Symbol('operations');
/** The Nest client of the services. */
export const SERVICES = Symbol('services');

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation;
  }
}

/** The principal of anonymous operations; the service finds out who it is. */
const nobody = { kind: 'nobody', merchantId: 0, actor: { kind: 'system', id: '', display: 'nobody' } } as const;
const printable = /^[\x20-\x7e]{1,255}$/;

/** Serves every operation of the contract table: authentication, permission, validation, command, response. */
@Injectable()
export class Routes implements OnModuleInit {
  private inFlight = 0;

  constructor(
    private readonly host: HttpAdapterHost<FastifyAdapter>,
    @Inject(SERVICES) private readonly services: ClientProxy,
    private readonly bus: Bus,
    private readonly admission: Admission,
    private readonly responses: Responses,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: GatewayConfig,
    @Inject(OPERATIONS) private readonly operations: readonly Operation[],
  ) {}

  onModuleInit(): void {
    const http = this.host.httpAdapter.getInstance();
    const routes = this.operations.flatMap(operation =>
      [operation.path, ...(operation.otherPaths ?? [])].map(url => ({ operation, url })),
    );
    for (const { operation, url } of routes) {
      http.route({
        method: [...operation.methods],
        url,
        config: { operation },
        bodyLimit: operation.anonymous ? gatewayLimits.anonymousBodyBytes : gatewayLimits.bodyBytes,
        onRequest: (request, reply, done) =>
          this.admission[operation.anonymous ? 'admitAnyone' : 'admit'](request, reply, refused => {
            const rejection =
              refused ?? (isAttempt(operation) ? this.admission.countAddress(request, reply) : undefined);
            if (rejection === undefined) done();
            else this.refuse(reply, rejection, operation);
          }),
        handler: (request, reply) => {
          void this.run(operation, request, reply);
        },
      });
    }
    http.addHook('onRequest', (request, reply, done) => (request.is404 ? this.unknown(request, reply) : done()));
  }

  /** Never throws: every outcome becomes a response. */
  private async run(operation: Operation, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    this.inFlight++;
    try {
      if (this.inFlight > gatewayLimits.inFlight) throw new Rejected('overloaded');
      this.admission.chargeBody(request, (request.body as Buffer | undefined)?.length ?? 0);
      if (request.principal !== null && request.method === 'POST') await this.admission.confirm(request);
      const caller = this.callerOf(request, operation);
      const input = await this.inputOf(operation, request, reply);
      requireAlso(operation, request.principal, input);
      if (operation.signIn) this.admission.countAttempt(request, reply, String((input as { email?: unknown }).email));
      if (operation.checksPassword) this.admission.countAttempt(request, reply, caller.actor.display);
      if (request.method === 'HEAD' && operation.effect === 'write') {
        this.responses.succeed(reply, operation, '{}');
        return;
      }
      const command = { payload: this.payloadOf(input), caller };
      const answer = await firstValueFrom(this.services.send<Reply, CommandPacket>(patternOf(operation), command));
      if (answer.ok) this.responses.succeed(reply, operation, answer.bytes, answer.replayOf);
      else this.refuse(reply, rejectionIn(answer), operation);
    } catch (error) {
      this.refuse(reply, error, operation);
    } finally {
      this.inFlight--;
    }
  }

  private refuse(reply: FastifyReply, error: unknown, operation: Operation): void {
    this.responses.refuse(reply, error, operation);
    if (!isAttempt(operation)) return;
    this.admission.attemptFailed(reply.request, error instanceof Rejected ? error.slug : 'internal_error');
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
      ...((principal.kind === 'member' || principal.kind === 'user') && { session: principal.id }),
      requestId: id,
      traceparent,
      deadline: this.clock.wall() + gatewayLimits.deadlineMs,
      ...(key !== undefined && { idempotencyKey: keyOf(principal, String(key)) }),
      ...(sender !== undefined && { sender }),
    };
  }

  /** The validated input. Fields that the schema does not know are named in a header, or refused where the client asks so. */
  private async inputOf(operation: Operation, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { method, query } = request;
    const charge: Charge = tokens => this.admission.chargeContents(request, reply, tokens);
    const asked =
      method === 'POST' ? await requestBody(operation, request, charge) : saidIn(query as Record<string, unknown>);
    const checked = validate(operation.input, asked);
    if (!checked.ok) {
      this.admission.chargeMistakes(request, checked.issues.length - 1);
      throw new Rejected('invalid_parameters', undefined, checked.issues);
    }
    const ignored = ignoredFields(asked, checked.value);
    if (isStrict(request)) {
      reply.header('preference-applied', 'handling=strict');
      if (ignored.length > 0) throw new Rejected('invalid_parameters', undefined, ignored);
    }
    if (ignored.length > 0) reply.header('x-ignored-fields', listed(ignored));
    if (this.config.RECUR_ENV === 'production') requireHttps(operation, checked.value);
    return checked.value;
  }

  /** The input as the command's payload. */
  private payloadOf(input: unknown): string {
    const payload = JSON.stringify(input);
    // the payload may be longer than the body (defaults, escapes), and the bus has its own limit
    const most = (this.bus.nc.info?.max_payload ?? gatewayLimits.bodyBytes) - gatewayLimits.commandHeaderBytes;
    if (payload.length * 3 > most && Buffer.byteLength(payload) > most) throw new Rejected('body_too_large');
    return payload;
  }

  /** Responds to an unknown path or method without reading the body; names the merchant if the credential is valid. */
  private unknown(request: FastifyRequest, reply: FastifyReply): void {
    const unknown = wrongMethod(request, reply) ?? new Rejected('unknown_path');
    if (request.headers.authorization === undefined) {
      this.responses.refuse(reply, unknown);
      return;
    }
    this.admission.admit(request, reply, rejection =>
      this.responses.refuse(reply, rejection?.slug === 'rate_limited' ? rejection : unknown),
    );
  }
}

/** An Idempotency-Key as services know it: those of a merchant's users are apart from the merchant's, and from each other's. */
const keyOf = ({ kind, actor }: Principal | typeof nobody, key: string) =>
  kind === 'user' ? `user ${actor.id} ${key}` : key;

/** An operation that signs in, or tells whether a password is right. */
const isAttempt = ({ signIn, checksPassword }: Operation) => signIn === true || checksPassword === true;

/** RFC 7240: `Prefer: handling=strict` asks that unknown fields be an error. */
const isStrict = ({ headers }: FastifyRequest): boolean =>
  /(^|[,;\s])handling\s*=\s*"?strict"?\s*([,;]|$)/i.test(String(headers.prefer ?? ''));

/** The first fields, in a header: JSON pointers of a bounded length, with what is not ASCII in percent-encoding. */
function listed(fields: readonly { path: string }[]): string {
  let list = '';
  for (const { path } of fields) {
    const name = encodeURI(path.slice(0, 100).replace(/\p{Cs}/gu, '')).replaceAll(',', '%2C');
    if (list.length + name.length > gatewayLimits.ignoredChars) break;
    list += list === '' ? name : `, ${name}`;
  }
  return list;
}

/** Refuses plain http where a page of a production deployment would lead to. */
function requireHttps(operation: Operation, input: unknown): void {
  const given = input as Record<string, string | undefined>;
  const plain = returnFields(operation.input).filter(name => /^http:/i.test(given[name] ?? ''));
  const issues = plain.map(name => ({ path: `/${name}`, message: `${name} must be an https URL in production` }));
  if (issues.length > 0) throw new Rejected('invalid_parameters', undefined, issues);
}

/**
 * The body of a POST: JSON, NDJSON in its place where the operation takes that, or a form beside it. Throws Rejected where
 * it is of another type.
 */
function requestBody(
  { ndjson, multipart }: Operation,
  { body, headers }: FastifyRequest,
  charge: Charge,
): unknown | Promise<unknown> {
  const type = headers['content-type'] ?? '';
  if (type.startsWith(formType)) {
    if (multipart === undefined) throw new Rejected('unsupported_media_type');
    return formOf(body as Buffer | undefined, type, multipart);
  }
  const isNdjson = type.startsWith(ndjsonType);
  if (isNdjson !== (ndjson !== undefined)) {
    const message = ndjson === undefined ? undefined : `The body must be sent as ${ndjsonType}`;
    throw new Rejected('unsupported_media_type', message);
  }
  const bytes = body as Buffer | undefined;
  return ndjson === undefined ? jsonOf(bytes, charge) : { [ndjson]: linesOf(bytes, charge) };
}

/** The fields of a query; an empty one, as forms send it, counts as absent. */
const saidIn = (query: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''));

/** Throws Rejected where the input has an effect that the member's permissions do not reach. */
function requireAlso(operation: Operation, principal: Principal | null, input: unknown): void {
  if (principal?.kind !== 'member') return;
  const lacking = alsoNeeded(operation, input).find(({ permission }) => !allows(principal.grant, permission));
  if (lacking === undefined) return;
  const { permission, by } = lacking;
  const message = by === '' ? `It takes ${permission} too` : `With ${by} it takes ${permission} too`;
  throw new Rejected('permission_denied', message);
}

function principalOf({ principal }: FastifyRequest, operation: Operation): Principal {
  if (principal === null) throw new Error('a request without a caller has come through');
  if (!mayCall(principal, operation)) throw new Rejected('permission_denied');
  return principal;
}
