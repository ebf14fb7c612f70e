import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Price changes of plans over running subscriptions, and how early they are announced. */
export class PriceChanges1763683200055 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `alter table subscriptions add price_changes jsonb not null default '[]'`,
  'alter table subscription_settings add notice_days integer not null default 30',
  'alter table plan_copies no force row level security',
  `update plan_copies set data = data || '{"priceChange":null}' where not data ? 'priceChange'`,
  'alter table plan_copies force row level security',
];
