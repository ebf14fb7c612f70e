import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Copies of checkout templates: the page of an invoice has the look of the merchant's default one. */
export class Looks1763683200054 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `create table checkout_copies (merchant_id bigint not null, id bigint not null, is_default boolean not null,
    data jsonb not null, version integer not null, constraint checkout_copies_pkey primary key (merchant_id, id))`,
  'grant select, insert, update, delete on checkout_copies to billing_app',
  secureV1('checkout_copies'),
];
