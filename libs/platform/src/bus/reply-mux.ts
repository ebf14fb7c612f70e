import { createInbox, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';

/**
 * Messages that are answered, with one subscription for all answers. The connection's own requests do the same, and
 * make an error with its stack for each, answered or not: a tenth of what a command costs the gateway.
 */
export class ReplyMux {
  private readonly prefix = `${createInbox()}.`;
  private readonly listening = new Map<string, Listener>();
  private sent = 0;

  constructor(
    private readonly nc: NatsConnection,
    /** Told of an answer that could not be taken: what a subscription throws ends the reader of the whole connection. */
    private readonly failed: (error: unknown) => void,
  ) {
    nc.subscribe(`${this.prefix}*`, { callback: (error, message) => void (error ?? this.take(message)) });
  }

  /**
   * Sends a message, whose answers `hear` is given until it is stopped, by what this returns. Where nobody listens, the
   * server answers at once, see `isUnheard`. Throws where nothing could be sent.
   */
  ask(subject: string, payload: Uint8Array, hear: (answer: Msg) => void, headers?: MsgHdrs): () => void {
    const token = String(++this.sent);
    const listener: Listener = { hear };
    this.nc.publish(subject, payload, { reply: this.prefix + token, ...(headers && { headers }) });
    this.listening.set(token, listener);
    return () => {
      this.listening.delete(token);
      // the tables that a busy Map has outgrown live on for a while, with all that is reached from their entries
      listener.hear = undefined;
    };
  }

  private take(message: Msg): void {
    try {
      this.listening.get(message.subject.slice(this.prefix.length))?.hear?.(message);
    } catch (error) {
      this.failed(error);
    }
  }
}

interface Listener {
  hear: ((answer: Msg) => void) | undefined;
}

const NO_RESPONDERS = 503;

export const isUnheard = ({ data, headers }: Msg) => data.length === 0 && headers?.code === NO_RESPONDERS;
