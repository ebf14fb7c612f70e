import { Rejected } from '@recur/kernel';
import type { Caller } from '../runtime/caller.js';
import type { Clock } from '../runtime/clock.js';
import type { Reply } from './message.js';

/** The first command with a key, with its reply until it is done. */
interface InFlight {
  requestId: string;
  fingerprint: string | undefined;
  reply: Promise<Reply> | undefined;
}

/** Makes commands with one Idempotency-Key wait, within this replica, for the first of them and share its reply. */
export class KeyGuard {
  private readonly inFlight = new Map<string, InFlight>();

  constructor(private readonly clock: Clock) {}

  /**
   * Runs a write, or waits for the one with the same key until the caller's deadline. A write that fails by a bug lets
   * the next one run. Throws Rejected `idempotency_reused` for another request under the key, `idempotency_in_use` when
   * the deadline passes.
   */
  async run(caller: Caller, command: () => Promise<Reply>): Promise<Reply> {
    const { requestId, fingerprint } = caller;
    // anonymous callers share merchant 0, so their keys are scoped by the request's fingerprint
    const key = `${caller.merchantId === 0 ? fingerprint : caller.merchantId} ${caller.idempotencyKey}`;
    for (let first = this.inFlight.get(key); first; first = this.inFlight.get(key)) {
      const reply = await Promise.race([first.reply?.catch(() => undefined), this.untilDeadline(caller)]);
      if (reply === undefined) continue;
      if (first.fingerprint !== fingerprint) throw new Rejected('idempotency_reused');
      return { ...reply, replayOf: reply.replayOf ?? first.requestId };
    }
    const own: InFlight = { requestId, fingerprint, reply: command() };
    this.inFlight.set(key, own);
    try {
      return await (own.reply as Promise<Reply>);
    } finally {
      this.inFlight.delete(key);
      // V8 keeps a Map's outgrown tables alive until a full collection: drop the reference so that the reply can go
      own.reply = undefined;
    }
  }

  private untilDeadline({ deadline }: Caller): Promise<never> {
    return new Promise((_, reject) => {
      const left = Math.max(0, deadline - this.clock.wall());
      setTimeout(() => reject(new Rejected('idempotency_in_use')), left).unref();
    });
  }
}
