import { Rejected } from '@recur/kernel';
import type { Row } from './pool.js';

/** A part of a text that is looked for: in which column, and which field of the input asked for it. */
export interface Part {
  column: string;
  field: string;
  part: string | undefined;
}

const limits = { ids: 10_000 } as const;

/**
 * SQL that makes texts of a tenant table searchable by any part: a table `<name>_search` with the row's id and the
 * texts, kept by a trigger. It has no row-level security, and is reached only through `db.search`, which names the
 * merchant: under row-level security the planner may not use a trigram index, since its operators are not leakproof.
 * `texts` is column → SQL of the row (`new.first_name`); `id` is the integer column that identifies the row.
 */
export function searchable(service: string, name: string, id: string, texts: Readonly<Record<string, string>>): string {
  const columns = Object.keys(texts);
  const search = `${name}_search`;
  return `
  create extension if not exists pg_trgm;
  create extension if not exists btree_gin;
  create table ${search} (merchant_id bigint not null, id bigint not null,
    ${columns.map(column => `${column} text not null`).join(', ')},
    constraint ${search}_pkey primary key (merchant_id, id));
  grant select, insert, update, delete on ${search} to ${service}_app;
  create function ${search}_keep() returns trigger language plpgsql as $$ begin
    insert into ${search} (merchant_id, id, ${columns.join(', ')})
    values (new.merchant_id, new.${id}, ${Object.values(texts).join(', ')})
    on conflict (merchant_id, id) do update set ${columns.map(column => `${column} = excluded.${column}`).join(', ')}
    where (${columns.map(column => `${search}.${column}`).join(', ')})
      is distinct from (${columns.map(column => `excluded.${column}`).join(', ')});
    return null;
  end $$;
  create trigger ${search}_keep after insert or update on ${name} for each row execute function ${search}_keep();
  alter table ${name} no force row level security;
  insert into ${search} select merchant_id, ${id}, ${Object.values(texts).join(', ')} from ${name} as new;
  alter table ${name} force row level security;
  create index ${search}_parts on ${search}
    using gin (merchant_id, ${columns.map(column => `${column} gin_trgm_ops`).join(', ')});`;
}

/** A pattern of ILIKE that fits every text which holds the part. */
export const contains = (part: string) => `%${part.replaceAll(/[\\%_]/g, '\\$&')}%`;

export const searchText = (table: string, parts: readonly Part[]) =>
  `select id from ${table}_search where merchant_id = $1
     and ${parts.map(({ column }, at) => `${column} ilike $${at + 2}`).join(' and ')} limit ${limits.ids + 1}`;

export function idsOf(rows: readonly Row[], parts: readonly Part[]): number[] {
  if (rows.length <= limits.ids) return rows.map(({ id }) => Number(id));
  const message = `fits more than ${limits.ids}: say more of it`;
  throw new Rejected(
    'invalid_parameters',
    undefined,
    parts.map(({ field }) => ({ path: `/${field}`, message: `${field} ${message}` })),
  );
}
