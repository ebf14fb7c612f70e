import type pg from 'pg';
import type { Written } from '../../events/relay.js';
import { isConnectionLoss, prepared, queryOn, type Row } from '../session.js';
import { commitText, shapeOf } from '../statements.js';
import { commitValues, type EventRow, type WriteSet } from '../write-set.js';

interface Pending {
  effects: WriteSet;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Commands of one merchant that leave the same kinds of rows; `underway`: a statement of theirs is waited for. */
interface Queue {
  text: string;
  merchantId: number;
  pending: Pending[];
  underway: boolean;
}

const limits = { statementsAtOnce: 6, commandsPerStatement: 64, patienceMs: 200 } as const;

/**
 * Commits of independent commands share a statement: of one merchant, those that leave the same kinds of rows within one
 * turn of the event loop, and while a statement like theirs is under way, go out together, their rows as one longer array
 * each. Two such statements side by side would write to the same pages, and take longer than one after the other; only
 * of one that takes very long the next do not wait for the end. A statement is one transaction; when it fails, its
 * commands are tried again one by one, so none fails for another.
 */
export class CommitBatcher {
  private readonly queues = new Map<string, Queue>();
  private running = 0;
  private due: NodeJS.Immediate | undefined;

  constructor(
    private readonly pool: pg.Pool,
    /** Told of each statement that wrote events. */
    private readonly written: (written: Written) => void,
  ) {}

  /** Resolves when the effects of one command are durable. They must be inserts: an update needs its lock held. */
  commit(merchantId: number, effects: WriteSet): Promise<void> {
    const text = commitText(effects.changes);
    return new Promise((resolve, reject) => {
      const key = `${merchantId} ${shapeOf(effects.changes)}`;
      const queue = this.queues.get(key) ?? { text, merchantId, pending: [], underway: false };
      this.queues.set(key, queue);
      queue.pending.push({ effects, resolve, reject });
      this.due ??= setImmediate(() => {
        this.due = undefined;
        this.next();
      });
    });
  }

  private next(): void {
    for (const [key, queue] of this.queues) {
      if (this.running >= limits.statementsAtOnce) return;
      if (queue.underway) continue;
      this.queues.delete(key);
      if (queue.pending.length === 0) continue;
      // at the end of the line: a busy merchant does not hold up the others
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
    let listed: Row | undefined;
    try {
      [listed] = await queryOn(this.pool, prepared(text, commitValues(merchantId, all)));
    } catch (error) {
      // a broken connection leaves the outcome unknown: to try again here could do it twice
      if (batch.length === 1 || isConnectionLoss(error)) for (const { reject } of batch) reject(error);
      else for (const command of batch) await this.send(merchantId, text, [command]);
      return;
    }
    for (const { resolve } of batch) resolve();
    if (listed) this.written({ first: listed.first, rows: all.flatMap(({ events }) => published(merchantId, events)) });
  }
}

/** No more of events than is published: what they were made of would be kept until then. */
const published = (merchantId: number, events: readonly EventRow[]): Row[] =>
  events.map(({ id, type, aggregate, aggregateId, envelope }) => {
    return { id, type, merchant_id: merchantId, aggregate, aggregate_id: aggregateId, envelope };
  });
