import type pg from 'pg';
import { oncePerTurn } from '../../runtime/turns.js';
import { connectionOf, forgetOldPlans, prepared, type Row, runQuery } from '../pool.js';

interface Question {
  merchantId: number;
  text: string;
  values: readonly unknown[];
  asked: { resolve: (rows: Row[]) => void; reject: (error: unknown) => void }[];
}

const limits = { connections: 2, atOnce: 128 } as const;

/** A connection kept for reads, and the merchant whose rows it sees. */
interface Lane {
  client: Promise<pg.PoolClient>;
  merchantId: number | undefined;
  /** Setting that merchant, and read-only mode. */
  seen: Promise<unknown> | undefined;
}

const see = `select set_config('app.merchant_id', $1, false), set_config('default_transaction_read_only', 'on', false)`;

/**
 * Batches point reads of many commands: questions of one turn of the event loop go out together, and equal questions are
 * asked once. The rows are shared, so they must not be changed. Each question is a transaction of its own. The
 * connections are used for nothing else and are read-only; their merchant is set whenever it changes.
 */
export class ReadBatcher {
  /** By text, then by merchant and values: long texts are not hashed again for every question. */
  private waiting = new Map<string, Map<string, Question>>();
  private readonly lanes: (Lane | undefined)[] = [];
  private turn = 0;
  private readonly sendSoon = oncePerTurn(() => this.sendAll());

  constructor(private readonly pool: pg.Pool) {}

  ask(merchantId: number, text: string, values: readonly unknown[]): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.sendSoon();
      const alike = this.waiting.get(text) ?? new Map<string, Question>();
      this.waiting.set(text, alike);
      const key = `${merchantId} ${JSON.stringify(values)}`;
      const question = alike.get(key);
      if (question) question.asked.push({ resolve, reject });
      else alike.set(key, { merchantId, text, values, asked: [{ resolve, reject }] });
    });
  }

  /** Ends the connections; nothing may be asked any more. */
  async close(): Promise<void> {
    for (const lane of this.lanes.splice(0)) (await lane?.client.catch(() => undefined))?.release(true);
  }

  private sendAll(): void {
    const byMerchant = new Map<number, Question[]>();
    for (const question of [...this.waiting.values()].flatMap(alike => [...alike.values()])) {
      const batch = byMerchant.get(question.merchantId);
      if (batch) batch.push(question);
      else byMerchant.set(question.merchantId, [question]);
    }
    this.waiting = new Map();
    for (const [merchantId, questions] of byMerchant) {
      for (let at = 0; at < questions.length; at += limits.atOnce) {
        void this.send(merchantId, questions.slice(at, at + limits.atOnce));
      }
    }
  }

  private async send(merchantId: number, questions: readonly Question[]): Promise<void> {
    const results = await this.answers(merchantId, questions);
    for (const [at, { asked }] of questions.entries()) {
      const result = results[at];
      for (const { resolve, reject } of asked) {
        if (result?.status === 'fulfilled') resolve(result.value);
        else reject(result?.reason);
      }
    }
  }

  private async answers(merchantId: number, questions: readonly Question[]): Promise<PromiseSettledResult<Row[]>[]> {
    const at = this.turn++ % limits.connections;
    const lane = this.lanes[at] ?? this.open(at);
    this.lanes[at] = lane;
    try {
      const client = await lane.client;
      forgetOldPlans(client);
      if (lane.merchantId !== merchantId) {
        lane.merchantId = merchantId;
        lane.seen = runQuery(client, prepared(see, [String(merchantId)]));
      }
      const { seen } = lane;
      const rows = questions.map(({ text, values }) => runQuery(client, prepared(text, values)));
      const [set, ...results] = await Promise.allSettled([seen, ...rows]);
      // the answers may be about the previous merchant
      if (set?.status === 'rejected') throw set.reason;
      return results as PromiseSettledResult<Row[]>[];
    } catch (reason) {
      lane.merchantId = undefined;
      return questions.map(() => ({ status: 'rejected', reason }));
    }
  }

  private open(at: number): Lane {
    const connect = async () => {
      try {
        const client = await connectionOf(this.pool);
        client.once('error', error => {
          if (this.lanes[at] !== lane) return;
          this.lanes[at] = undefined;
          client.release(error);
        });
        return client;
      } catch (error) {
        if (this.lanes[at] === lane) this.lanes[at] = undefined;
        throw error;
      }
    };
    const lane: Lane = { client: connect(), merchantId: undefined, seen: undefined };
    return lane;
  }
}
