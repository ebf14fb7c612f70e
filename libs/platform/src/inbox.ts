import { createInbox, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';

/**
 * Messages that are answered, with one subscription for all answers. The connection's own requests do the same, and
 * make an error with its stack for each, answered or not: a tenth of what a command costs the gateway.
 */
export class Inbox {
  private readonly prefix = `${createInbox()}.`;
  private readonly waiting = new Map<string, Waiting>();
  private sent = 0;

  constructor(private readonly nc: NatsConnection) {
    nc.subscribe(`${this.prefix}*`, {
      callback: (error, message) => void (error ?? this.settle(message.subject.slice(this.prefix.length), message)),
    });
  }

  /**
   * Sends a message and resolves to its answer; to undefined when none came within `ms`. Where nobody listens, the
   * server answers at once, see `isUnheard`. Throws where nothing could be sent.
   */
  ask(subject: string, payload: string | Uint8Array, headers: MsgHdrs, ms: number): Promise<Msg | undefined> {
    const token = String(++this.sent);
    this.nc.publish(subject, payload, { headers, reply: this.prefix + token });
    return new Promise(resolve => {
      this.waiting.set(token, { resolve, timer: setTimeout(() => this.settle(token), ms) });
    });
  }

  private settle(token: string, answer?: Msg): void {
    const waiting = this.waiting.get(token);
    if (!waiting) return;
    this.waiting.delete(token);
    clearTimeout(waiting.timer);
    waiting.resolve?.(answer);
    // the tables that a busy Map has outgrown live on for a while, with all that is reached from their entries
    waiting.resolve = waiting.timer = undefined;
  }
}

interface Waiting {
  resolve: ((answer?: Msg) => void) | undefined;
  timer: NodeJS.Timeout | undefined;
}

const NO_RESPONDERS = 503;

export const isUnheard = ({ data, headers }: Msg) => data.length === 0 && headers?.code === NO_RESPONDERS;
