import { secureV1 } from '@recur/platform';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tax settings, exemptions, US sales tax rates, and VAT numbers with the history of their checks. */
export class Tax1763683200012 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
    for (const name of ['tax_settings', 'tax_exemptions', 'us_tax_rates', 'vat_numbers', 'vat_number_checks']) {
      await runner.query(secureV1(name));
      await runner.query(`grant select, insert, update, delete on ${name} to billing_app`);
    }
    await runner.query('create sequence vat_number_checks_id_seq');
    await runner.query('grant usage on sequence vat_number_checks_id_seq to billing_app');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const statements = [
  `create table tax_settings (
    merchant_id bigint not null, nexus_addresses jsonb not null, gateway_rules jsonb not null,
    reverse_charge_pending boolean not null, vat_gateway jsonb,
    constraint tax_settings_pkey primary key (merchant_id))`,
  `create table tax_exemptions (
    merchant_id bigint not null, user_id bigint not null, reason text not null, valid_until bigint not null,
    create_time bigint not null,
    constraint tax_exemptions_pkey primary key (merchant_id, user_id))`,
  `create table us_tax_rates (
    merchant_id bigint not null, state text not null, zip text not null, from_time bigint not null,
    to_time bigint not null, rate_ppm integer not null,
    constraint us_tax_rates_pkey primary key (merchant_id, state, zip, from_time),
    constraint us_tax_rates_rate check (rate_ppm between 0 and 1000000))`,
  `create table vat_numbers (
    merchant_id bigint not null, number text not null, version integer not null, country_code text not null,
    valid boolean not null, check_time bigint not null, pending_since bigint not null,
    constraint vat_numbers_pkey primary key (merchant_id, number))`,
  `create table vat_number_checks (
    merchant_id bigint not null, id bigint not null, number text not null, country_code text not null,
    source text not null, valid boolean not null, under_maintenance boolean not null, message text not null,
    company_name text not null, company_address text not null, reference text not null, create_time bigint not null,
    constraint vat_number_checks_pkey primary key (merchant_id, id),
    constraint vat_number_checks_source check (source in ('format', 'vies')))`,
  `create index vat_number_checks_newest on vat_number_checks (merchant_id, create_time, id)`,
  `create index vat_number_checks_number on vat_number_checks (merchant_id, number, id)`,
];
