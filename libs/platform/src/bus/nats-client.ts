import { ClientProxy, type ReadPacket, type WritePacket } from '@nestjs/microservices';
import type { Caller } from '../runtime/caller.js';
import type { Bus } from './bus.js';
import type { Reply } from './message.js';

/** The data of `NatsClient.send`: the JSON of an operation's input, and its caller. */
export interface CommandPacket {
  payload: string;
  caller: Caller;
}

/**
 * The Nest client of the services: `send<Reply, CommandPacket>('billing.invoice.new', …)`. The reply's bytes are passed
 * through unparsed. Fails with Rejected `dependency_away` at once when nobody listens, `deadline_exceeded` when no reply
 * came by the caller's deadline: the outcome is unknown then.
 */
export class NatsClient extends ClientProxy {
  private readonly bus: Bus;

  constructor({ bus }: { bus: Bus }) {
    super();
    this.bus = bus;
  }

  /** The connection belongs to whoever made the bus. */
  async connect(): Promise<void> {}

  async close(): Promise<void> {}

  unwrap<T>(): T {
    return this.bus as T;
  }

  protected publish(packet: ReadPacket<CommandPacket>, done: (reply: WritePacket<Reply>) => void): () => void {
    const { payload, caller } = packet.data;
    this.bus.request(`cmd.${packet.pattern}`, payload, caller).then(
      response => done({ response, isDisposed: true }),
      err => done({ err }),
    );
    return () => undefined;
  }

  /** Events leave through the outbox alone: `emit` has no acknowledgement. */
  protected dispatchEvent(): never {
    throw new Error('events are emitted by tx.emit');
  }
}
