/**
 * Indexes, and constraints with keys, of tables with row-level security that do not begin with the merchant: with one of
 * these, a table could not be distributed over several servers by merchant (docs/scaling.md). One row each, `name`.
 */
export const withoutMerchantText = `select i.relname as name
  from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
  where c.relrowsecurity and c.relnamespace = 'public'::regnamespace
    and pg_get_indexdef(x.indexrelid, 1, true) <> 'merchant_id'
  union all
  select k.conname from pg_constraint k join pg_class c on c.oid = k.conrelid
  where k.contype = 'f' and c.relrowsecurity and c.relnamespace = 'public'::regnamespace
    and not exists (select from pg_attribute a, pg_attribute b
      where a.attrelid = k.conrelid and a.attnum = k.conkey[1] and a.attname = 'merchant_id'
        and b.attrelid = k.confrelid and b.attnum = k.confkey[1] and b.attname = 'merchant_id')
  order by 1`;
