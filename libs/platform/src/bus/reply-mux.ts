import { randomUUID } from 'node:crypto';
import { createInbox, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';

interface Request {
  take: ((reply: Msg) => void) | undefined;
}

/**
 * Requests with one subscription for all replies. `nc.request` does the same, and builds an Error with its stack for
 * each, answered or not: a tenth of what a command costs the gateway.
 */
export class ReplyMux {
  private readonly prefix: string;
  private readonly requests = new Map<string, Request>();

  constructor(
    private readonly nc: NatsConnection,
    inboxPrefix: string,
    /** Called with what `take` throws: an exception would end the reader of the whole connection. */
    private readonly failed: (error: unknown) => void,
  ) {
    this.prefix = `${createInbox(inboxPrefix)}.`;
    nc.subscribe(`${this.prefix}*`, { callback: (error, message) => void (error ?? this.take(message)) });
  }

  /**
   * Sends a request; `take` is called with each reply until the returned function is. Where nobody listens, the server
   * replies at once (see `hasNoResponders`). Throws where nothing could be sent.
   */
  ask(subject: string, payload: string | Uint8Array, take: (reply: Msg) => void, headers: MsgHdrs): () => void {
    // a subject that others could name would let them have another app's reply sent to it
    const token = randomUUID();
    const request: Request = { take };
    this.nc.publish(subject, payload, { reply: this.prefix + token, headers });
    this.requests.set(token, request);
    return () => {
      this.requests.delete(token);
      // V8 keeps a Map's outgrown tables alive until a full collection: drop the reference to what they reach
      request.take = undefined;
    };
  }

  private take(message: Msg): void {
    try {
      this.requests.get(message.subject.slice(this.prefix.length))?.take?.(message);
    } catch (error) {
      this.failed(error);
    }
  }
}

const NO_RESPONDERS = 503;

export const hasNoResponders = ({ data, headers }: Msg) => data.length === 0 && headers?.code === NO_RESPONDERS;
