import { hash } from 'node:crypto';
import type { Msg } from '@nats-io/transport-node';
import { type CustomTransportStrategy, type MessageHandler, Server } from '@nestjs/microservices';
import { type AnyOperation, isInternal, type Operation, patternOf, type Service, validate } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import { isObservable, lastValueFrom } from 'rxjs';
import type { Caller } from '../runtime/caller.js';
import type { Clock } from '../runtime/clock.js';
import type { Log } from '../runtime/log.js';
import type { Keyring } from '../runtime/secrets.js';
import { commandSeconds, commands } from '../runtime/telemetry.js';
import { startSpan, traceIdOf } from '../runtime/tracing.js';
import { answerBytes } from '../store/answers/answer-bytes.js';
import { jsonOfAnswer } from '../store/answers/json.js';
import { asRejection, isUnsent } from '../store/errors.js';
import { Replayed } from '../store/outcomes.js';
import type { Bus, CommandHandler } from './bus.js';
import { CommandQueue } from './command-queue.js';
import { KeyGuard } from './key-guard.js';
import { type Reply, refusal, type SentCaller, signedIn } from './message.js';
import { type CallerKeys, isSigned } from './signature.js';

/** Commands per replica, and the milliseconds that one may take at most, whatever its caller would wait. */
export interface CommandLimits {
  atOnce: number;
  waiting: number;
  budgetMs: number;
}

interface ServerParts {
  service: Service;
  bus: Pick<Bus, 'serve'>;
  clock: Clock;
  log: Log;
  keyring: Keyring;
  /** Keys that sign callers; undefined: whoever may send a command is believed. */
  callerKeys?: CallerKeys | undefined;
  limits: CommandLimits;
}

interface Handler {
  operation: AnyOperation;
  run: MessageHandler;
}

/**
 * The Nest transport of a service: takes its commands from NATS and hands them to the handlers that Nest has wrapped in
 * their guards, interceptors, pipes and filters. Before Nest sees a command, it has its deadline, its turn in a bounded
 * queue, its Idempotency-Key and its validated input. Internal operations have a queue of their own, so that services
 * whose commands ask each other cannot wait in a circle.
 */
export class NatsServer extends Server implements CustomTransportStrategy {
  private readonly keys: KeyGuard;
  private readonly commands: CommandQueue;
  private readonly questions: CommandQueue;
  private stop: (() => Promise<void>) | undefined;

  constructor(private readonly parts: ServerParts) {
    super();
    const { limits, clock } = parts;
    this.keys = new KeyGuard(clock);
    this.commands = new CommandQueue(limits.atOnce, limits.waiting, clock);
    this.questions = new CommandQueue(limits.atOnce, limits.waiting, clock);
  }

  /** Refuses what Nest would let pass: a second handler of a pattern, and a handler without a contract of this service. */
  override addHandler(
    pattern: string,
    run: MessageHandler,
    isEvent = false,
    extras: Record<string, unknown> = {},
  ): void {
    const operation = extras.operation as AnyOperation | undefined;
    if (isEvent || operation === undefined) throw new Error(`the handler of ${pattern} has no contract: use @Handle`);
    if (operation.service !== this.parts.service) throw new Error(`${pattern} is handled by ${this.parts.service}`);
    if (this.messageHandlers.has(pattern)) throw new Error(`two handlers for ${pattern}`);
    super.addHandler(pattern, run, false, extras);
  }

  async listen(callback: (error?: unknown) => void): Promise<void> {
    try {
      const { bus, service } = this.parts;
      const answer: CommandHandler = (command, payload, caller) => this.dispatch(command, payload, caller);
      this.stop = await bus.serve(service, answer, message => this.requireSignature(message));
      callback();
    } catch (error) {
      callback(error);
    }
  }

  /** Takes no more commands, and resolves once those that have come are answered. */
  async close(): Promise<void> {
    await this.stop?.();
  }

  on(): never {
    throw new Error('this transport has no events: see Bus.onReconnect');
  }

  unwrap<T>(): T {
    return this.parts.bus as T;
  }

  /** Throws Rejected unless the caller is signed, or services may ask it of each other. */
  private requireSignature({ subject, headers, data }: Msg): void {
    const { callerKeys: keys, log } = this.parts;
    if (keys === undefined) return;
    const operation: AnyOperation | undefined = this.messageHandlers.get(subject.slice('cmd.'.length))?.extras
      ?.operation;
    if (operation && isInternal(operation) && operation.amongServices) return;
    const { caller, signature } = signedIn(headers);
    if (isSigned(keys, signature, subject, caller, data)) return;
    log.error({ subject }, 'a command was refused: nobody has signed its caller');
    throw new Rejected('internal_error');
  }

  /** Never throws: whatever happens becomes a reply. */
  async dispatch(command: string, payload: string, sent: SentCaller): Promise<Reply> {
    const { clock, limits, service } = this.parts;
    const started = clock.wall();
    const deadline = Math.min(sent.deadline, started + limits.budgetMs);
    const span = startSpan(`${service}.${command}`, 'server', sent.traceparent, { 'recur.request_id': sent.requestId });
    const { traceparent } = span ?? sent;
    let failed: unknown;
    let slug = 'ok';
    try {
      const run = this.messageHandlers.get(patternOf({ service, name: command }));
      if (run === undefined) throw new Rejected('unknown_path');
      return await this.answer({ operation: run.extras?.operation, run }, payload, { ...sent, deadline, traceparent });
    } catch (error) {
      failed = error;
      const known = asRejection(error, !isUnsent(error));
      const rejection = known instanceof Rejected ? known : this.bug(command, error, sent);
      slug = rejection.slug;
      return refusal(rejection);
    } finally {
      span?.end(failed);
      // a subject that no handler has is not a label
      this.record(
        this.messageHandlers.has(patternOf({ service, name: command })) ? command : 'none',
        slug,
        sent,
        clock.wall() - started,
      );
    }
  }

  private answer(handler: Handler, payload: string, sent: SentCaller): Promise<Reply> {
    const { operation } = handler;
    const caller = this.callerOf(operation, payload, sent);
    const queue = isInternal(operation) ? this.questions : this.commands;
    const command = () => queue.run(caller.deadline, () => execute(handler, payload, caller));
    return caller.idempotencyKey === undefined ? command() : this.keys.run(caller, command);
  }

  /** The caller of one command, as its handler and `db.write` get it. */
  private callerOf(operation: AnyOperation, payload: string, sent: SentCaller): Caller {
    const key = isWrite(operation) ? sent.idempotencyKey : undefined;
    return {
      merchantId: sent.merchantId,
      actor: sent.actor,
      session: sent.session,
      requestId: sent.requestId,
      traceparent: sent.traceparent,
      deadline: sent.deadline,
      idempotencyKey: key,
      sender: sent.sender,
      fingerprint: key === undefined ? undefined : this.fingerprint(operation, payload, sent),
      secretOutput: isWrite(operation) && operation.secretOutput,
    };
  }

  /** A keyed digest where the command may hold a secret: a plain digest of a password could be guessed from. */
  private fingerprint(operation: AnyOperation, payload: string, sent: SentCaller): string {
    const digest = fingerprintOf(operation, payload, sent);
    const isSecret = isWrite(operation) && (operation.secretInput || operation.secretOutput);
    return isSecret ? this.parts.keyring.digest(digest) : digest;
  }

  private bug(command: string, error: unknown, { requestId, merchantId, traceparent }: SentCaller): Rejected {
    const traceId = traceIdOf(traceparent);
    this.parts.log.error({ err: error, requestId, traceId, merchantId, command }, 'a command failed unexpectedly');
    return new Rejected('internal_error');
  }

  private record(command: string, outcome: string, sent: SentCaller, durationMs: number): void {
    commandSeconds.observe({ command }, durationMs / 1000);
    commands.inc({ command, outcome });
    if (!this.parts.log.isLevelEnabled('debug')) return;
    const { requestId, merchantId, traceparent } = sent;
    this.parts.log.debug({
      requestId,
      merchantId,
      traceId: traceIdOf(traceparent),
      command,
      outcome,
      durationMs,
    });
  }
}

/**
 * Digest of an operation and its input, under which a repeat is recognised. It covers the identity token, and the member
 * of an operation on its own affairs or with a secret in its answer: their answers are never given to another.
 */
function fingerprintOf(operation: AnyOperation, payload: string, { sender, actor }: SentCaller): string {
  const parts = [operation.name, payload];
  const isSecret = isWrite(operation) && operation.secretOutput === true && actor.kind === 'member';
  if (isSecret || ('memberOnly' in operation && operation.memberOnly)) parts.push(actor.id);
  if (sender?.identityToken !== undefined) parts.push(sender.identityToken);
  // in one call: a Hash object holds memory outside the heap, and each collection would finalize hundreds
  return hash('sha256', parts.join('\n'), 'base64');
}

async function execute({ operation, run }: Handler, payload: string, caller: Caller): Promise<Reply> {
  const parsed = validate<AnyOperation['input']>(operation.input, inputIn(payload));
  if (!parsed.ok) throw new Rejected('invalid_parameters', undefined, parsed.issues);
  try {
    const result: unknown = await run(parsed.value, caller);
    // interceptors and filters answer with an Observable
    const output = (isObservable(result) ? await lastValueFrom(result) : result) as object;
    return { ok: true, bytes: bytesOf(operation, output) };
  } catch (error) {
    if (error instanceof Replayed) return { ok: true, bytes: error.answer, replayOf: error.requestId };
    throw error;
  }
}

/** The bytes that a write has stored, which a repeat under its key will get; of any other answer its JSON. */
function bytesOf(operation: AnyOperation, output: object): string {
  const bytes = isWrite(operation) ? answerBytes(output) : jsonOfAnswer(output);
  if (bytes === undefined) throw new Error(`${operation.name} does not answer what its write has returned`);
  return bytes;
}

const isWrite = (operation: AnyOperation): operation is Operation =>
  !isInternal(operation) && operation.effect === 'write';

function inputIn(payload: string): unknown {
  try {
    return JSON.parse(payload || '{}');
  } catch {
    throw new Rejected('malformed_json');
  }
}
