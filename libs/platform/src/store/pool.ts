import { createHash } from 'node:crypto';
import { Socket } from 'node:net';
import pg from 'pg';
import { serversIn } from '../runtime/config.js';
import { patient } from '../runtime/patience.js';
import { oncePerTurn } from '../runtime/turns.js';
import { asQueryError, isConnectionLoss, NoConnection } from './errors.js';

export type Row = Record<string, unknown>;

const sessionSettings = [
  // a replica whose machine is gone holds its locks for 25 seconds at most
  'tcp_keepalives_idle=10',
  'tcp_keepalives_interval=5',
  'tcp_keepalives_count=3',
  // Generic plans are made for a merchant of average size. A custom plan for a merchant that the statistics do not know
  // expects one row, so any index that begins with the merchant looks as good as the one that holds the key, and all
  // rows of the merchant are read for one. Statements that depend on their values are planned with `Session.queryUnprepared`.
  'plan_cache_mode=force_generic_plan',
];

/** The pool of one service; of several servers in the URL it connects to the primary. Queries of one connection are sent without waiting for each other's answers. */
export function createPool(url: string, size: number): pg.Pool {
  const pool = new pg.Pool({
    ...poolOfServers(url),
    max: size,
    pipeline: true,
    stream: () => coalescing(new Socket()),
    options: sessionSettings.map(setting => `-c ${setting}`).join(' '),
    statement_timeout: patient(3_000),
    // a little longer than the server's: it may be unreachable
    query_timeout: patient(4_000),
    idle_in_transaction_session_timeout: patient(10_000),
    connectionTimeoutMillis: patient(3_000),
    keepAlive: true,
    // idle connections stay: a new one has to plan every statement again
    idleTimeoutMillis: 0,
  } as pg.PoolConfig);
  // a broken connection fails its queries and is replaced, so the event itself needs no handling
  pool.on('error', () => undefined);
  pool.on('connect', client => client.on('error', () => undefined));
  return pool;
}

/** The server only reads: it is the standby of another one. */
class OnlyReads extends Error {
  constructor() {
    super('the server is a standby and only reads');
  }
}

async function refuseStandby(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ transaction_read_only: string }>('show transaction_read_only');
  if (rows[0]?.transaction_read_only === 'on') throw new OnlyReads();
}

/** The server of each URL that is tried next, by all pools of this process. */
const places = new Map<string, number>();

/**
 * Settings by which a pool connects to the primary among several servers: a connection that fails, or that finds a
 * standby, makes the next one of any pool with this URL try the next server. While there is no primary, every connection
 * fails.
 */
export function poolOfServers(url: string): pg.PoolConfig {
  const servers = serversIn(url);
  if (servers.length === 1) return { connectionString: url };
  const at = () => places.get(url) ?? 0;
  /** Connections that fail together move on by one server, and not by one each. */
  const leave = (left: number) => {
    if (at() === left) places.set(url, (left + 1) % servers.length);
  };
  const placeOf = new WeakMap<pg.ClientBase, number>();
  class Client extends pg.Client {
    constructor(config: pg.ClientConfig = {}) {
      const place = at();
      super({ ...config, connectionString: servers[place] });
      placeOf.set(this, place);
      // the pool connects with a callback
      const connect = this.connect.bind(this) as (done: (error?: Error) => void) => void;
      const watched = (done: (error?: Error) => void) =>
        connect(error => {
          if (error) leave(place);
          done(error);
        });
      this.connect = watched as typeof this.connect;
    }
  }
  const verify = (client: pg.ClientBase, done: (error?: Error) => void) =>
    refuseStandby(client).then(
      () => done(),
      error => {
        leave(placeOf.get(client) ?? at());
        done(error);
      },
    );
  return { Client, verify } as pg.PoolConfig;
}

/** The URL of the primary among the servers of a database. Throws the last server's error if there is none. */
export async function primaryOf(url: string): Promise<string> {
  const servers = serversIn(url);
  let refused: unknown;
  for (const server of servers.length === 1 ? [] : servers) {
    const client = new pg.Client({ connectionString: server, connectionTimeoutMillis: patient(3_000) });
    try {
      await client.connect();
      await refuseStandby(client);
      return server;
    } catch (error) {
      refused = error;
    } finally {
      await client.end().catch(() => undefined);
    }
  }
  if (refused) throw refused;
  return url;
}

/** Asks once for each server of a URL until one answers: a connection that fails makes the pool's next one try the next. */
export async function ofAnyServer<T>(url: string, ask: () => Promise<T>): Promise<T> {
  for (let left = serversIn(url).length - 1; ; left--) {
    try {
      return await ask();
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}

/** A socket that sends everything written within one turn in one system call, which costs more than a short query. */
function coalescing(socket: Socket): Socket {
  const write = socket.write.bind(socket) as (...values: unknown[]) => boolean;
  const uncork = oncePerTurn(() => {
    corked = false;
    socket.uncork();
  }, process.nextTick);
  let corked = false;
  // only once it is connected: connecting resets `write`
  return socket.once('connect', () => {
    socket.write = (...values: unknown[]) => {
      // a flag of our own: the driver corks and uncorks around each query
      if (!corked) {
        corked = true;
        socket.cork();
        uncork();
      }
      return write(...values);
    };
  });
}

/** A statement of this process, and how often it was used. */
interface Statement {
  name: string;
  uses: number;
}

const statements = new Map<string, Statement>();
/** How often the uses of a statement have doubled, of all statements. */
let doublings = 0;

/** A statement that is prepared once per connection, under a name derived from its text. */
export function prepared(text: string, values: readonly unknown[]): pg.QueryConfig {
  let statement = statements.get(text);
  if (statement === undefined) {
    statement = { name: createHash('sha256').update(text).digest('base64url'), uses: 0 };
    statements.set(text, statement);
  }
  const { name, uses } = statement;
  statement.uses++;
  // a power of two
  if (uses > 1 && (uses & (uses - 1)) === 0) doublings++;
  return { name, text, values: values as unknown[] };
}

/** A connection of the pool. Throws NoConnection. */
export function connectionOf(pool: pg.Pool): Promise<pg.PoolClient> {
  return pool.connect().catch(error => {
    throw new NoConnection(error);
  });
}

/** Runs a statement on a connection. Throws pg.DatabaseError, or ConnectionLost. */
export async function runQuery(client: pg.PoolClient, query: string | pg.QueryConfig): Promise<Row[]> {
  try {
    return (await client.query<Row>(query)).rows;
  } catch (error) {
    throw asQueryError(error);
  }
}

/**
 * Runs a statement on a connection of the pool. Unlike `pool.query` it keeps the connection when the statement fails: a new
 * connection costs more than a hundred refused statements.
 */
export async function queryOn(pool: pg.Pool, query: pg.QueryConfig): Promise<Row[]> {
  const client = await connectionOf(pool);
  forgetOldPlans(client);
  try {
    const rows = await runQuery(client, query);
    client.release();
    return rows;
  } catch (error) {
    client.release(isConnectionLoss(error));
    throw error;
  }
}

/** When each connection last dropped its plans, in milliseconds, and how many doublings there were then. */
const planned = new WeakMap<pg.PoolClient, { at: number; doublings: number }>();
const plansMs = 1_000;

/**
 * Drops a connection's plans where the uses of a statement have doubled since, at most once a second. A prepared statement
 * keeps its plan, and one made while a table was nearly empty may read all rows of a merchant for one, until the table's
 * statistics change, minutes later. A table does not grow much faster than the uses of what writes and reads it.
 */
export function forgetOldPlans(client: pg.PoolClient): void {
  const last = planned.get(client);
  if (last?.doublings === doublings) return;
  const at = performance.now();
  if (last && at - last.at < plansMs) return;
  planned.set(client, { at, doublings });
  if (last) client.query('discard plans').catch(() => undefined);
}
