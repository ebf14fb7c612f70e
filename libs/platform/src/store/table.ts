import type { EntitySchemaColumnOptions, EntitySchemaOptions } from 'typeorm';

/** How one property of T stands in its table; made by the functions below. */
export type Column<V> = EntitySchemaColumnOptions & { readonly holds?: V };

type TableOptions<T> = {
  columns: { [K in keyof Required<T>]: Column<T[K]> };
  /** Property names of the primary key; a tenant table's starts with merchantId. */
  key: readonly (keyof T & string)[];
  checks?: Record<string, string>;
  /** Index name → property names; `where` makes it partial. */
  indices?: Record<string, { on: readonly (keyof T & string)[]; unique?: true; where?: string }>;
  /** Has no merchant_id and no row-level security; reached through `db.infra` only. */
  infrastructure?: true;
  /** A row that is inserted replaces the one with its key. */
  replaced?: true;
};

/** What the write path needs to know of a table whose rows are T. */
export interface Table<T> {
  readonly holds?: T;
  readonly table: string;
  readonly key: readonly (keyof T & string)[];
  readonly columns: readonly ColumnInfo[];
  /** Of these, whole numbers that are never null; and the others. */
  readonly wholes: readonly ColumnInfo[];
  readonly others: readonly ColumnInfo[];
  readonly infrastructure: boolean;
  readonly replaced: boolean;
  /** What TypeORM needs to know of it, to migrate (see migrate.ts). */
  readonly entity: EntitySchemaOptions<unknown>;
}

export interface ColumnInfo {
  property: string;
  column: string;
  /** As SQL names it. */
  type: string;
  transformer?: { from(value: unknown): unknown };
}

const snake = (name: string) => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);

/** Maps a plain type to a table, whose columns are named in snake_case. */
export function table<T>(name: string, options: TableOptions<T>): Table<T> {
  const columns: Record<string, EntitySchemaColumnOptions> = {};
  for (const [property, column] of Object.entries<Column<unknown>>(options.columns)) {
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
  }));
  const isWhole = ({ property, type }: ColumnInfo) => /^(bigint|integer)$/.test(type) && !columns[property]?.nullable;
  return {
    table: name,
    key: options.key,
    columns: infos,
    wholes: infos.filter(isWhole),
    others: infos.filter(column => !isWhole(column)),
    infrastructure: options.infrastructure ?? false,
    replaced: options.replaced ?? false,
    entity,
  };
}

/** A row as the driver gives it, as T: bigint columns arrive as text. */
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
export const integers = (): Column<number[]> => ({
  type: 'bigint',
  array: true,
  transformer: { from: (values: unknown) => (values as string[]).map(Number), to: (values: unknown) => values },
});
export const texts = (): Column<string[]> => ({ type: 'text', array: true });

/** SQL that gives a tenant table its row-level security: a row is visible to its own merchant's transaction only. */
export const secure = (name: string) => `
  alter table ${name} enable row level security;
  alter table ${name} force row level security;
  create policy ${name}_of_merchant on ${name}
    using (merchant_id = current_setting('app.merchant_id')::bigint)
    with check (merchant_id = current_setting('app.merchant_id')::bigint);`;

/**
 * SQL that has a table sampled coarsely, for one that grows fast and is asked by its key alone: at the usual target of
 * 100 PostgreSQL reads and sorts 30000 rows at each look, for up to 0.4 s; at 10 for a tenth of that.
 */
export const coarse = (name: string): string => `do $$ declare named text; begin
  for named in select attname from pg_attribute where attrelid = '${name}'::regclass and attnum > 0 loop
    execute format('alter table ${name} alter %I set statistics 10', named); end loop; end $$`;
