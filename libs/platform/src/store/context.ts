import type { Caller } from '../runtime/caller.js';
import type { Aggregate } from './aggregate.js';
import type { EventKinds } from './event.js';
import type { Arrays } from './paths.js';

/** What one run of a command knows beside its input. */
export interface Context {
  readonly caller: Caller;
  /** Unix seconds on the merchant's clock. */
  readonly now: number;
  /** Unix seconds on the machine's clock, by which expired rows are removed. */
  readonly keptFrom: number;
  readonly aggregates: Readonly<Record<string, Aggregate>>;
  readonly events: EventKinds;
  readonly arrays: Arrays;
  newId(prefix: `${string}_`): string;
  nextId(table: string): Promise<number>;
}
