import type pg from 'pg';
import type { Caller } from '../runtime/caller.js';
import { isTracing, traced } from '../runtime/tracing.js';
import { isConnectionLoss } from './errors.js';
import type { Joint } from './joint.js';
import { connectionOf, forgetOldPlans, prepared, type Row, runQuery } from './pool.js';

/** Isolation of a transaction: read committed, or one read-only snapshot. */
export type Mode = '' | ' isolation level repeatable read read only';

/** Begins a transaction that sees one merchant's rows only. A failure shows in the next statement. */
export function begin(client: pg.PoolClient, merchantId: number, mode: Mode = ''): void {
  forgetOldPlans(client);
  client.query(`begin${mode}; set local app.merchant_id = '${Number(merchantId)}'`).catch(() => undefined);
}

/** Asks one question of one merchant's rows, as a transaction of its own. */
export type Ask = (merchantId: number, text: string, values: readonly unknown[]) => Promise<Row[]>;

/** Where reads of one merchant's rows are asked. */
export interface Source {
  readonly merchantId: number;
  /** While items of a batch go side by side. */
  readonly joint?: Joint | undefined;
  query(text: string, values: readonly unknown[]): Promise<Row[]>;
}

/**
 * Transaction of one merchant, on a connection that is held until `commit` or `rollback`. It begins with the first
 * statement, which carries `begin` in the same round trip.
 */
export class Session implements Source {
  joint: Joint | undefined;
  private held: Promise<pg.PoolClient> | undefined;
  private isOver = false;
  private readonly afterwards: (() => void)[] = [];

  constructor(
    private readonly pool: pg.Pool,
    readonly merchantId: number,
    private readonly mode: Mode = '',
    protected readonly traceparent = '',
  ) {}

  get isOpen(): boolean {
    return this.held !== undefined;
  }

  async query(text: string, values: readonly unknown[]): Promise<Row[]> {
    const client = await this.client();
    return tracedStatement(text, this.traceparent, () => runQuery(client, prepared(text, values)));
  }

  /** Asks what is not worth preparing; it alone is planned by its values. */
  async queryUnprepared(text: string, values: readonly unknown[]): Promise<Row[]> {
    const client = await this.client();
    // a failure of these shows in the question itself, or in the next one
    const cacheMode = (mode: string) => client.query(`set local plan_cache_mode = ${mode}`).catch(() => undefined);
    void cacheMode('auto');
    const asked = tracedStatement(text, this.traceparent, () => runQuery(client, { text, values: [...values] }));
    void cacheMode('default');
    return asked;
  }

  /** Runs the last statements and commits, in one round trip. */
  async commit(last: readonly pg.QueryConfig[]): Promise<void> {
    const client = await this.client();
    this.isOver = true;
    this.held = undefined;
    const statements = () => Promise.allSettled([...last, 'commit'].map(query => runQuery(client, query)));
    const texts = isTracing() ? [...last.map(({ text }) => text), 'commit'].join(';\n') : '';
    const results = await tracedStatement(texts, this.traceparent, statements, 'commit');
    const failure = results.find(result => result.status === 'rejected');
    client.release(failure && isConnectionLoss(failure.reason));
    if (failure) throw failure.reason;
    for (const then of this.afterwards) then();
  }

  onCommit(then: () => void): void {
    this.afterwards.push(then);
  }

  /** Statements that were asked for before are still made, later ones are refused. */
  async rollback(): Promise<void> {
    this.isOver = true;
    const client = await this.held?.catch(() => undefined);
    this.held = undefined;
    await client?.query('rollback').then(
      () => client.release(),
      error => client.release(error),
    );
  }

  /** Begins now, where something has to be known to be in the transaction. */
  async open(): Promise<void> {
    await this.client();
  }

  private client(): Promise<pg.PoolClient> {
    // a part of a command goes on when another part of it was refused: it would begin a transaction that nobody ends
    if (this.isOver) return Promise.reject(new Error('The transaction is over'));
    this.held ??= connectionOf(this.pool).then(client => {
      begin(client, this.merchantId, this.mode);
      return client;
    });
    return this.held;
  }
}

/**
 * Reads of one merchant. Each question is asked by itself, batched with those of other commands, until `open` or `queryUnprepared`:
 * everything after that is read in one snapshot.
 */
export class ReadSession extends Session {
  constructor(
    pool: pg.Pool,
    merchantId: number,
    private readonly ask: Ask,
    traceparent: string,
  ) {
    super(pool, merchantId, ' isolation level repeatable read read only', traceparent);
  }

  override query(text: string, values: readonly unknown[]): Promise<Row[]> {
    if (this.isOpen) return super.query(text, values);
    return tracedStatement(text, this.traceparent, () => this.ask(this.merchantId, text, values));
  }
}

/** Asks one question after another of a caller's merchant, each as a transaction of its own. */
export const sourceOf = ({ merchantId, traceparent }: Caller, ask: Ask): Source => ({
  merchantId,
  query: (text, values) => tracedStatement(text, traceparent, () => ask(merchantId, text, values)),
});

/** A statement, or several that share a round trip, as a span: its text without its values, which may be secret. */
export function tracedStatement<T>(
  text: string,
  traceparent: string,
  run: () => Promise<T>,
  name?: string,
): Promise<T> {
  // beside a request nothing is a trace of its own: a statement of the relay or of a poll has no parent
  if (!isTracing() || traceparent === '') return run();
  const [, verb = 'sql', table = ''] = /^\s*(\w+)(?:[\s\S]*?\b(?:from|into|update)\s+(\w+))?/.exec(text) ?? [];
  const attributes = { 'db.system.name': 'postgresql', 'db.query.text': text };
  return traced(name ?? `${verb} ${table}`.trim(), 'client', traceparent, run, attributes);
}
