import { afterAll, describe, expect, it } from '@jest/globals';
import { emptyTable } from '@recur/platform/testing';
import { claimStatement } from '../../../src/deliveries/sending/claims.js';
import { makeStand } from '../../stand.js';

const stand = await makeStand({ REDIS_URL: '' });
const { t, merchant, newOne } = stand;
const client = await t.owner();
// the test says when statistics are taken and dead rows removed
await t.rows('alter table due set (autovacuum_enabled = false)');
afterAll(async () => {
  await client.end();
  await stand.close();
});

const endpointCount = 25;
const room = 8;
const [few, many] = [1_000, 100_000];
const claims = 4;

/** Events and due deliveries of each to every endpoint, in the order in which they are written. */
const fillText = `with e as (insert into events (merchant_id, event_id, type, at, body)
    select $1, event_id_at($2) || $3 || lpad(n::text, 8, '0'), 'invoice.created', 0, '{}' from generate_series(1, $4) n returning event_id)
  insert into due (delivery_id, merchant_id, endpoint_id, event_id, due_at_ms)
  select 'dl_' || substr(event_id, 4) || 'x' || endpoint_id, $1, endpoint_id, event_id, 1 from e, unnest($5::bigint[]) endpoint_id
  order by event_id, endpoint_id`;

let filled = 0;
let tokens = 0;
async function fill(endpointIds: readonly number[], count: number): Promise<void> {
  const events = count / endpointIds.length;
  await t.rows(fillText, [merchant.merchantId, Date.now(), `f${filled++}x`, events, endpointIds]);
}

interface Plan {
  Plan: { 'Shared Hit Blocks': number; 'Shared Read Blocks': number };
}

/** Buffers per claimed delivery, over consecutive claims with a plan of this mode, made the first time it is asked. */
async function buffersPerDelivery(endpointIds: readonly number[], mode: string): Promise<number> {
  let [buffers, claimed] = [0, 0];
  let after = endpointIds.map(() => [-1, ''] as [number, string]);
  for (let claim = 0; claim < claims; claim++) {
    const token = `claim ${tokens++}`;
    await client.query(`begin; set local app.merchant_id = '${merchant.merchantId}'; set local plan_cache_mode = ${mode};
      set local enable_seqscan = off; set local enable_bitmapscan = off`);
    const list = (values: readonly unknown[]) => `'{${values.map(value => `"${value}"`).join(',')}}'`;
    const { rows } = await client.query(`explain (analyze, buffers, format json) execute claim_${mode} (
      ${merchant.merchantId}, ${list(endpointIds)}, ${list(endpointIds.map(() => room))},
      ${list(after.map(([dueAtMs]) => dueAtMs))}, ${list(after.map(([, deliveryId]) => deliveryId))},
      ${stand.clock.wall()}, '${token}', ${stand.clock.wall() + 45_000}, ${stand.clock.now()})`);
    await client.query('commit');
    const [{ Plan: plan }] = rows[0]['QUERY PLAN'] as [Plan];
    buffers += plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    const taken = await t.rows('select endpoint_id, delivery_id, due_at_ms from due where lease_token = $1', [token]);
    claimed += taken.length;
    after = endpointIds.map((id, at) => {
      const ids = taken.filter(row => Number(row.endpoint_id) === id).map(row => String(row.delivery_id));
      return ids.length === 0 ? (after[at] as [number, string]) : [1, ids.toSorted().at(-1) as string];
    });
  }
  return buffers / claimed;
}

describe('the buffers that a claim reads for a delivery', () => {
  it.each(['force_generic_plan', 'force_custom_plan'])(
    'depend neither on the backlog nor on statistics (%s)',
    async mode => {
      stand.anew();
      const endpointIds: number[] = [];
      for (let at = 0; at < endpointCount; at++) endpointIds.push((await newOne()).endpointId);
      const prepare = () =>
        client.query(
          `prepare claim_${mode} (bigint, bigint[], bigint[], bigint[], text[], bigint, text, bigint, bigint) as ${claimStatement}`,
        );
      const empty = () => emptyTable(t, 'due');
      const measured: Record<string, number> = {};
      const measure = async (name: string) => {
        measured[name] = await buffersPerDelivery(endpointIds, mode);
      };

      // a plan made while the table has never had a row
      await prepare();
      await buffersPerDelivery(endpointIds, mode);
      await fill(endpointIds, few);
      await measure('few, planned when empty');
      await empty();
      await fill(endpointIds, many);
      await measure('many, planned when empty');
      await t.rows('vacuum analyze due');
      await measure('many, after vacuum and analyze');
      await empty();
      await t.rows('vacuum analyze due');
      await client.query('deallocate all');
      await prepare();
      await buffersPerDelivery(endpointIds, mode);
      await fill(endpointIds, few);
      await measure('few, planned after vacuum and analyze of the empty table');
      await empty();
      await fill(endpointIds, many);
      await measure('many, planned after vacuum and analyze of the empty table');
      await t.rows('analyze due');
      await measure('many, after analyze');
      await client.query('deallocate all');
      await prepare();
      await measure('many, planned when full');
      await empty();

      const lowest = Math.min(...Object.values(measured));
      const tooMany = Object.entries(measured).filter(([, buffers]) => !(buffers <= 1.5 * lowest));
      expect({ tooMany, measured }).toEqual({ tooMany: [], measured });
    },
  );
});
