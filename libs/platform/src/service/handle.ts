import { hash } from 'node:crypto';
import { type In, type Operation, type Out, validate } from '@recur/contracts';
import { Rejected } from '@recur/kernel';
import type { Reply } from '../bus/bus.js';
import type { Caller } from '../runtime/caller.js';
import type { Clock } from '../runtime/clock.js';
import type { Log } from '../runtime/log.js';
import type { Keyring } from '../runtime/secrets.js';
import { commandSeconds } from '../runtime/telemetry.js';
import { answerBytes } from '../store/answers/answer-bytes.js';
import { jsonOfAnswer } from '../store/answers/json.js';
import { asRejection, isUnsent } from '../store/errors.js';
import { Replayed } from '../store/outcomes.js';

type Run = (input: never, caller: Caller) => Promise<object>;

const handled = new WeakMap<object, Operation>();

/** Marks the method that runs an operation: `(input, caller) => Promise<output>`. */
export function Handle<Op extends Operation>(operation: Op) {
  return <M extends (input: In<Op>, caller: Caller) => Promise<Out<Op>>>(
    _of: object,
    _name: string | symbol,
    method: TypedPropertyDescriptor<M>,
  ): void => {
    if (method.value) handled.set(method.value, operation);
  };
}

export interface Handler {
  operation: Operation;
  run: Run;
}

/** The operations that an instance handles. */
export function handlersOf(instance: object): Handler[] {
  const prototype = Object.getPrototypeOf(instance) as Record<string, unknown>;
  return Object.getOwnPropertyNames(prototype).flatMap(name => {
    const method = Object.getOwnPropertyDescriptor(prototype, name)?.value as Run | undefined;
    const operation = typeof method === 'function' ? handled.get(method) : undefined;
    return method && operation ? [{ operation, run: method.bind(instance) as Run }] : [];
  });
}

interface Limits {
  atOnce: number;
  waiting: number;
  /** What a command may take at most, whatever its caller would wait. */
  budgetMs: number;
}

/** The first command with a key; its reply until it is done. */
interface Underway {
  requestId: string;
  fingerprint: string;
  reply: Promise<Reply> | undefined;
}

/**
 * Runs the commands of one replica: a bounded number at once, a bounded number waiting within their deadlines, the
 * rest refused. Commands with one Idempotency-Key wait for the first and get its answer.
 */
export class Dispatcher {
  private readonly handlers = new Map<string, Handler>();
  private readonly underway = new Map<string, Underway>();
  private readonly line: (() => void)[] = [];
  private running = 0;

  constructor(
    handlers: readonly Handler[],
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly limits: Limits,
    private readonly keyring: Keyring,
  ) {
    for (const handler of handlers) {
      const { name } = handler.operation;
      if (this.handlers.has(name)) throw new Error(`two handlers for ${name}`);
      this.handlers.set(name, handler);
    }
  }

  /** Never throws: every failure becomes a reply. */
  async dispatch(command: string, payload: string, caller: Caller): Promise<Reply> {
    const started = this.clock.wall();
    let slug = 'ok';
    try {
      const deadline = Math.min(caller.deadline, started + this.limits.budgetMs);
      return await this.answer(command, payload, { ...caller, deadline });
    } catch (error) {
      const known = asRejection(error, !isUnsent(error));
      const rejection = known instanceof Rejected ? known : this.bug(command, error, caller);
      slug = rejection.slug;
      return { ok: false, bytes: JSON.stringify(rejection) };
    } finally {
      commandSeconds.observe({ command, outcome: slug }, (this.clock.wall() - started) / 1000);
      if (this.log.isLevelEnabled('debug')) {
        const { requestId, merchantId, traceparent } = caller;
        this.log.debug({
          requestId,
          merchantId,
          traceId: traceparent.split('-')[1],
          command,
          outcome: slug,
          durationMs: this.clock.wall() - started,
        });
      }
    }
  }

  private async answer(command: string, payload: string, sent: Caller): Promise<Reply> {
    const handler = this.handlers.get(command);
    if (!handler) throw new Rejected('unknown_path');
    const { effect, secretInput, secretOutput = false } = handler.operation;
    const { idempotencyKey } = sent;
    if (effect === 'read' || idempotencyKey === undefined) {
      return this.inTurn(handler, payload, { ...sent, secretOutput, idempotencyKey: undefined });
    }
    const digest = fingerprintOf(handler.operation, payload, sent);
    // the input may hold a secret, and a plain digest of a password can be guessed from
    const fingerprint = secretInput || secretOutput ? this.keyring.digest(digest) : digest;
    const caller = { ...sent, secretOutput, fingerprint };
    // anonymous callers share merchant 0, so their keys are scoped by request fingerprint
    const key = `${caller.merchantId === 0 ? fingerprint : caller.merchantId} ${idempotencyKey}`;
    for (let first = this.underway.get(key); first; first = this.underway.get(key)) {
      const reply = await Promise.race([first.reply?.catch(() => undefined), this.untilDeadline(caller)]);
      if (reply === undefined) continue;
      if (first.fingerprint !== fingerprint) throw new Rejected('idempotency_reused');
      return { ...reply, replayOf: reply.replayOf ?? first.requestId };
    }
    const reply = this.inTurn(handler, payload, caller);
    const own: Underway = { requestId: caller.requestId, fingerprint, reply };
    this.underway.set(key, own);
    try {
      return await reply;
    } finally {
      this.underway.delete(key);
      // the tables that a busy Map has outgrown live on for a while, with all that is reached from their entries
      own.reply = undefined;
    }
  }

  private async inTurn(handler: Handler, payload: string, caller: Caller): Promise<Reply> {
    if (this.running >= this.limits.atOnce) await this.wait(caller);
    else this.running++;
    try {
      if (this.clock.wall() >= caller.deadline) throw new Rejected('deadline_exceeded');
      return await run(handler, payload, caller);
    } finally {
      const next = this.line.shift();
      if (next) next();
      else this.running--;
    }
  }

  private wait(caller: Caller): Promise<void> {
    if (this.line.length >= this.limits.waiting) throw new Rejected('overloaded');
    return new Promise((resolve, reject) => {
      const turn = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.line.splice(this.line.indexOf(turn), 1);
        reject(new Rejected('overloaded'));
      }, caller.deadline - this.clock.wall());
      this.line.push(turn);
    });
  }

  private untilDeadline(caller: Caller): Promise<never> {
    return new Promise((_, reject) => {
      const left = Math.max(0, caller.deadline - this.clock.wall());
      setTimeout(() => reject(new Rejected('idempotency_in_use')), left).unref();
    });
  }

  private bug(command: string, error: unknown, { requestId, merchantId }: Caller): Rejected {
    this.log.error({ err: error, requestId, merchantId, command }, 'a command failed unexpectedly');
    return new Rejected('internal_error');
  }
}

/** An answer that was given for one identity token, or to one member on its own affairs, is never given to another. */
function fingerprintOf({ name, memberOnly }: Operation, payload: string, { sender, actor }: Caller): string {
  const parts = [name, payload];
  if (memberOnly) parts.push(actor.id);
  if (sender?.identityToken !== undefined) parts.push(sender.identityToken);
  // in one call: a Hash object holds memory outside the heap, and each collection would finalize hundreds
  return hash('sha256', parts.join('\n'), 'base64');
}

async function run({ operation, run }: Handler, payload: string, caller: Caller): Promise<Reply> {
  const parsed = validate(operation.input, JSON.parse(payload || '{}'));
  if (!parsed.ok) throw new Rejected('invalid_parameters', undefined, parsed.issues);
  try {
    const output = await run(parsed.value as never, caller);
    const bytes = operation.effect === 'write' ? answerBytes(output) : jsonOfAnswer(output);
    // a repeat under the same key would get a different answer
    if (bytes === undefined) throw new Error(`${operation.name} does not answer what its write has returned`);
    return { ok: true, bytes };
  } catch (error) {
    if (error instanceof Replayed) return { ok: true, bytes: error.answer, replayOf: error.requestId };
    throw error;
  }
}
