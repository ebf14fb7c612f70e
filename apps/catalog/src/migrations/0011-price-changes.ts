import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Price changes of active plans. */
export class PriceChanges1795262400011 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  'alter table plans add price_change jsonb',
  `create table plan_price_changes (merchant_id bigint not null, plan_id bigint not null, no integer not null,
    old_amount bigint not null, new_amount bigint not null, reason text not null, create_time bigint not null,
    constraint plan_price_changes_pkey primary key (merchant_id, plan_id, no))`,
  'grant select, insert, update, delete on plan_price_changes to catalog_app',
  secureV1('plan_price_changes'),
];
