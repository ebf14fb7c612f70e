import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A payment names its method; the method that the user's profile names is the default one of its gateway. */
export class Methods1763683200051 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `alter table payments add column method_id text not null default '', add column method_name text not null default ''`,
    );
    const named = `from user_copies u join payment_methods named on named.merchant_id = u.merchant_id
        and named.user_id = u.id and named.method_id = u.data->>'paymentMethod'
      where m.merchant_id = named.merchant_id and m.user_id = named.user_id and m.gateway_id = named.gateway_id`;
    const tables = ['user_copies', 'payment_methods'];
    // the owner of the tables sees all merchants meanwhile; nobody else does
    for (const table of tables) await runner.query(`alter table ${table} no force row level security`);
    await runner.query(`update payment_methods m set is_default = false ${named} and m.is_default`);
    await runner.query(`update payment_methods m set is_default = true ${named} and m.method_id = named.method_id`);
    for (const table of tables) await runner.query(`alter table ${table} force row level security`);
  }

  /** Forward only. */
  async down(): Promise<void> {}
}
