import { slimming } from '@recur/contracts';
import type { EntitySchemaColumnOptions, EntitySchemaOptions } from 'typeorm';
import type { z } from 'zod';

/** The column of one property of T; made by the functions below. */
export type Column<V> = EntitySchemaColumnOptions & { readonly holds?: V; encode?(value: V): unknown };

type TableOptions<T> = {
  columns: { [K in keyof Required<T>]: Column<T[K]> };
  /** Property names of the primary key; a tenant table's starts with merchantId. */
  key: readonly (keyof T & string)[];
  checks?: Record<string, string>;
  /** Index name → property names; `where` makes it partial. */
  indices?: Record<string, { on: readonly (keyof T & string)[]; unique?: true; where?: string }>;
  /** A table without merchant_id and row-level security; reached only through `db.infra`. */
  infrastructure?: true;
  /** An inserted row replaces the one with its key. */
  replaced?: true;
};

/** A table whose rows are T, as the write path needs it. */
export interface Table<T> {
  readonly holds?: T;
  readonly table: string;
  readonly key: readonly string[];
  readonly columns: readonly ColumnInfo[];
  /** The columns that are whole numbers and never null, and the others. */
  readonly wholes: readonly ColumnInfo[];
  readonly others: readonly ColumnInfo[];
  /** For columns that hold their value in other words, by property. */
  readonly encoders: ReadonlyMap<string, (value: unknown) => unknown>;
  readonly infrastructure: boolean;
  readonly replaced: boolean;
  /** The table as TypeORM needs it to compare schemas (see migrate.ts). */
  readonly entity: EntitySchemaOptions<unknown>;
}

export interface ColumnInfo {
  property: string;
  column: string;
  /** The SQL type. */
  type: string;
  transformer?: { from(value: unknown): unknown };
  encode?(value: unknown): unknown;
}

const snake = (name: string) => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);

/** Maps a plain type to a table, whose columns are named in snake_case. */
export function table<T>(name: string, options: TableOptions<T>): Table<T> {
  const columns: Record<string, EntitySchemaColumnOptions> = {};
  const encoders = new Map<string, (value: unknown) => unknown>();
  for (const [property, { encode, ...column }] of Object.entries<Column<unknown>>(options.columns)) {
    if (encode) encoders.set(property, encode);
    const primary = (options.key as readonly string[]).includes(property);
    columns[property] = {
      name: snake(property),
      ...column,
      ...(primary && { primary, primaryKeyConstraintName: `${name}_pkey` }),
    };
  }
  const entity = {
    name,
    tableName: name,
    columns: columns as never,
    checks: Object.entries(options.checks ?? {}).map(([check, expression]) => ({ name: check, expression })),
    indices: Object.entries(options.indices ?? {}).map(([index, { on, unique, where }]) => ({
      name: index,
      columns: [...on],
      ...(unique && { unique }),
      ...(where && { where }),
    })),
  };
  const infos = Object.entries(columns).map(([property, { name: column = property, transformer, type, array }]) => ({
    property,
    column,
    type: `${String(type)}${array ? '[]' : ''}`,
    ...(transformer && !Array.isArray(transformer) && { transformer }),
    ...(encoders.has(property) && { encode: encoders.get(property) }),
  }));
  const isWhole = ({ property, type }: ColumnInfo) => /^(bigint|integer)$/.test(type) && !columns[property]?.nullable;
  return {
    table: name,
    key: options.key,
    columns: infos,
    wholes: infos.filter(isWhole),
    others: infos.filter(column => !isWhole(column)),
    encoders,
    infrastructure: options.infrastructure ?? false,
    replaced: options.replaced ?? false,
    entity,
  };
}

/** Converts a row of the driver to T: bigint columns arrive as text. */
export function hydrate<T>(into: Table<T>, row: Record<string, unknown>): T {
  const value: Record<string, unknown> = {};
  for (const { property, column, transformer } of into.columns) {
    const raw = row[column];
    value[property] = transformer && raw !== null ? transformer.from(raw) : raw;
  }
  return value as T;
}

const number = { from: Number, to: (value: unknown) => value };
const big = { from: (value: unknown) => BigInt(value as string), to: String };

/** Whole numbers up to 2^53−1: ids, unix seconds, counts. */
export const integer = (): Column<number> => ({ type: 'bigint', transformer: number });
/** Whole numbers of at most 31 bits: quantities, codes, basis points, versions. */
export const int = (): Column<number> => ({ type: 'integer' });
export const optionalInteger = (): Column<number | null> => ({ type: 'bigint', nullable: true, transformer: number });
/** An amount in minor units. */
export const money = (): Column<bigint> => ({ type: 'bigint', transformer: big });
export const text = <V extends string = string>(): Column<V> => ({ type: 'text' });
export const optionalText = (): Column<string | null> => ({ type: 'text', nullable: true });
export const flag = (): Column<boolean> => ({ type: 'boolean' });
/** A JSON document, kept as a value. */
export const document = <V>(): Column<V> => ({ type: 'jsonb' });
export const optionalDocument = <V>(): Column<V | null> => ({ type: 'jsonb', nullable: true });
/** An object as its owner once showed it, kept as a value: a field that its shape was given since is read as empty. */
export const shown = <V>(shape: z.ZodType<V>): Column<V> => ({
  type: 'jsonb',
  transformer: { from: value => slimming(shape).complete(value), to: value => value },
});
export const integers = (): Column<number[]> => ({
  type: 'bigint',
  array: true,
  transformer: { from: (values: unknown) => (values as string[]).map(Number), to: (values: unknown) => values },
});
export const texts = (): Column<string[]> => ({ type: 'text', array: true });

/** The value of a column that holds it in other words, under a name of its own. */
export const encoded = <V, C>(
  column: Column<C>,
  name: string,
  { decode, encode }: { decode(value: C): V; encode(value: V): C },
): Column<V> => {
  const { transformer, holds: _, encode: __, ...stored } = column;
  const stands = transformer && !Array.isArray(transformer) ? transformer.from : (value: C) => value;
  return { ...stored, name, transformer: { from: value => decode(stands(value)), to: encode }, encode };
};

/** Condition of a CHECK or a partial index: a column has one of these values, which are words of the code. */
export const oneOf = (column: string, values: readonly string[]): string =>
  `${column} in (${values.map(value => `'${value}'`).join(', ')})`;
