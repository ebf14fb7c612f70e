import type pg from 'pg';
import { oncePerTurn } from '../../runtime/turns.js';
import { isConnectionLoss } from '../errors.js';
import { prepared, queryOn } from '../pool.js';
import { commitText, shapeOf } from '../sql/statements.js';
import { commitValues, type WriteSet } from '../sql/write-set.js';
import { binaryArrays } from './binary-arrays.js';

interface Pending {
  effects: WriteSet;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Commands of one merchant that write the same kinds of rows; `underway`: the next wait for a statement of theirs. */
interface Queue {
  text: string;
  merchantId: number;
  pending: Pending[];
  underway: boolean;
}

const limits = { statementsAtOnce: 6, commandsPerStatement: 64, patienceMs: 200 } as const;

/**
 * Commits of independent commands share a statement. Commands of one merchant that write the same kinds of rows go out
 * together if they are ready in one turn of the event loop, or while a statement like theirs is under way: two such
 * statements side by side write to the same pages and take longer than one after the other. After `patienceMs` the next
 * no longer wait. A statement is one transaction; if it fails, its commands are tried one by one, so that none fails
 * because of another.
 */
export class CommitBatcher {
  private readonly queues = new Map<string, Queue>();
  private running = 0;
  private readonly nextSoon = oncePerTurn(() => this.next());

  constructor(private readonly pool: pg.Pool) {}

  /** Resolves when the effects of one command are durable. They must be inserts: an update needs a lock that is held. */
  commit(merchantId: number, effects: WriteSet): Promise<void> {
    const text = commitText(effects.changes);
    return new Promise((resolve, reject) => {
      const key = `${merchantId} ${shapeOf(effects.changes)}`;
      const queue = this.queues.get(key) ?? { text, merchantId, pending: [], underway: false };
      this.queues.set(key, queue);
      queue.pending.push({ effects, resolve, reject });
      this.nextSoon();
    });
  }

  private next(): void {
    for (const [key, queue] of this.queues) {
      if (this.running >= limits.statementsAtOnce) return;
      if (queue.underway) continue;
      this.queues.delete(key);
      if (queue.pending.length === 0) continue;
      // requeued last: a busy merchant does not delay the others
      this.queues.set(key, queue);
      this.setOut(queue);
    }
  }

  private setOut(queue: Queue): void {
    const batch = queue.pending.splice(0, limits.commandsPerStatement);
    let waitedFor = true;
    const follow = () => {
      if (waitedFor) queue.underway = false;
      waitedFor = false;
      this.next();
    };
    const patience = setTimeout(follow, limits.patienceMs);
    this.running++;
    queue.underway = true;
    void this.send(queue.merchantId, queue.text, batch).finally(() => {
      this.running--;
      clearTimeout(patience);
      follow();
    });
  }

  private async send(merchantId: number, text: string, batch: readonly Pending[]): Promise<void> {
    const all = batch.map(({ effects }) => effects);
    try {
      await queryOn(this.pool, prepared(text, commitValues(merchantId, all, binaryArrays)));
    } catch (error) {
      // the outcome is unknown: trying again here could commit twice
      if (batch.length === 1 || isConnectionLoss(error)) for (const { reject } of batch) reject(error);
      else for (const command of batch) await this.send(merchantId, text, [command]);
      return;
    }
    for (const { resolve } of batch) resolve();
  }
}
