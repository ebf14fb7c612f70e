import type { WebhookOrder } from '@recur/client';
import type { Pool, PoolClient } from 'pg';

// create table webhook_order (object text primary key, sequence bigint not null)
const next = `insert into webhook_order (object, sequence) values ($1, $2)
  on conflict (object) do update set sequence = excluded.sequence where webhook_order.sequence < excluded.sequence`;

/** Keeps sequences in a table, each written in the transaction of its effect. */
export const sqlOrder = (pool: Pool): WebhookOrder<PoolClient> => ({
  last: async object => {
    const { rows } = await pool.query('select sequence from webhook_order where object = $1', [object]);
    return Number(rows[0]?.sequence ?? 0);
  },
  advance: async (place, effect) => {
    const client = await pool.connect();
    try {
      await client.query('begin');
      // locks the row of the object: another process waits for this effect
      const isNext = !place || (await client.query(next, [place.object, place.sequence])).rowCount === 1;
      if (isNext) await effect(client);
      await client.query(isNext ? 'commit' : 'rollback');
      return isNext;
    } catch (error) {
      await client.query('rollback');
      throw error;
    } finally {
      client.release();
    }
  },
});
