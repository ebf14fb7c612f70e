import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Templates of discount codes, and the codes that are generated from them. */
export class GeneratedCodes1763683200062 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    await runner.query(secureV1('generated_codes'));
    await runner.query('grant select, insert, update on generated_codes to billing_app');
    await runner.query('create sequence generated_codes_id_seq');
    await runner.query('grant usage on sequence generated_codes_id_seq to billing_app');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `alter table discounts add kind text not null default 'code', add generated integer not null default 0,
    add modify_time bigint not null default 0,
    add constraint discounts_kind check (kind in ('code', 'template'))`,
  `create index discounts_templates on discounts (merchant_id, create_time, discount_id) where kind = 'template'`,
  `create table generated_codes (
    merchant_id bigint not null, code_id bigint not null, template_id bigint not null, code text not null,
    use_id bigint not null, create_time bigint not null,
    constraint generated_codes_pkey primary key (merchant_id, code_id))`,
  'create unique index generated_codes_code on generated_codes (merchant_id, code)',
  'create index generated_codes_newest on generated_codes (merchant_id, template_id, create_time, code_id)',
];
