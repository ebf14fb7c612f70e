import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adjustments of limits are listed by user and by metric; changes inside periods stand in timelines. */
export class Histories1763683200061 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const [name, on] of Object.entries(indices)) await runner.query(`create index ${name} on ${on}`);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}

const made = `where status = 'finished' and effect_immediate = 1`;
const indices = {
  usage_adjustments_user: 'usage_adjustments (merchant_id, user_id, id)',
  usage_adjustments_metric: 'usage_adjustments (merchant_id, metric_id, id)',
  subscription_pending_updates_made: `subscription_pending_updates (merchant_id, effect_time, subscription_id) ${made}`,
  subscription_pending_updates_user: `subscription_pending_updates (merchant_id, user_id, effect_time, subscription_id)
    ${made}`,
};
