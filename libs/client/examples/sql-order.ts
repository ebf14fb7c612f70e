import type { WebhookOrder } from '@recur/client';
import type { Pool, PoolClient } from 'pg';

// create table webhook_order (object text primary key, sequence bigint not null, at timestamptz not null default now())
const next = `insert into webhook_order (object, sequence) values ($1, $2)
  on conflict (object) do update set sequence = excluded.sequence, at = now()
  where webhook_order.sequence < excluded.sequence`;

/** Keeps sequences in a table, each written in the transaction of its effect. */
export const sqlOrder = (pool: Pool): WebhookOrder<PoolClient> => ({
  advance: async (place, effect) => {
    const client = await pool.connect();
    let failure: unknown;
    // a connection that drops while the effect is elsewhere fails the next query
    const dropped = () => undefined;
    client.on('error', dropped);
    try {
      await client.query(
        "begin; set local lock_timeout = '10s'; set local idle_in_transaction_session_timeout = '15s'",
      );
      // locks the row of the place: another process waits for this effect
      const { rowCount } = await client.query(next, [place.object, place.sequence]);
      if (rowCount === 1) await effect(client);
      await client.query('commit');
      return rowCount === 1;
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      client.off('error', dropped);
      // closed where it failed: that rolls back, whatever state it is in
      client.release(failure !== undefined);
    }
  },
});
