import { workOldest, workParked } from '../runtime/telemetry.js';
import type { Db } from '../store/db.js';
import type { Row } from '../store/pool.js';
import { aheadText, othersText, parkedText, readyText, windows } from './statements.js';
import type { Work } from './work.js';

/** A merchant that has work of one kind to do. */
export interface Target {
  work: Work;
  merchantId: number;
}

/**
 * Finds merchants that have something due, the longest waiting first. If the first items of a kind fill the window, other
 * merchants are looked for one by one, from where the last look ended, so that a long queue of one hides no other.
 */
export class DueTargets {
  private readonly seenUpTo = new Map<string, number>();
  private readonly kinds: readonly string[];
  private readonly merchantKinds: readonly string[];

  constructor(
    private readonly db: Db,
    private readonly works: ReadonlyMap<string, Work>,
    private readonly clocksMove: boolean,
  ) {
    this.kinds = [...works.keys()];
    this.merchantKinds = [...works.values()].filter(({ time }) => time === 'merchant').map(({ kind }) => kind);
  }

  /** `now`: unix seconds on the machine's clock. */
  async find(now: number): Promise<Target[]> {
    const rows = await this.db.queryIndexOnly(readyText, [this.kinds, now]);
    const others: Row[] = [];
    for (const kind of this.kinds) {
      const first = rows.filter(row => row.kind === kind);
      const items = first.reduce((sum, row) => sum + Number(row.items), 0);
      workOldest.set({ kind }, Math.max(0, now - Math.min(now, ...first.map(row => Number(row.first)))));
      if (items >= windows.items) others.push(...(await this.others(kind, now)));
    }
    if (this.clocksMove && this.merchantKinds.length > 0) {
      others.push(...(await this.db.queryIndexOnly(aheadText, [this.merchantKinds, now])));
    }
    return this.targetsOf([...rows, ...others]);
  }

  /** Updates the metric of parked items. */
  async countParked(): Promise<void> {
    for (const { kind, items } of await this.db.queryIndexOnly(parkedText, [this.kinds])) {
      workParked.set({ kind: String(kind) }, Number(items));
    }
  }

  private async others(kind: string, now: number): Promise<Row[]> {
    const after = this.seenUpTo.get(kind) ?? -1;
    const rows = await this.db.queryIndexOnly(othersText, [kind, now, after]);
    const last = Math.max(...rows.map(row => Number(row.merchant_id)));
    this.seenUpTo.set(kind, rows.length < windows.merchants ? -1 : last);
    return rows.filter(row => row.first !== null).map(row => ({ ...row, kind }));
  }

  private targetsOf(rows: readonly Row[]): Target[] {
    const sorted = [...rows].sort((a, b) => Number(a.first) - Number(b.first));
    const targets = new Map<string, Target>();
    for (const { kind, merchant_id } of sorted) {
      const work = this.works.get(String(kind));
      const merchantId = Number(merchant_id);
      if (work) targets.set(`${kind} ${merchantId}`, { work, merchantId });
    }
    return [...targets.values()];
  }
}
