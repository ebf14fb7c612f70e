import { createHash } from 'node:crypto';
import { Socket } from 'node:net';
import { Rejected } from '@recur/kernel';
import pg from 'pg';

export type Row = Record<string, unknown>;

const settings = [
  // a silent replica, whose machine may be gone without a word, holds its locks for 25 seconds at most
  'tcp_keepalives_idle=10',
  'tcp_keepalives_interval=5',
  'tcp_keepalives_count=3',
  // Statements are planned for a merchant of average size, not for the one that asks. Of one that the statistics do not
  // know the planner expects a single row. Then each index that begins with the merchant is as good as the one that holds
  // the key, and all rows of the merchant are read for one. What depends on its values is asked with `once`.
  'plan_cache_mode=force_generic_plan',
];

/** The pool of one service. Queries of one connection are sent without waiting for each other's answers. */
export function createPool(url: string, size: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: size,
    pipeline: true,
    stream: () => coalescing(new Socket()),
    options: settings.map(setting => `-c ${setting}`).join(' '),
    statement_timeout: 3_000,
    // who asks gives up a little after the server should have: the network may be gone
    query_timeout: 4_000,
    idle_in_transaction_session_timeout: 10_000,
    connectionTimeoutMillis: 3_000,
    keepAlive: true,
    // after ten quiet seconds each would be closed, and the next commands wait for new ones that have to plan everything
    idleTimeoutMillis: 0,
  } as pg.PoolConfig);
  // a connection that breaks fails the queries under way on it, and is replaced: nobody waits for the event itself
  pool.on('error', () => undefined);
  pool.on('connect', client => client.on('error', () => undefined));
  return pool;
}

/** A socket that sends what was written within one turn in one piece: a system call costs more than a short query. */
function coalescing(socket: Socket): Socket {
  const write = socket.write.bind(socket) as (...values: unknown[]) => boolean;
  let corked = false;
  // not before it connects, which gives a socket the usual `write` again
  return socket.once('connect', () => {
    socket.write = (...values: unknown[]) => {
      // whether the driver has corked it says nothing: it does so for each query
      if (!corked) {
        corked = true;
        socket.cork();
        process.nextTick(() => {
          corked = false;
          socket.uncork();
        });
      }
      return write(...values);
    };
  });
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

/** How a transaction may see and change: as it likes, or reading one snapshot. */
export type Mode = '' | ' isolation level repeatable read read only';

/** Begins a transaction that sees one merchant's rows only. A failure shows in what is asked next. */
export function begin(client: pg.PoolClient, merchantId: number, mode: Mode = ''): void {
  forgetOldPlans(client);
  client.query(`begin${mode}; set local app.merchant_id = '${Number(merchantId)}'`).catch(() => undefined);
}

/** How often connections of this process have been used, and how often that had doubled when each was to plan anew. */
let uses = 0;
const plannedAt = new WeakMap<pg.PoolClient, number>();

/**
 * A prepared statement keeps its plan, and one that was made while a table was nearly empty may read all rows of a
 * merchant for one, until the statistics of the table change, minutes later. So a connection forgets its plans whenever
 * all of them together have been used twice as often as the last time: no table has grown by much more meanwhile.
 */
export function forgetOldPlans(client: pg.PoolClient): void {
  const doublings = Math.floor(Math.log2(++uses));
  const planned = plannedAt.get(client) ?? doublings;
  plannedAt.set(client, doublings);
  if (planned < doublings) client.query('discard plans').catch(() => undefined);
}

/**
 * One statement on a connection of the pool. Unlike `pool.query` it keeps the connection when the statement fails: a
 * new one costs more than a hundred refused statements.
 */
export async function queryOn(pool: pg.Pool, query: pg.QueryConfig): Promise<Row[]> {
  const client = await pool.connect();
  forgetOldPlans(client);
  try {
    const { rows } = await client.query<Row>(query);
    client.release();
    return rows;
  } catch (error) {
    client.release(isConnectionLoss(error));
    throw error;
  }
}

/** Asks one question of one merchant's rows, outside any transaction that is held. */
export type Ask = (merchantId: number, text: string, values: readonly unknown[]) => Promise<Row[]>;

/**
 * One merchant's way to the database during one command. Reads are asked one by one until `open`; from then on
 * everything runs in one transaction that is held.
 */
export class Session {
  private held: Promise<pg.PoolClient> | undefined;
  private readonly afterwards: (() => void)[] = [];

  constructor(
    private readonly pool: pg.Pool,
    readonly merchantId: number,
    private readonly ask: Ask,
    private readonly mode: Mode = '',
  ) {}

  get isOpen(): boolean {
    return this.held !== undefined;
  }

  async query(text: string, values: readonly unknown[]): Promise<Row[]> {
    if (!this.held) return this.ask(this.merchantId, text, values);
    const client = await this.held;
    return (await client.query<Row>(prepared(text, values))).rows;
  }

  /** Asks what is not worth preparing, in the transaction that is held, and is planned by its values: it alone. */
  async once(text: string, values: readonly unknown[]): Promise<Row[]> {
    const client = await this.held;
    if (!client) throw new Error('once without a transaction');
    // what goes wrong with these shows in the question itself, or in the next one
    const cacheMode = (mode: string) => client.query(`set local plan_cache_mode = ${mode}`).catch(() => undefined);
    void cacheMode('auto');
    const asked = client.query<Row>(text, [...values]);
    void cacheMode('default');
    return (await asked).rows;
  }

  /** Begins the transaction that is held until `commit` or `rollback`. */
  async open(): Promise<void> {
    this.held ??= this.pool.connect().then(client => {
      begin(client, this.merchantId, this.mode);
      return client;
    });
    await this.held;
  }

  /** Runs the last statements and commits, in one round trip. */
  async commit(last: readonly pg.QueryConfig[]): Promise<void> {
    if (!this.held) throw new Error('commit without a transaction');
    const client = await this.held;
    this.held = undefined;
    const results = await Promise.allSettled([...last.map(query => client.query(query)), client.query('commit')]);
    const failure = results.find(result => result.status === 'rejected');
    client.release(failure && isConnectionLoss(failure.reason));
    if (failure) throw failure.reason;
    for (const then of this.afterwards) then();
  }

  onCommit(then: () => void): void {
    this.afterwards.push(then);
  }

  async rollback(): Promise<void> {
    const client = await this.held?.catch(() => undefined);
    this.held = undefined;
    await client?.query('rollback').then(
      () => client.release(),
      error => client.release(error),
    );
  }
}

/**
 * The connection broke, or there is none to be had: what was being committed is unknown. SQLSTATE has no class E: such a
 * code is the operating system's or the resolver's; Node's own, of wrong arguments and the like, begin with ERR_. A
 * statement that took longer than it may counts too (its message says "timeout"): the database is as good as away.
 */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: string }).code ?? '';
  return (
    /^(08|53300|57P0[123]|E(?!RR_))/.test(code) || /Connection terminated|not queryable|timeout/i.test(error.message)
  );
}

/** There was no connection to send anything on: nothing was done. */
export const isUnsent = (error: unknown) => (error as { syscall?: string })?.syscall === 'connect';

/**
 * Two transactions were in each other's way; running one again is all that is needed. One of two that insert the same
 * row may be told so by the row's key, or by the number of its first event.
 */
export const isCollision = (error: unknown) =>
  ['40001', '40P01'].includes((error as { code?: string })?.code ?? '') || violatedIndex(error) === 'outbox_version';

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
