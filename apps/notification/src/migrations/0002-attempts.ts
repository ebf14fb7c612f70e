import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Endpoints can be deleted; the log of attempts. */
export class Attempts1763683200002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    await runner.query(secureV1('attempts'));
    await runner.query('grant select, insert, update, delete on attempts to notification_app');
    await runner.query('grant usage on sequence attempts_id_seq to notification_app');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  // the default stays: while replicas of the version before still run, they make endpoints without it
  'alter table endpoints add column deleted_time bigint not null default 0',
  'create index endpoints_living on endpoints (merchant_id, deleted_time, endpoint_id)',
  // each event is compared with all endpoints of its merchant, and one answer lists them: so they are counted, and one
  // merchant's are made one after the other
  `create function endpoints_limit() returns trigger language plpgsql as $$ begin
    perform pg_advisory_xact_lock(hashtextextended('endpoints of ' || new.merchant_id, 0));
    if (select count(*) from endpoints where merchant_id = new.merchant_id and deleted_time = 0) >= 100 then
      raise 'a merchant has at most 100 endpoints' using errcode = 'unique_violation', constraint = 'endpoints_limit';
    end if;
    return new;
  end $$`,
  'create trigger endpoints_limit before insert on endpoints for each row execute function endpoints_limit()',
  `create table attempts (
    merchant_id bigint not null, id bigint not null, endpoint_id bigint not null, delivery_id text not null,
    event_id text not null, type text not null, url text not null, attempts_before integer not null,
    state text not null, outcome text not null, answer text not null, create_time bigint not null,
    duration_ms bigint not null, next_at_ms bigint,
    constraint attempts_pkey primary key (merchant_id, id),
    constraint attempts_state check (state in ('scheduled', 'delivered', 'failed', 'missed')))`,
  'create index attempts_endpoint on attempts (merchant_id, endpoint_id, create_time, id)',
  'create sequence attempts_id_seq',
];
