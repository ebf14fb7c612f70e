import type pg from 'pg';
import type { Caller } from '../runtime/caller.js';
import type { Clock } from '../runtime/clock.js';
import type { Keyring } from '../runtime/secrets.js';
import type { Lookup } from './aggregate.js';
import type { EventKinds } from './event.js';
import type { PathParts, Paths } from './paths/paths.js';

/** Asks the owner of a copy for its newest state of one object and stores it; see copies.ts. */
export type Refresh = (copy: string, id: Lookup, caller: Caller) => Promise<void>;

export interface DbParts {
  pool: pg.Pool;
  /**
   * Connections beside those of commands: for lists, so that many long ones delay no command, and for what a command
   * needs while it holds its own connection, which it could otherwise wait for in vain.
   */
  readPool: pg.Pool;
  clock: Clock;
  /** The merchants' clocks can be moved: in a sandbox. */
  clocksMove: boolean;
  keyring: Keyring;
  events: EventKinds;
  paths(parts: PathParts): Paths;
  /** A time-ordered unique id with a prefix. */
  newId(prefix: `${string}_`): string;
  random(): number;
  /** Called after each commit that wrote events. */
  committed(): void;
}

/** An event that a command is about to commit. */
export interface Emitted {
  aggregate: string;
  aggregateId: string;
  version: number;
}

/** An answer that waits until others have seen what it tells of. */
export interface Sighting {
  /** Resolves when they have, or one second has passed. Never rejects. */
  seen(): Promise<void>;
  /** To be called where the commit failed. */
  forget(): void;
}

/** Begins to listen for who has to see what a command commits; undefined for nobody. See events/keepers.ts. */
export type Expect = (caller: Caller, events: readonly Emitted[]) => Sighting | undefined;
