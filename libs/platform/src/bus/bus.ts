import { connect, headers, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { Rejected } from '@recur/kernel';
import type { Caller } from '../runtime/caller.js';
import type { Clock } from '../runtime/clock.js';
import type { Log } from '../runtime/log.js';
import { patient } from '../runtime/patience.js';
import { within } from '../runtime/tracing.js';
import { oncePerTurn } from '../runtime/turns.js';
import { callerIn, headersOf, headersOfReply, type Reply, refusal, replyIn, type SentCaller } from './message.js';
import { hasNoResponders, ReplyMux } from './reply-mux.js';

/** A message for a stream: `id` lets the stream drop a repeat (Nats-Msg-Id). */
export interface Publication {
  subject: string;
  id: string;
  payload: Uint8Array;
}

/** Signs a caller for a command (see `signatureOf`); undefined where there is nothing to sign with. */
export type Sign = (subject: string, caller: string, payload: string | Uint8Array) => string | undefined;

/** Answers a command. `command` is the name of the operation, within its service. */
export type CommandHandler = (command: string, payload: string, caller: SentCaller) => Promise<Reply>;

/** `replyHeaderBytes` is the most that the headers of a reply take, `budgetMs` the time of a command without a deadline. */
const limits = { replyHeaderBytes: 1_024, acknowledgedWithinMs: patient(3_000), budgetMs: patient(5_000) } as const;

/**
 * The connection to NATS: commands with a deadline on core NATS, and publications acknowledged by JetStream. Everything
 * else is reached through `nc`.
 */
export class Bus {
  private connected = true;
  private readonly waitingForTurn: (() => void)[] = [];
  private readonly endTurn = oncePerTurn(() => {
    for (const proceed of this.waitingForTurn.splice(0)) proceed();
  });
  private readonly reconnected: (() => void)[] = [];
  private readonly replies: ReplyMux;
  /** Signs the callers of the commands that a gateway sends. */
  sign: Sign | undefined;

  private constructor(
    readonly nc: NatsConnection,
    name: string,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {
    this.replies = new ReplyMux(nc, inboxOf(name), error => log.warn({ err: error }, 'a reply could not be taken'));
    void this.watch();
  }

  /**
   * Connects; later losses are mended in the background. A process that serves waits for the first connection as long
   * as it takes (`patient`), one that does a single thing fails at once. `urls` may hold user and password.
   */
  static async connect(urls: string, name: string, clock: Clock, log: Log, patient = true): Promise<Bus> {
    const options = {
      ...serversOf(urls),
      name,
      // replies come to subjects that only this app may subscribe to
      inboxPrefix: inboxOf(name),
      noAsyncTraces: true,
      maxReconnectAttempts: -1,
      // a login that is refused for a while is no reason to give up: the server may be reloading its users
      ignoreAuthErrorAbort: true,
      reconnectTimeWait: 200,
      // a server that has fallen silent is left after six seconds
      pingInterval: 2_000,
      maxPingOut: 2,
    };
    const nc = await connect(options).catch(error => {
      const why = `NATS at ${options.servers} cannot be reached`;
      if (!patient) throw new Error(`${why}: ${error.message}`);
      log.warn(`${why} yet (${error.message}); it is waited for`);
      return connect({ ...options, waitOnFirstConnect: true });
    });
    return new Bus(nc, name, clock, log);
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
  request(subject: string, payload: string | Uint8Array, caller: Caller): Promise<Reply> {
    return within(`send ${subject}`, 'client', caller, inner => this.replyTo(subject, payload, inner));
  }

  private async replyTo(subject: string, payload: string | Uint8Array, caller: Caller): Promise<Reply> {
    const timeoutMs = caller.deadline - this.clock.wall();
    if (timeoutMs <= 0) throw new Rejected('deadline_exceeded');
    const sent = headersOf(caller, text => this.sign?.(subject, text, payload));
    await this.nextTurn();
    if (!this.connected || this.nc.isClosed()) throw away('The message bus');
    return new Promise<Reply>((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        stop();
      };
      const take = (message: Msg) => {
        if (hasNoResponders(message)) {
          end();
          reject(away(`The ${subject.split('.')[1]} service`));
          return;
        }
        const reply = replyIn(message);
        if (reply === undefined) throw new Error(`what came in reply to ${subject} is no reply`);
        end();
        resolve(reply);
      };
      const stop = this.replies.ask(subject, payload, take, sent);
      const timer = setTimeout(() => {
        stop();
        reject(new Rejected('deadline_exceeded'));
      }, timeoutMs);
    });
  }

  /**
   * Publishes to JetStream without waiting for each other: for each message whether the stream acknowledged it. One that
   * it did not may still be stored. Never throws.
   */
  publish(messages: readonly Publication[]): Promise<boolean[]> {
    return Promise.all(messages.map(message => this.store(message)));
  }

  /**
   * Answers the commands of one service; replicas share them by queue group. Resolves when the server knows of the
   * subscription, to a function that ends it and resolves once every command that has come is answered. A message that
   * `check` throws Rejected at is answered with that.
   */
  async serve(service: string, answer: CommandHandler, check?: (message: Msg) => void): Promise<() => Promise<void>> {
    const prefix = `cmd.${service}.`;
    let underway = 0;
    let idle: () => void = () => undefined;
    const run = async (message: Msg) => {
      underway++;
      try {
        const reply = await this.answered(message, message.subject.slice(prefix.length), answer, check);
        await this.nextTurn();
        this.respond(message, reply);
      } finally {
        if (--underway === 0) idle();
      }
    };
    const served = this.subscribe(`${prefix}>`, run, service);
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

  /** Publishes a signal without a promise: only current subscribers receive it. */
  signal(subject: string, payload = ''): void {
    if (this.connected) this.nc.publish(subject, payload);
  }

  onSignal(subject: string, listener: (payload: string) => void): void {
    this.subscribe(subject, async message => listener(message.string()));
  }

  async close(): Promise<void> {
    if (!this.nc.isClosed()) await (this.connected ? this.nc.drain() : this.nc.close());
  }

  /** Subscribes; an exception from a subscription's callback would end the reader of the whole connection, for good. */
  private subscribe(subject: string, take: (message: Msg) => Promise<void>, queue?: string) {
    const failed = (error: unknown) => this.log.warn({ err: error, subject }, 'a message could not be taken');
    return this.nc.subscribe(subject, {
      ...(queue !== undefined && { queue }),
      callback: (error, message) => void (error || take(message).catch(failed)),
    });
  }

  private async answered(
    message: Msg,
    command: string,
    answer: CommandHandler,
    check?: (message: Msg) => void,
  ): Promise<Reply> {
    let caller: SentCaller;
    try {
      check?.(message);
      caller = callerIn(message.headers, this.clock.wall() + limits.budgetMs);
    } catch (error) {
      if (error instanceof Rejected) return refusal(error);
      throw error;
    }
    return answer(command, message.string(), caller);
  }

  private respond(message: Msg, reply: Reply): void {
    const carried = this.carries(reply.bytes) ? reply : refusal(new Rejected('answer_too_large'));
    message.respond(carried.bytes, { headers: headersOfReply(carried) });
  }

  /** The server would end a connection that sends more than it takes, and with it every other command's reply. */
  private carries(bytes: string | Uint8Array): boolean {
    const most = this.nc.info?.max_payload ?? Number.POSITIVE_INFINITY;
    return bytes.length * 3 <= most || Buffer.byteLength(bytes) <= most - limits.replyHeaderBytes;
  }

  /** True if the stream has acknowledged the message. */
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

  /** Messages of one turn of the event loop leave in one write: a system call costs more than a short message. */
  private nextTurn(): Promise<void> {
    return new Promise(resolve => {
      this.waitingForTurn.push(resolve);
      this.endTurn();
    });
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

const inboxOf = (name: string) => `_INBOX.${name}`;

/** Servers without credentials, and the user and password in the first URL that has them. */
function serversOf(urls: string) {
  const all = urls.split(',').map(url => new URL(url.includes('://') ? url.trim() : `nats://${url.trim()}`));
  const servers = all.map(({ protocol, host }) => `${protocol}//${host}`);
  const { username, password } = all.find(url => url.username !== '') ?? { username: '', password: '' };
  return { servers, ...(username && { user: decodeURIComponent(username), pass: decodeURIComponent(password) }) };
}

/** An acknowledgement names the stream; where no stream listens, the answer is empty. */
const isAcknowledgement = (answer: Msg) => answer.data.length > 0 && !answer.string().includes('"error"');

const away = (who: string) => new Rejected('dependency_away', `${who} is away; nothing was done`);
