import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Files that are to be imported, and subscriptions that were: their ids elsewhere, and periods that were paid there. */
export class Imports1763683200066 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    await runner.query(secureV1('task_uploads'));
    await runner.query('grant select, insert, update, delete on task_uploads to billing_app');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `create table task_uploads (merchant_id bigint not null, task_id bigint not null, content bytea not null,
    constraint task_uploads_pkey primary key (merchant_id, task_id))`,
  `alter table subscriptions add external_subscription_id text not null default ''`,
  `create unique index subscriptions_external on subscriptions (merchant_id, external_subscription_id)
    where external_subscription_id <> ''`,
  'alter table subscription_periods drop constraint subscription_periods_kind',
  `alter table subscription_periods add constraint subscription_periods_kind
    check (kind in ('trial', 'free', 'cycle', 'stub', 'elsewhere')) not valid`,
  'alter table subscription_periods validate constraint subscription_periods_kind',
];
