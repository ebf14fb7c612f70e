import { createInbox, headers, type Msg, type NatsConnection } from '@nats-io/transport-node';

const limits = { waitMs: 3_000 } as const;

/** A message for a stream: `id` lets the stream drop a repeat (Nats-Msg-Id). */
export interface Publication {
  subject: string;
  id: string;
  payload: Uint8Array;
}

/**
 * Publishes to JetStream in batches: all messages are sent, then all acknowledgements awaited, which come to one inbox.
 * That costs less than half of a request each.
 */
export class Publisher {
  private readonly inbox = createInbox();
  private readonly waiting = new Map<string, (acknowledged: boolean) => void>();
  private sent = 0;

  constructor(private readonly nc: NatsConnection) {
    nc.subscribe(`${this.inbox}.*`, { callback: (error, message) => (error ? undefined : this.hear(message)) });
  }

  /** For each message whether it was acknowledged; one that was not may still be stored. Never throws. */
  async publish(messages: readonly Publication[]): Promise<boolean[]> {
    const tokens: string[] = [];
    const late = setTimeout(() => {
      for (const token of tokens) this.settle(token, false);
    }, limits.waitMs);
    const results = messages.map(({ subject, id, payload }) => {
      const token = String(++this.sent);
      tokens.push(token);
      return new Promise<boolean>(resolve => {
        this.waiting.set(token, resolve);
        const sent = headers();
        sent.set('Nats-Msg-Id', id);
        try {
          this.nc.publish(subject, payload, { headers: sent, reply: `${this.inbox}.${token}` });
        } catch {
          // the connection is closed, or the message larger than it takes
          this.settle(token, false);
        }
      });
    });
    const acknowledged = await Promise.all(results);
    clearTimeout(late);
    return acknowledged;
  }

  /** An acknowledgement names the stream; an error, or an empty answer where no stream listens, is none. */
  private hear(message: Msg): void {
    const token = message.subject.slice(this.inbox.length + 1);
    this.settle(token, message.data.length > 0 && !message.string().includes('"error"'));
  }

  private settle(token: string, acknowledged: boolean): void {
    this.waiting.get(token)?.(acknowledged);
    this.waiting.delete(token);
  }
}
