import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Checkout templates. A list returns all that are not archived, so a trigger limits their number per merchant. */
export class Checkouts1795262400005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    await runner.query(secureV1('checkouts'));
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `create table checkouts (
    merchant_id bigint not null, id bigint not null, version integer not null, status text not null,
    name text not null, description text not null, is_default boolean not null, data jsonb not null,
    staging_data jsonb not null, create_time bigint not null, modify_time bigint not null,
    constraint checkouts_pkey primary key (merchant_id, id),
    constraint checkouts_status check (status in ('live', 'archived')),
    constraint checkouts_default check (status = 'live' or not is_default))`,
  'create index checkouts_listed on checkouts (merchant_id, status, create_time, id)',
  'create unique index checkouts_one_default on checkouts (merchant_id) where is_default',
  `create function checkouts_limit() returns trigger language plpgsql as $$ begin
    perform pg_advisory_xact_lock(hashtextextended('checkouts of ' || new.merchant_id, 0));
    if (select count(*) from checkouts where merchant_id = new.merchant_id and status = 'live') >= 50 then
      raise 'a merchant has at most 50 checkout templates' using errcode = 'unique_violation', constraint = 'checkouts_limit';
    end if;
    return new;
  end $$`,
  'create trigger checkouts_limit before insert on checkouts for each row execute function checkouts_limit()',
  'grant select, insert, update, delete on checkouts to catalog_app',
  'create sequence checkouts_id_seq',
  'grant usage on sequence checkouts_id_seq to catalog_app',
];
