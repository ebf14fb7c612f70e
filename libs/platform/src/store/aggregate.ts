import type { OperationLogged } from '@recur/contracts';
import type { z } from 'zod';
import type { EventKind, EventKinds } from './event.js';
import type { Table } from './schema/table.js';

/** Equality conditions on a table's properties. */
export type Where<T> = { [K in keyof T]?: T[K] };

/** Ids of other objects that an operation concerned, for the operation log's filters. */
export type LogIds = OperationLogged['ids'];

/** Identifies an aggregate to its owner: the id, or a single other field, such as `{ email }` (see `lookups`). */
export type Lookup = string | number | Readonly<Record<string, string>>;

/** The aggregates of a registry of events. */
export type AggregateName<K extends EventKinds> = K[keyof K]['aggregate'];

/** The names of the events of one aggregate. */
export type EventOf<K extends EventKinds, N extends string> = {
  [E in keyof K & string]: K[E]['aggregate'] extends N ? E : never;
}[keyof K & string];

/** The data of the events of one aggregate. */
export type DataOf<K extends EventKinds, N extends string> = DataIn<K[EventOf<K, N>]>;
type DataIn<Kind extends EventKind> = Kind extends { data: infer D extends z.ZodType } ? z.output<D> & object : object;

/** The reads with which an aggregate is loaded. In a `Tx`, `part` and `parts` lock what they read. */
export interface Loader {
  readonly merchantId: number;
  find<T>(from: Table<T>, where: Where<T>): Promise<T | undefined>;
  all<T>(from: Table<T>, where: Where<T>, tail?: string): Promise<T[]>;
  among<T, K extends keyof T & string>(from: Table<T>, property: K, values: readonly T[K][]): Promise<T[]>;
  part<T>(from: Table<T>, where: Where<T>): Promise<T | undefined>;
  parts<T>(from: Table<T>, where: Where<T>, tail?: string): Promise<T[]>;
}

/** An aggregate as the platform's own parts see it, whatever its rows are. */
export interface Aggregate {
  readonly table: Table<unknown>;
  readonly key: string;
  load?(loader: Loader, row: unknown): Promise<unknown>;
  view?(state: unknown): object;
  readonly lookups?: Readonly<Record<string, (value: string) => object>>;
}

/** A declared aggregate: rows T, states S (a row with its parts), events named E whose data is V. */
export interface EventSource<E extends string, T, S, V extends object = object> extends Aggregate {
  readonly name: string;
  readonly title: string;
  readonly table: Table<T>;
  readonly emits?: E;
  readonly carries?: V;
  load?(loader: Loader, row: T): Promise<S>;
  target?(state: S): string;
  ids?(state: S): LogIds;
}

/** A declared aggregate whose events carry its view. */
export interface AggregateOf<E extends string, T, S, V extends object> extends EventSource<E, T, S, V> {
  view(state: S): V;
}

interface DeclaredAggregate<K extends EventKinds, N extends AggregateName<K>, T, S> {
  /** The aggregate's name in the registry of events. */
  name: N;
  /** Name in the operation log, such as `Payment`. */
  title: string;
  /** The registry of events, from contracts. */
  events: K;
  table: Table<T>;
  /** The property that identifies it within its merchant. */
  key: keyof T & string;
  /** Adds its parts to a row. Absent: the row is the state. */
  load?(loader: Loader, row: T): Promise<S>;
  /** The bracketed part of the log's target, `Payment(<target>)`; the key by default. */
  target?(state: S): string;
  /** The ids of related objects, for the operation log's filters. */
  ids?(state: S): LogIds;
  /** Other fields that identify it: the field's name, and the condition that finds a value. */
  lookups?: Readonly<Record<string, (value: string) => Where<T>>>;
}

interface Viewed<K extends EventKinds, N extends AggregateName<K>, T, S> extends DeclaredAggregate<K, N, T, S> {
  /** The state as events, answers and snapshots show it. */
  view(state: S): DataOf<K, N>;
}

interface Numbered {
  version: number;
}

/**
 * Declares an aggregate once: its table, its parts, its view and its events. Its row's `version` numbers its events.
 * Without a `view` (its events carry something else than its state) it can only be emitted for, not stepped.
 */
export function aggregate<K extends EventKinds, N extends AggregateName<K>, T extends Numbered, S extends T = T>(
  declaration: Viewed<K, N, T, S>,
): AggregateOf<EventOf<K, N>, T, S, DataOf<K, N>>;
export function aggregate<K extends EventKinds, N extends AggregateName<K>, T extends Numbered, S extends T = T>(
  declaration: DeclaredAggregate<K, N, T, S>,
): EventSource<EventOf<K, N>, T, S, DataOf<K, N>>;
export function aggregate(declaration: Aggregate): Aggregate {
  return declaration;
}

/** Tells an aggregate from a table. */
export const isAggregate = (of: Aggregate | Table<unknown>): of is Aggregate =>
  'table' in of && typeof of.table !== 'string';

/** The condition that finds an aggregate by its id, or by the given properties. */
export const whereOf = <T>({ key }: Aggregate, which: string | number | Where<T>): Where<T> =>
  typeof which === 'object' ? which : ({ [key]: which } as Where<T>);

/** The state that belongs to a row. */
export async function loadState<T, S>(of: EventSource<string, T, S>, loader: Loader, row: T): Promise<S> {
  // without `load`, S is T
  return of.load ? of.load(loader, row) : (row as unknown as S);
}
