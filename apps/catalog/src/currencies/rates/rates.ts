import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { type Rate, rateOf, rateText } from '@recur/kernel';
import { CLOCK, type Clock, Db, type Removal, removedAtOnce, type Tx } from '@recur/platform';
import { isAhead, isStale, pairsOf, type RateTable } from '../domain/rate-table.js';

/** Rate of the newest table. */
export interface KnownRate {
  rate: Rate;
  source: string;
  at: number;
}

/** Source and age of the newest table. */
export interface Newest {
  source: string;
  at: number;
  stale: boolean;
}

const newest = 'select id, source, at from rate_tables order by at desc, id desc limit 1';

const take = `with taken as (
    insert into rate_tables (id, source, at, digest, taken_time)
    values (nextval('rate_tables_id_seq'), $1, $2, $3, $4) on conflict (digest) do nothing returning id),
  rated as (insert into exchange_rates (table_id, from_currency, to_currency, rate)
    select taken.id, pair.* from taken, unnest($5::text[], $6::text[], $7::numeric[]) pair)
  select id from taken`;

const lookUp = `select rated.to_currency, rated.rate::text as rate, newest.source, newest.at from (${newest}) newest
  join exchange_rates rated on rated.table_id = newest.id
    and rated.from_currency = $1 and rated.to_currency = any($2::text[])`;

/** Rate tables: imported as published and never changed. Amounts are converted by the newest one. */
@Injectable()
export class Rates {
  constructor(
    private readonly db: Db,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Imports a table with the cross rates of all its currencies. Returns `known` when the same table was imported before
   * and `ahead` when it is dated in the future and refused. One statement, in `tx` if it is given.
   */
  async take(table: RateTable, tx?: Tx): Promise<'taken' | 'known' | 'ahead'> {
    if (isAhead(table.at, this.now())) return 'ahead';
    const pairs = pairsOf(table);
    const values = [
      table.source,
      table.at,
      digestOf(table),
      this.now(),
      pairs.map(({ from }) => from),
      pairs.map(({ to }) => to),
      pairs.map(({ rate }) => rateText(rate)),
    ];
    const rows = await (tx ? tx.run(take, values) : this.db.infra(take, values));
    return rows.length > 0 ? 'taken' : 'known';
  }

  /** Rates from one currency to others, keyed by target; a currency that the newest table lacks is left out. */
  async among(from: string, to: readonly string[]): Promise<Map<string, KnownRate>> {
    if (to.length === 0) return new Map();
    const rows = await this.db.infra(lookUp, [from, to]);
    return new Map(
      rows.map(row => [
        String(row.to_currency),
        { rate: rateOf(String(row.rate)), source: String(row.source), at: Number(row.at) },
      ]),
    );
  }

  async newest(tx?: Tx): Promise<Newest | undefined> {
    const [row] = await (tx ? tx.query(newest, []) : this.db.infra(newest));
    if (!row) return undefined;
    const at = Number(row.at);
    return { source: String(row.source), at, stale: isStale(at, this.now()) };
  }

  private now(): number {
    return Math.floor(this.clock.wall() / 1000);
  }
}

/** Digest of a table's content, independent of the order of its rates. */
function digestOf({ source, at, base, rates }: RateTable): string {
  const sorted = [...rates].map(([currency, rate]) => `${currency} ${rate}`).sort();
  return createHash('sha256')
    .update(JSON.stringify([source, at, base, sorted]))
    .digest('base64url');
}

/** Rates are kept for 90 days, those of the newest table and the list of tables permanently. */
export const removals: readonly Removal[] = [
  {
    keptSeconds: 90 * 86_400,
    remove: `delete from exchange_rates where (table_id, from_currency, to_currency) in (
      select table_id, from_currency, to_currency from exchange_rates join rate_tables on rate_tables.id = table_id
      where taken_time < $1 and table_id <> (select id from (${newest}) newest) limit ${removedAtOnce}) returning 1`,
  },
];
