import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Subscriptions that were set to end before ends were announced are looked at. */
export class EndNotices1763683200067 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // the owner of the table sees all merchants meanwhile; nobody else does
    await runner.query('alter table subscriptions no force row level security');
    await runner.query(`insert into due_work select merchant_id, 'subscription.end_notice', subscription_id, 0, 0
      from subscriptions where status in ('active', 'incomplete') and cancel_at_period_end
      on conflict do nothing`);
    await runner.query('alter table subscriptions force row level security');
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
