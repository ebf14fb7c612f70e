import { Rejected } from '@recur/kernel';
import pg from 'pg';

/** No connection could be had, so nothing was sent. */
export class NoConnection extends Error {
  override readonly name = 'NoConnection';

  constructor(cause: unknown) {
    super('no connection to the database', { cause });
  }
}

/** The connection, or the time for an answer, was lost: whether the statement took effect is unknown. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';

  constructor(cause?: unknown) {
    super('the connection to the database was lost', { cause });
  }
}

/**
 * SQLSTATEs of a session or a statement that the server ended, or a server that is shutting down or full:
 * connection exceptions, insufficient resources, query canceled, lock and transaction timeouts, shutdown, system errors.
 */
const lossStates = /^(08...|53...|57014|57P0[1-5]|55P03|25P0[34]|58...)$/;
/** Node's codes of failed system calls and name lookups (ECONNRESET, EAI_AGAIN), but not of programming errors (ERR_…). */
const systemCodes = /^E(?!RR_)[A-Z0-9_]+$/;

/**
 * The database could not be reached, or not in time. A statement that ran into its timeout counts: the database is as
 * good as away.
 */
export function isConnectionLoss(error: unknown): boolean {
  if (error instanceof NoConnection || error instanceof ConnectionLost) return true;
  const code = sqlState(error);
  return lossStates.test(code) || systemCodes.test(code);
}

/** There was no connection to send anything on: nothing was done. */
export const isUnsent = (error: unknown): boolean => error instanceof NoConnection;

/**
 * Classifies the error of a query. The server's errors and programming errors are returned unchanged; anything else comes
 * from the driver, because the connection was lost or time ran out.
 */
export function asQueryError(error: unknown): unknown {
  const isProgramming =
    error instanceof TypeError ||
    error instanceof RangeError ||
    /^ERR_/.test(sqlState(error)) ||
    !(error instanceof Error);
  return error instanceof pg.DatabaseError || isProgramming ? error : new ConnectionLost(error);
}

/**
 * Two transactions were in each other's way; running one again is enough. When two insert the same row, one may fail on
 * the unique version of its first event instead of on the row's key.
 */
export const isCollision = (error: unknown): boolean =>
  ['40001', '40P01'].includes(sqlState(error)) || violatedIndex(error) === 'outbox_version';

/** The name of the unique index that a statement violated, if that is what went wrong. */
export function violatedIndex(error: unknown): string | undefined {
  return sqlState(error) === '23505' ? (error as { constraint?: string }).constraint : undefined;
}

/** A database failure as its caller sees it; `unknown`: a commit may have happened. Other errors stay what they are. */
export function asRejection(error: unknown, unknown: boolean): unknown {
  if (sqlState(error) === '57014') return new Rejected('deadline_exceeded');
  if (!isConnectionLoss(error)) return error;
  return unknown
    ? new Rejected('deadline_exceeded')
    : new Rejected('dependency_away', 'The database is away; nothing was done');
}

export function sqlState(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
