import { connect, headers, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { Rejected } from '@recur/kernel';
import type { Caller } from '../runtime/caller.js';
import type { Clock } from '../runtime/clock.js';
import type { Log } from '../runtime/log.js';
import { framed, messagesOf, type Part, unframed } from './frame.js';
import { isUnheard, ReplyMux } from './reply-mux.js';

/** What a service answers: the exact bytes of the payload, or a rejection as JSON. */
export interface Reply {
  ok: boolean;
  bytes: Uint8Array | string;
  /** Set on a stored answer: the request that it was first given to. */
  replayOf?: string;
}

/** A message for a stream: `id` lets the stream drop a repeat (Nats-Msg-Id). */
export interface Publication {
  subject: string;
  id: string;
  payload: Uint8Array;
}

/** What of a caller travels with its command. */
type Sent = Omit<Caller, 'fingerprint' | 'secretOutput'>;

/** What goes with an answer: which of a message's commands it answers, and how. */
type Told = Pick<Reply, 'replayOf'> & { at: number; ok: boolean };

/** A command that waits for its turn to be sent, and then for its answer. */
interface Asked extends Part<Sent> {
  timeoutMs: number;
  settle(answer: Reply | undefined): void;
  fail(error: unknown): void;
}

/** `headBytes` is the most that is added to a single answer. */
const limits = { headBytes: 1_024, acknowledgedWithinMs: 3_000 } as const;

/**
 * The one door to NATS: commands with a deadline on core NATS, and events for JetStream, of which all else is reached
 * through `nc`. Commands of one name that are sent in one turn of the event loop share a message, and so do their
 * answers that are ready in one turn; none waits for another's.
 */
export class Bus {
  private connected = true;
  private turn: Promise<void> | undefined;
  /** By subject: what is sent with this turn. */
  private readonly asked = new Map<string, Asked[]>();
  private readonly reconnected: (() => void)[] = [];
  private readonly replies: ReplyMux;

  private constructor(
    readonly nc: NatsConnection,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {
    this.replies = new ReplyMux(nc, error => log.warn({ err: error }, 'an answer could not be taken'));
    void this.watch();
  }

  /**
   * Connects; later losses are mended in the background. A process that serves waits for the first connection as long
   * as it takes (`patient`), one that does a single thing fails at once.
   */
  static async connect(urls: string, name: string, clock: Clock, log: Log, patient = true): Promise<Bus> {
    const options = {
      servers: urls.split(','),
      name,
      noAsyncTraces: true,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 200,
      pingInterval: 10_000,
      maxPingOut: 2,
    };
    const nc = await connect(options).catch(error => {
      if (!patient) throw error;
      log.warn(`NATS at ${urls} cannot be reached yet (${error.message}); it is waited for`);
      return connect({ ...options, waitOnFirstConnect: true });
    });
    return new Bus(nc, clock, log);
  }

  get up(): boolean {
    return this.connected;
  }

  /** Calls `listener` each time the connection is back after a loss. */
  onReconnect(listener: () => void): void {
    this.reconnected.push(listener);
  }

  /**
   * Sends a command and waits for its reply until the caller's deadline.
   * Throws Rejected: `dependency_away` when nobody listens or NATS is away (nothing was done), `deadline_exceeded`
   * when no reply came in time (the outcome is unknown).
   */
  async request(subject: string, payload: string | Uint8Array, caller: Caller): Promise<Reply> {
    const timeoutMs = caller.deadline - this.clock.wall();
    if (timeoutMs <= 0) throw new Rejected('deadline_exceeded');
    const answer = await new Promise<Reply | undefined>((settle, fail) => {
      const together = this.asked.get(subject) ?? [];
      together.push({ head: sentOf(caller), bytes: payload, timeoutMs, settle, fail });
      if (together.length > 1) return;
      this.asked.set(subject, together);
      void this.nextTurn().then(() => this.sendAll(subject, together));
    });
    if (answer === undefined) throw new Rejected('deadline_exceeded');
    return answer;
  }

  /**
   * Publishes to JetStream without waiting for each other: for each message whether the stream acknowledged it. One that
   * it did not may still be stored. Never throws.
   */
  publish(messages: readonly Publication[]): Promise<boolean[]> {
    return Promise.all(messages.map(message => this.store(message)));
  }

  /**
   * Answers the commands of one service; replicas share them by queue group. Resolves when the server knows of it, to
   * what stops it, which resolves when all that have come are answered.
   */
  async serve(service: string, answer: (command: string, payload: string, caller: Caller) => Promise<Reply>) {
    const prefix = `cmd.${service}.`;
    let underway = 0;
    let idle: () => void = () => undefined;
    const hear = async (message: Msg) => {
      const command = message.subject.slice(prefix.length);
      const ready: Part<Told>[] = [];
      const run = async ({ head, bytes }: Part<Sent, Uint8Array>, at: number) => {
        const { ok, bytes: answered, replayOf } = await answer(command, textOf(bytes), callerOf(head));
        ready.push({ head: { at, ok, replayOf }, bytes: answered });
        if (ready.length > 1) return;
        await this.nextTurn();
        this.respond(message, ready.splice(0));
      };
      underway++;
      try {
        const runs = await Promise.allSettled(unframed<Sent>(message.data).map(run));
        for (const end of runs) if (end.status === 'rejected') throw end.reason;
      } finally {
        if (--underway === 0) idle();
      }
    };
    const served = this.subscribe(`${prefix}>`, hear, service);
    // a connection that is lost meanwhile subscribes again when it is back
    await this.nc.flush().catch(() => undefined);
    return async (): Promise<void> => {
      await served.drain().catch(() => undefined);
      if (underway > 0) {
        await new Promise<void>(resolve => {
          idle = resolve;
        });
      }
    };
  }

  /** A signal without a promise: whoever listens now hears it. */
  signal(subject: string, payload = ''): void {
    if (this.connected) this.nc.publish(subject, payload);
  }

  onSignal(subject: string, listener: (payload: string) => void): void {
    this.subscribe(subject, async message => listener(message.string()));
  }

  async close(): Promise<void> {
    if (!this.nc.isClosed()) await (this.connected ? this.nc.drain() : this.nc.close());
  }

  /** What is thrown while a message is delivered would end the reader of the whole connection, for good. */
  private subscribe(subject: string, hear: (message: Msg) => Promise<void>, queue?: string) {
    const failed = (error: unknown) => this.log.warn({ err: error, subject }, 'a message could not be taken');
    return this.nc.subscribe(subject, {
      ...(queue !== undefined && { queue }),
      callback: (error, message) => void (error || hear(message).catch(failed)),
    });
  }

  private sendAll(subject: string, asked: readonly Asked[]): void {
    this.asked.delete(subject);
    for (const commands of messagesOf(asked)) {
      try {
        this.send(subject, commands);
      } catch (error) {
        for (const command of commands) command.fail(error);
      }
    }
  }

  private send(subject: string, commands: readonly Asked[]): void {
    if (!this.connected || this.nc.isClosed()) throw away('The message bus');
    const waiting = new Map<number, NodeJS.Timeout>();
    const end = (at: number) => {
      clearTimeout(waiting.get(at));
      if (waiting.delete(at) && waiting.size === 0) stop();
      return commands[at];
    };
    const expire = (at: number) => end(at)?.settle(undefined);
    const hear = (message: Msg) => {
      if (isUnheard(message)) {
        const rejection = away(`The ${subject.split('.')[1]} service`);
        for (const at of [...waiting.keys()]) end(at)?.fail(rejection);
      } else {
        for (const { head, bytes } of unframed<Told>(message.data)) {
          end(head.at)?.settle({ ok: head.ok, bytes, replayOf: head.replayOf });
        }
      }
    };
    const stop = this.replies.ask(subject, framed(commands), hear);
    for (const [at, { timeoutMs }] of commands.entries()) waiting.set(at, setTimeout(expire, timeoutMs, at));
  }

  /** Whether the stream has acknowledged a message. */
  private store({ subject, id, payload }: Publication): Promise<boolean> {
    const sent = headers();
    sent.set('Nats-Msg-Id', id);
    const answered = new Promise<boolean>(resolve => {
      const end = (stored: boolean) => {
        clearTimeout(timer);
        stop();
        resolve(stored);
      };
      const stop = this.replies.ask(subject, payload, answer => end(isAcknowledgement(answer)), sent);
      const timer = setTimeout(end, limits.acknowledgedWithinMs, false);
    });
    // the connection is closed, or the message larger than it takes
    return answered.catch(() => false);
  }

  private respond(message: Msg, answers: readonly Part<Told>[]): void {
    const given = answers.map(answer => (this.carries(answer.bytes) ? answer : tooLarge(answer.head.at)));
    for (const together of messagesOf(given)) message.respond(framed(together));
  }

  /** The server would end a connection that sends more than it takes, and with it every other command's answer. */
  private carries(bytes: string | Uint8Array): boolean {
    const most = this.nc.info?.max_payload ?? Number.POSITIVE_INFINITY;
    return bytes.length * 3 <= most || Buffer.byteLength(bytes) <= most - limits.headBytes;
  }

  /** What is sent in one turn of the event loop leaves in one piece: a system call costs more than a short message. */
  private nextTurn(): Promise<void> {
    this.turn ??= new Promise(resolve =>
      setImmediate(() => {
        this.turn = undefined;
        resolve();
      }),
    );
    return this.turn;
  }

  private async watch(): Promise<void> {
    for await (const status of this.nc.status()) {
      if (status.type === 'disconnect') {
        this.connected = false;
        this.log.warn('NATS connection lost');
      } else if (status.type === 'reconnect') {
        this.connected = true;
        this.log.info('NATS connection is back');
        for (const listener of this.reconnected) listener();
      }
    }
  }
}

function sentOf(caller: Caller): Sent {
  const { merchantId, actor, session, requestId, traceparent, deadline, idempotencyKey, sender } = caller;
  return { merchantId, actor, session, requestId, traceparent, deadline, idempotencyKey, sender };
}

function callerOf(sent: Sent): Caller {
  return {
    merchantId: sent.merchantId,
    actor: sent.actor,
    session: sent.session,
    requestId: sent.requestId,
    traceparent: sent.traceparent,
    deadline: sent.deadline,
    idempotencyKey: sent.idempotencyKey,
    sender: sent.sender,
    // all that a command's caller may come to have: an object that grows is slow, at every look at it
    fingerprint: undefined,
    secretOutput: undefined,
  };
}

/** Only what arrived in one piece is a Buffer; of any other array `toString` makes a list of numbers. */
export const textOf = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  Buffer.from(buffer, byteOffset, byteLength).toString();

/** It names the stream; where no stream listens, the answer is empty. */
const isAcknowledgement = (answer: Msg) => answer.data.length > 0 && !answer.string().includes('"error"');

const away = (who: string) => new Rejected('dependency_away', `${who} is away; nothing was done`);

const tooLarge = (at: number): Part<Told> => ({
  head: { at, ok: false },
  bytes: JSON.stringify(new Rejected('answer_too_large')),
});
