import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When a client session was exchanged for a token of the hosted pages. */
export class SessionExchange1763683200014 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table client_sessions add column exchange_time bigint not null default 0');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
