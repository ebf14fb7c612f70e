import { createHash } from 'node:crypto';
import { Rejected } from '@recur/kernel';
import pg from 'pg';

export type Row = Record<string, unknown>;

const JSON_OID = 114;

/** The pool of one service. Queries of one connection are sent without waiting for each other's answers. */
export function createPool(url: string, size: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: size,
    pipeline: true,
    statement_timeout: 3_000,
    idle_in_transaction_session_timeout: 10_000,
    connectionTimeoutMillis: 3_000,
    keepAlive: true,
    types: {
      // json columns are kept byte for byte; what is to be read as a value is jsonb
      getTypeParser: ((oid: number, format?: 'text') =>
        oid === JSON_OID ? String : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
    },
  } as pg.PoolConfig);
  // an idle connection that breaks is replaced at its next use: nobody waits for it
  pool.on('error', () => undefined);
  return pool;
}

const names = new Map<string, string>();

/** A hand-written statement is prepared once per connection, under a name made from its text. */
export function prepared(text: string, values: readonly unknown[]): pg.QueryConfig {
  let name = names.get(text);
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('base64url');
    names.set(text, name);
  }
  return { name, text, values: values as unknown[] };
}

/** Statements that begin a transaction which sees one merchant's rows only. */
export const beginAs = (merchantId: number, mode: '' | ' read only' = '') =>
  `begin${mode}; set local app.merchant_id = '${Number(merchantId)}'`;

type Waiting = { query: pg.QueryConfig; resolve: (rows: Row[]) => void; reject: (error: unknown) => void };

/**
 * One merchant's way to the database during one command. Reads that are asked for together (`Promise.all`) share one
 * round trip in a read-only transaction of their own; from `open` on, everything runs in one transaction that is held.
 */
export class Session {
  private waiting: Waiting[] = [];
  private held: pg.PoolClient | undefined;
  private readonly afterwards: (() => void)[] = [];

  constructor(
    private readonly pool: pg.Pool,
    readonly merchantId: number,
  ) {}

  get isOpen(): boolean {
    return this.held !== undefined;
  }

  query(text: string, values: readonly unknown[]): Promise<Row[]> {
    const query = prepared(text, values);
    if (this.held) return this.held.query<Row>(query).then(result => result.rows);
    return new Promise((resolve, reject) => {
      this.waiting.push({ query, resolve, reject });
      if (this.waiting.length === 1) queueMicrotask(() => void this.send());
    });
  }

  /** Begins the transaction that is held until `commit` or `rollback`. */
  async open(): Promise<void> {
    if (this.held) return;
    const client = await this.pool.connect();
    if (this.held) {
      client.release();
      return;
    }
    this.held = client;
    client.query(beginAs(this.merchantId)).catch(() => undefined);
  }

  /** Runs the last statements and commits, in one round trip. */
  async commit(last: readonly pg.QueryConfig[]): Promise<void> {
    const client = this.held;
    if (!client) throw new Error('commit without a transaction');
    const sent = [...last.map(query => client.query(query)), client.query('commit')];
    const results = await Promise.allSettled(sent);
    this.held = undefined;
    const failure = results.find(result => result.status === 'rejected');
    client.release(failure && isConnectionLoss(failure.reason));
    if (failure) throw failure.reason;
    for (const then of this.afterwards) then();
  }

  onCommit(then: () => void): void {
    this.afterwards.push(then);
  }

  async rollback(): Promise<void> {
    const client = this.held;
    if (!client) return;
    this.held = undefined;
    await client.query('rollback').then(
      () => client.release(),
      error => client.release(error),
    );
  }

  private async send(): Promise<void> {
    const batch = this.waiting;
    this.waiting = [];
    let client: pg.PoolClient;
    try {
      client = await this.pool.connect();
    } catch (error) {
      for (const { reject } of batch) reject(error);
      return;
    }
    client.query(beginAs(this.merchantId, ' read only')).catch(() => undefined);
    for (const { query, resolve, reject } of batch)
      client.query<Row>(query).then(result => resolve(result.rows), reject);
    await client.query('commit').then(
      () => client.release(),
      error => client.release(error),
    );
  }
}

/** The connection broke: what was being committed is unknown. */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: string }).code ?? '';
  return (
    /^(08|57P0[123]|ECONN|EPIPE|ENOTFOUND|ETIMEDOUT)/.test(code) || /Connection terminated|timeout/i.test(error.message)
  );
}

/** Two transactions were in each other's way; running one again is all that is needed. */
export const isCollision = (error: unknown) => ['40001', '40P01'].includes((error as { code?: string })?.code ?? '');

/** The name of the unique index that an insert ran into, if that is what went wrong. */
export const violatedIndex = (error: unknown) => {
  const { code, constraint } = (error ?? {}) as { code?: string; constraint?: string };
  return code === '23505' ? constraint : undefined;
};

/** A database failure as the caller sees it; anything unexpected stays what it is. */
export function asRejection(error: unknown, committing: boolean): unknown {
  if ((error as { code?: string })?.code === '57014') return new Rejected('deadline_exceeded');
  if (!isConnectionLoss(error)) return error;
  return committing
    ? new Rejected('deadline_exceeded')
    : new Rejected('dependency_away', 'The database is away; nothing was done');
}
