import type pg from 'pg';
import { begin, prepared, type Row } from './session.js';

interface Question {
  merchantId: number;
  text: string;
  values: readonly unknown[];
  asked: { resolve: (rows: Row[]) => void; reject: (error: unknown) => void }[];
}

const limits = { connections: 2, perTransaction: 128 } as const;

/**
 * Point reads of many commands, gathered: what is asked for within one turn of the event loop goes out together, in
 * one read-only transaction per merchant, and equal questions are asked once. The rows are shared: do not change them.
 * A question that fails makes its transaction fail; its questions are then asked again one by one.
 */
export class GatheredReads {
  /** By text, then by merchant and values: long texts are not hashed anew for every question. */
  private waiting = new Map<string, Map<string, Question>>();
  private readonly clients: (Promise<pg.PoolClient> | undefined)[] = [];
  private turn = 0;

  constructor(private readonly pool: pg.Pool) {}

  ask(merchantId: number, text: string, values: readonly unknown[]): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      if (this.waiting.size === 0) setImmediate(() => this.sendAll());
      const alike = this.waiting.get(text) ?? new Map<string, Question>();
      this.waiting.set(text, alike);
      const key = `${merchantId} ${JSON.stringify(values)}`;
      const question = alike.get(key);
      if (question) question.asked.push({ resolve, reject });
      else alike.set(key, { merchantId, text, values, asked: [{ resolve, reject }] });
    });
  }

  /** Gives the connections back; nothing may be asked any more. */
  async close(): Promise<void> {
    for (const client of this.clients.splice(0)) (await client?.catch(() => undefined))?.release();
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
      for (let at = 0; at < questions.length; at += limits.perTransaction) {
        void this.send(merchantId, questions.slice(at, at + limits.perTransaction));
      }
    }
  }

  private async send(merchantId: number, questions: readonly Question[]): Promise<void> {
    const results = await this.transaction(merchantId, questions);
    const failed = results.some(({ status }) => status === 'rejected');
    if (failed && questions.length > 1) {
      for (const question of questions) await this.send(merchantId, [question]);
      return;
    }
    for (const [at, { asked }] of questions.entries()) {
      const result = results[at];
      for (const { resolve, reject } of asked) {
        if (result?.status === 'fulfilled') resolve(result.value);
        else reject(result?.reason);
      }
    }
  }

  private async transaction(
    merchantId: number,
    questions: readonly Question[],
  ): Promise<PromiseSettledResult<Row[]>[]> {
    const lane = this.turn++ % limits.connections;
    try {
      const client = await this.client(lane);
      begin(client, merchantId, ' read only');
      const rows = questions.map(({ text, values }) => client.query<Row>(prepared(text, values)).then(r => r.rows));
      client.query('commit').catch(() => undefined);
      return await Promise.allSettled(rows);
    } catch (reason) {
      return questions.map(() => ({ status: 'rejected', reason }));
    }
  }

  private client(lane: number): Promise<pg.PoolClient> {
    const client = this.clients[lane] ?? this.connect(lane);
    this.clients[lane] = client;
    return client;
  }

  private async connect(lane: number): Promise<pg.PoolClient> {
    try {
      const client = await this.pool.connect();
      client.once('error', error => {
        if (this.clients[lane] === undefined) return;
        this.clients[lane] = undefined;
        client.release(error);
      });
      return client;
    } catch (error) {
      this.clients[lane] = undefined;
      throw error;
    }
  }
}
