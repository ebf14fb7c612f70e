import type { Row } from '../pool.js';
import { int, integer, optionalInteger, optionalText, type Table, table, text } from '../schema/table.js';
import type { Session } from '../session.js';
import type { RowGroup } from '../sql/write-set.js';
import { indexOnly, planAsUsual } from './indexed.js';

/** A row of `due_work`; see work/tables.ts. */
interface DueWork {
  merchantId: number;
  kind: string;
  key: string;
  dueAt: number;
  attempts: number;
  leaseUntil: number | null;
  lease: string | null;
  reason: string | null;
  parkedAt: number | null;
}

/** `replaced`: scheduling an item again replaces its row, and with it the lease of the worker that is on it. */
const dueWork = table<DueWork>('due_work', {
  key: ['merchantId', 'kind', 'key'],
  columns: {
    merchantId: integer(),
    kind: text(),
    key: text(),
    dueAt: integer(),
    attempts: int(),
    leaseUntil: optionalInteger(),
    lease: optionalText(),
    reason: optionalText(),
    parkedAt: optionalInteger(),
  },
  infrastructure: true,
  replaced: true,
}) as unknown as Table<unknown>;

const unclaimed = { attempts: 0, leaseUntil: null, lease: null, reason: null, parkedAt: null } as const;

/** Items of one merchant and kind that a worker has leased. */
export interface LeasedItems {
  kind: string;
  keys: readonly string[];
  lease: string;
}

/**
 * Rows to change are looked up key by key and locked, then found by their `ctid`: a join may be planned so that it reads
 * all of a merchant's items.
 */
const named = `select w.at from unnest($2::text[], $3::text[]) r(kind, key) cross join lateral
  (select ctid as at from due_work where merchant_id = $1 and kind = r.kind and key = r.key offset 0 for update) w`;

/** Locks items ($2 kinds, $3 keys), which `removeText` then finds where they are. */
export const lockText = named;
export const removeText = `with named as materialized (${named})
  delete from due_work where ctid = any (array(select at from named))`;

/** The items of merchant $1 and kind $2 with keys $3 that are still leased to $4, as `leased`. */
export const leased = `leased as materialized (select w.at from unnest($3::text[]) r(key) cross join lateral
  (select ctid as at from due_work where merchant_id = $1 and kind = $2 and key = r.key and lease = $4
    offset 0 for update) w)`;

export const settleText = `with ${leased} delete from due_work where ctid = any (array(select at from leased)) returning key`;

export const rescheduledText = `select w.key from unnest($3::text[]) r(key) cross join lateral
  (select key from due_work where merchant_id = $1 and kind = $2 and key = r.key and lease is null offset 0) w`;

/** The work that one transaction schedules, takes off the schedule and settles. */
export class WorkChanges {
  private readonly scheduled = new Map<string, DueWork>();
  private readonly unscheduled = new Map<string, DueWork>();
  private settled = false;

  schedule(merchantId: number, kind: string, key: string, dueAt: number): void {
    if (!Number.isSafeInteger(dueAt)) throw new Error(`${kind} ${key}: due at ${dueAt}, which is no unix second`);
    const row = { merchantId, kind, key, dueAt, ...unclaimed };
    this.unscheduled.delete(nameOf(row));
    this.scheduled.set(nameOf(row), row);
  }

  unschedule(merchantId: number, kind: string, key: string): void {
    const name = nameOf({ kind, key });
    this.scheduled.delete(name);
    this.unscheduled.set(name, { merchantId, kind, key } as DueWork);
  }

  /** Adds the changes of another run in the same transaction; of an item that both change, the later one. */
  absorb(other: WorkChanges): void {
    for (const [name, row] of other.scheduled) {
      this.unscheduled.delete(name);
      this.scheduled.set(name, row);
    }
    for (const [name, row] of other.unscheduled) {
      this.scheduled.delete(name);
      this.unscheduled.set(name, row);
    }
    this.settled ||= other.settled;
  }

  /** Items are deleted by statements of the transaction. */
  get deleted(): boolean {
    return this.settled || this.unscheduled.size > 0;
  }

  /** The scheduled items, for the statement of the commit: in the order of their keys, or two commits could deadlock. */
  scheduledRows(): RowGroup[] {
    if (this.scheduled.size === 0) return [];
    const rows = [...this.scheduled].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => ({ row, version: 0 }));
    return [{ table: dueWork, change: 'insert', rows }];
  }

  /** Deletes what was taken off the schedule. Called right before the commit. */
  async remove(session: Session): Promise<void> {
    if (this.unscheduled.size === 0) return;
    const rows = [...this.unscheduled].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
    const values = [session.merchantId, rows.map(({ kind }) => kind), rows.map(({ key }) => key)];
    await Promise.all([indexed(session, lockText, values), indexed(session, removeText, values)]);
  }

  /**
   * Deletes leased items, which are done with this transaction. Returns the keys of those that are no longer this
   * worker's: taken over after the lease had ended, or unscheduled. Items rescheduled meanwhile stay as they are.
   */
  async settle(session: Session, { kind, keys, lease }: LeasedItems): Promise<string[]> {
    this.settled = true;
    const { merchantId } = session;
    const deleted = await indexed(session, settleText, [merchantId, kind, keys, lease]);
    if (deleted.length === keys.length) return [];
    const done = new Set(deleted.map(({ key }) => key));
    const left = keys.filter(key => !done.has(key));
    const rescheduled = await indexed(session, rescheduledText, [merchantId, kind, left]);
    const kept = new Set(rescheduled.map(({ key }) => key));
    return left.filter(key => !kept.has(key));
  }

  /** The kinds of which something is due by `now`, in unix seconds, once this is committed. */
  dueBy(now: number): string[] {
    const due = [...this.scheduled.values()].filter(({ dueAt }) => dueAt <= now);
    return [...new Set(due.map(({ kind }) => kind))];
  }
}

const nameOf = ({ kind, key }: { kind: string; key: string }) => `${kind} ${key}`;

/** A statement planned for indexes alone; all three travel together. */
async function indexed(session: Session, statement: string, values: readonly unknown[]): Promise<Row[]> {
  const [, rows] = await Promise.all([
    session.query(indexOnly, []),
    session.query(statement, values),
    session.query(planAsUsual, []),
  ]);
  return rows;
}
