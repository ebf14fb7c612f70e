import type { OperationLogged } from '@recur/contracts';
import { Outcome, type Rejected } from '@recur/kernel';
import { WorkChanges } from './due/work-changes.js';
import type { Table } from './schema/table.js';
import type { Emission } from './sql/outbox-row.js';
import type { Change } from './sql/write-set.js';

/** The meaning of a violated unique index: how to refuse, or `again` to run the command once more. */
export type Conflict = (() => Rejected) | 'again';

/** Two runs in one transaction touch the same thing, which is named: they have to run one after the other. */
export class Entangled extends Outcome {
  override readonly name = 'Entangled';

  constructor(readonly what: string) {
    super(`two commands of one transaction touch ${what}`);
  }
}

export interface Tracked {
  table: Table<unknown>;
  change: Change;
  row: unknown;
  version: number;
  saved: boolean;
}

export interface LogEntry extends Emission {
  data: OperationLogged;
  /** An addition, to the command's own entry where it has one. */
  also: boolean;
}

/** Rows, events and work recorded in one run of a command; shared by the recorders of a batch of work. */
export class Records {
  readonly tracked = new Map<string, Tracked>();
  readonly emissions: Emission[] = [];
  readonly conflicts = new Map<string, Conflict>();
  /** Names that are locked. */
  readonly names = new Set<string>();
  /** By request id, the command's own entry before additions to it. */
  readonly entries = new Map<string, LogEntry[]>();
  readonly work = new WorkChanges();
  ran = false;
  unlogged = false;
  clockMoved = false;

  /**
   * Adds what another run in the same transaction has recorded. Throws Entangled where both touch the same row, name or
   * work, and one of them changes it: the other may have decided by what it was before.
   */
  absorb(other: Records): void {
    for (const [key, row] of other.tracked) {
      const own = this.tracked.get(key);
      if (own && (own.saved || row.saved)) throw new Entangled(key);
      this.tracked.set(key, row);
    }
    for (const name of other.names) {
      if (this.names.has(name)) throw new Entangled(name);
      this.names.add(name);
    }
    for (const [requestId, entries] of other.entries) {
      if (this.entries.has(requestId)) throw new Entangled(requestId);
      this.entries.set(requestId, entries);
    }
    for (const emission of other.emissions) this.emissions.push(emission);
    for (const [index, means] of other.conflicts) this.conflicts.set(index, means);
    this.work.absorb(other.work);
    this.ran ||= other.ran;
    this.unlogged ||= other.unlogged;
    this.clockMoved ||= other.clockMoved;
  }
}
