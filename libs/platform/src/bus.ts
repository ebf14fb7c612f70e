import { connect, headers, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
import { Rejected } from '@recur/kernel';
import type { Caller } from './caller.js';
import type { Clock } from './clock.js';
import { Inbox, isUnheard } from './inbox.js';
import type { Log } from './log.js';

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

const limits = { replyHeaderBytes: 1_024, acknowledgedWithinMs: 3_000 } as const;

/**
 * The one door to NATS: commands with a deadline and headers on core NATS, and events for JetStream, of which all else
 * is reached through `nc`.
 */
export class Bus {
  private connected = true;
  private turn: Promise<void> | undefined;
  private readonly reconnected: (() => void)[] = [];
  private readonly inbox: Inbox;

  private constructor(
    readonly nc: NatsConnection,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {
    this.inbox = new Inbox(nc);
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
    const timeout = caller.deadline - this.clock.wall();
    if (timeout <= 0) throw new Rejected('deadline_exceeded');
    await this.nextTurn();
    if (!this.connected || this.nc.isClosed()) {
      throw new Rejected('dependency_away', 'The message bus is away; nothing was done');
    }
    const answer = await this.inbox.ask(subject, payload, toHeaders(caller), timeout);
    if (!answer) throw new Rejected('deadline_exceeded');
    if (!isUnheard(answer)) return fromReply(answer);
    const service = subject.split('.')[1];
    throw new Rejected('dependency_away', `The ${service} service is away; nothing was done`);
  }

  /**
   * Publishes to JetStream without waiting for each other: for each message whether the stream acknowledged it. One that
   * it did not may still be stored. Never throws.
   */
  publish(messages: readonly Publication[]): Promise<boolean[]> {
    const stored = messages.map(async ({ subject, id, payload }) => {
      const sent = headers();
      sent.set('Nats-Msg-Id', id);
      try {
        const answer = await this.inbox.ask(subject, payload, sent, limits.acknowledgedWithinMs);
        return answer !== undefined && isAcknowledgement(answer);
      } catch {
        // the connection is closed, or the message larger than it takes
        return false;
      }
    });
    return Promise.all(stored);
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
      underway++;
      try {
        const reply = await answer(
          message.subject.slice(prefix.length),
          textOf(message.data),
          fromHeaders(message.headers),
        );
        await this.nextTurn();
        respond(message, this.carries(reply.bytes) ? reply : tooLarge);
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

  /** The server would end a connection that sends more than it takes, and with it every other command's answer. */
  private carries(bytes: string | Uint8Array): boolean {
    const most = this.nc.info?.max_payload ?? Number.POSITIVE_INFINITY;
    return bytes.length * 3 <= most || Buffer.byteLength(bytes) <= most - limits.replyHeaderBytes;
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

/** What of a caller travels with its command, in one header: the library looks through all headers for each. */
type Sent = Omit<Caller, 'fingerprint' | 'written' | 'secretOutput'>;

function toHeaders(caller: Caller): MsgHdrs {
  const { merchantId, actor, session, requestId, traceparent, deadline, idempotencyKey, sender } = caller;
  const told: Sent = { merchantId, actor, session, requestId, traceparent, deadline, idempotencyKey, sender };
  const sent = headers();
  sent.set('caller', JSON.stringify(told));
  return sent;
}

function fromHeaders(received: MsgHdrs | undefined): Caller {
  // the decoder of headers makes wide strings, and whatever is joined with one becomes as wide and slow
  const told = JSON.parse(Buffer.from(received?.get('caller') ?? '').toString()) as Sent;
  return {
    merchantId: told.merchantId,
    actor: told.actor,
    session: told.session,
    requestId: told.requestId,
    traceparent: told.traceparent,
    deadline: told.deadline,
    idempotencyKey: told.idempotencyKey,
    sender: told.sender,
    // all that a command's caller may come to have: an object that grows is slow, at every look at it
    fingerprint: undefined,
    written: undefined,
    secretOutput: undefined,
  };
}

/** Only what arrived in one piece is a Buffer; of any other array `toString` makes a list of numbers. */
export const textOf = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  Buffer.from(buffer, byteOffset, byteLength).toString();

/** It names the stream; where no stream listens, the answer is empty. */
const isAcknowledgement = (answer: Msg) => answer.data.length > 0 && !answer.string().includes('"error"');

const tooLarge: Reply = { ok: false, bytes: JSON.stringify(new Rejected('answer_too_large')) };

function respond(message: Msg, reply: Reply): void {
  // a Buffer is made of a text in half the time that the connection's own encoder takes
  const bytes = typeof reply.bytes === 'string' ? Buffer.from(reply.bytes) : reply.bytes;
  if (reply.ok && !reply.replayOf) {
    message.respond(bytes);
    return;
  }
  const sent = headers();
  sent.set('status', reply.ok ? 'ok' : 'rejected');
  if (reply.replayOf) sent.set('replayed', reply.replayOf);
  message.respond(bytes, { headers: sent });
}

/** A plain success carries no headers: the hot path neither writes nor parses them. */
function fromReply(message: Msg): Reply {
  const replayOf = message.headers?.get('replayed');
  return {
    ok: message.headers?.get('status') !== 'rejected',
    bytes: message.data,
    ...(replayOf && { replayOf }),
  };
}
