import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type TestService, testService } from '@recur/platform/testing';
import { LogChain1763683200007 } from '../../src/migrations/0007-log-chain.js';
import { LogVerification } from '../../src/operation-log/verification.js';
import { identity } from '../../src/service.js';

const { tables, migrations } = identity.schema;
/** Entries per merchant that predate the chain. */
const counts = { 15: 2_500, 16: 1, 17: 1_000 };

let t: TestService;
beforeAll(async () => {
  const before = migrations.slice(0, migrations.indexOf(LogChain1763683200007));
  t = await testService({ ...identity, schema: { tables, migrations: before } });
  for (const [merchantId, count] of Object.entries(counts)) {
    await t.rows(
      `insert into operation_logs (merchant_id, id, create_time, opt_account_type, opt_account_id, opt_account, member_id,
         opt_target, opt_content, user_id, plan_id, invoice_id, subscription_id, discount_code)
       select $1, n, 1700000000 - n, 2, 'a', E'"\\\\ ü', n, 'Plan(' || n || ')', 'New', n, 2, '', '', ''
       from generate_series(1, $2::integer) n`,
      [merchantId, count],
    );
  }
});
afterAll(() => t.close());

it('what was in the log before is chained as it was written, in pages, by the owner, and its heads are signed', async () => {
  const owner = await t.owner();
  // migrations read the service's settings from the environment
  const query = async (text: string, values?: unknown[]) => (await owner.query(text, values)).rows;
  await owner.query('begin');
  delete process.env.SECRET_KEYS;
  await expect(new LogChain1763683200007().up({ query } as never)).rejects.toThrow('SECRET_KEYS is missing');
  await owner.query('rollback');
  process.env.SECRET_KEYS = `k1:${Buffer.alloc(32, 7).toString('base64')}`;
  // and the migrations after it
  for (const Migration of migrations.slice(migrations.indexOf(LogChain1763683200007))) {
    await new Migration().up({ query } as never);
  }
  delete process.env.SECRET_KEYS;
  await owner.end();
  for (const [merchantId, entries] of Object.entries(counts)) {
    expect(await t.app.get(LogVerification).verify(Number(merchantId))).toMatchObject({ entries, problems: [] });
  }
  expect(await t.rows('select id, n from operation_logs where id <> n')).toEqual([]);
  expect(await t.drift()).toEqual([]);
});

it('what comes then goes on from it', async () => {
  const actor = { kind: 'system', id: '', display: 'system' } as const;
  const data = { actor, target: 'Plan(1)', content: 'Edit', ids: {} };
  const envelope = { aggregate: 'operation', aggregateId: 'ev_1', version: 1, at: 1, requestId: '', traceparent: '' };
  await t.rows(`select setval('operation_logs_id_seq', 5000)`);
  await t.deliver('billing', [{ ...envelope, id: 'ev_1', type: 'operation.logged', merchantId: 15, actor, data }]);
  expect(await t.app.get(LogVerification).verify(15)).toMatchObject({ entries: 2_501, problems: [] });
  expect(
    (await t.rows('select n from operation_logs where merchant_id = 15 and opt_content = $1', ['Edit']))[0],
  ).toEqual({
    n: '2501',
  });
});

it('an app from before, which may still run, waits with its entries as after a collision', async () => {
  const older = `insert into operation_logs (merchant_id, id, create_time, opt_account_type, opt_account_id, opt_account,
    member_id, opt_target, opt_content, user_id, plan_id, invoice_id, subscription_id, discount_code)
    values (15, 9000, 1, 2, '', '', 0, '', '', 0, 0, '', '', '')`;
  await expect(t.rows(older)).rejects.toMatchObject({ code: '40001' });
});
