import { randomUUID } from 'node:crypto';
import type { Clock } from '../runtime/clock.js';
import type { Log } from '../runtime/log.js';
import { workItems } from '../runtime/telemetry.js';
import type { Db } from '../store/db.js';
import { claimText, releaseText } from './statements.js';
import type { Work, WorkItem } from './work.js';

const pause = { baseSeconds: 2, factor: 3, maxSeconds: 3_600 } as const;

export interface LeaseParts {
  db: Db;
  clock: Clock;
  log: Log;
  /** From 0 up to 1. */
  random(): number;
  /** The merchants' clocks can be moved: in a sandbox. */
  clocksMove: boolean;
}

/** Items of one kind and merchant that this worker has to itself until `until`. Made by `claim`. */
export interface Lease {
  id: string;
  work: Work;
  merchantId: number;
  /** In order of due_at. */
  items: readonly WorkItem[];
  /** The item was claimed before and not done: it is leased by itself, so that an item that ends its worker is found. */
  alone: boolean;
}

/**
 * Leases due items of one kind and merchant, durably; undefined if there are none. Parks an item out of attempts. `at`: the
 * merchant's time by which they are due, if it is not the present.
 */
export async function claim(
  parts: LeaseParts,
  work: Work,
  merchantId: number,
  at?: number,
): Promise<Lease | undefined> {
  const now = Math.floor(parts.clock.wall() / 1000);
  const id = randomUUID();
  const merchantNow = at ?? (work.time === 'merchant' ? now + (await offsetOf(parts, merchantId)) : now);
  const values = [work.kind, merchantId, now, merchantNow, id, now + work.leaseSeconds, work.batch];
  const rows = await parts.db.queryIndexOnly(claimText, values);
  if (rows.length === 0) return undefined;
  workItems.inc({ kind: work.kind, outcome: 'claimed' }, rows.length);
  const items = rows
    .map(row => itemOf(id, work.kind, merchantId, row))
    .sort((a, b) => a.dueAt - b.dueAt || (a.key < b.key ? -1 : 1));
  const lease = { id, work, merchantId, items, alone: rows[0]?.alone === true };
  const [first] = items;
  if (!first || first.attempt <= work.attempts) return lease;
  await park(parts, lease, rows[0]?.reason ? String(rows[0].reason) : 'its workers ended before it was done');
  return { ...lease, items: [] };
}

const itemOf = (lease: string, kind: string, merchantId: number, row: Record<string, unknown>): WorkItem => ({
  merchantId,
  kind,
  key: String(row.key),
  dueAt: Number(row.due_at),
  attempt: Number(row.attempts),
  requestId: `${kind}_${row.key}_${row.due_at}_${lease.slice(0, 8)}`,
});

async function offsetOf({ db, clocksMove }: LeaseParts, merchantId: number): Promise<number> {
  if (!clocksMove) return 0;
  const [row] = await db.infra('select offset_seconds from clocks where merchant_id = $1', [merchantId]);
  return Number(row?.offset_seconds ?? 0);
}

/** Gives back items that failed together: they are due at once, one by one. */
export async function release(parts: LeaseParts, lease: Lease, items: readonly WorkItem[]): Promise<void> {
  await giveBack(parts, lease, items, { at: Math.floor(parts.clock.wall() / 1000), attempts: -1 });
}

/** Lets an item that failed alone wait for its next attempt; parks it after the last one. */
export async function fail(parts: LeaseParts, lease: Lease, error: unknown): Promise<void> {
  const { work, merchantId, items } = lease;
  const [item] = items;
  if (!item) return;
  const reason = error instanceof Error ? error.message : String(error);
  if (item.attempt >= work.attempts) return park(parts, lease, reason, error);
  const seconds = Math.min(pause.maxSeconds, pause.baseSeconds * pause.factor ** (item.attempt - 1));
  const at = Math.ceil(parts.clock.wall() / 1000 + seconds * (0.5 + parts.random()));
  workItems.inc({ kind: work.kind, outcome: 'failed' });
  parts.log.warn({ err: error, ...item }, 'work that was due failed; it is tried again');
  await giveBack(parts, lease, [{ ...item, merchantId }], { at, attempts: 0, reason });
}

async function park(parts: LeaseParts, lease: Lease, reason: string, error?: unknown): Promise<void> {
  const now = Math.floor(parts.clock.wall() / 1000);
  workItems.inc({ kind: lease.work.kind, outcome: 'parked' });
  parts.log.error({ err: error, reason, ...lease.items[0] }, 'work that was due failed too often and is parked');
  await giveBack(parts, lease, lease.items, { at: now, attempts: 0, reason, parkedAt: now });
}

interface GiveBack {
  at: number;
  attempts: number;
  reason?: string;
  parkedAt?: number;
}

async function giveBack({ db }: LeaseParts, lease: Lease, items: readonly WorkItem[], how: GiveBack): Promise<void> {
  const { work, merchantId, id } = lease;
  const keys = items.map(({ key }) => key);
  const { at, attempts, reason = null, parkedAt = null } = how;
  await db.queryIndexOnly(releaseText, [merchantId, work.kind, keys, id, at, attempts, reason, parkedAt]);
}
