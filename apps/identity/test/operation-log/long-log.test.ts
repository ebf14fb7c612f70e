import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newUser, operationLogList } from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { identity } from '../../src/service.js';
import { logged } from './log-scene.js';

let t: TestService;
beforeAll(async () => {
  t = await testService(identity);
});
afterAll(() => t.close());

describe('a long log', () => {
  const merchantId = 60;
  const list = (filters: object) => t.done(operationLogList, { page: 0, count: 20, ...filters }, { merchantId });
  beforeAll(async () => {
    const member = `insert into members select $1, $2, $3, $3, $4, '', false, 'active', 1, 1`;
    for (const id of [1, 2, 3]) await t.rows(member, [merchantId, 600 + id, `m${id}@long.example`, `M${id}`]);
    const user = await t.done(newUser, { email: 'u@long.example', firstName: 'Uma' }, { merchantId });
    // member 601 did two entries of three, 602 one of a hundred; every fourth concerns the user
    await t.rows(
      `insert into operation_logs (merchant_id, id, n, hash, create_time, opt_account_type, opt_account_id, opt_account,
         member_id, opt_target, opt_content, user_id, plan_id, invoice_id, subscription_id, discount_code)
       select $1, 1000000 + n, n, '', 1000000 + n / 3, 0, '', '', case when n % 100 = 0 then 602 when n % 3 > 0 then 601 else 0 end,
         n::text, 'New', case when n % 4 = 0 then $2::bigint else 0 end, n % 2, '', '', '' from generate_series(1, 24000) n`,
      [merchantId, user.user.id],
    );
  });
  /** The expected targets of a page. */
  const expected = (fits: (n: number) => boolean, page: number) =>
    Array.from({ length: 24_000 }, (_, at) => 24_000 - at)
      .filter(fits)
      .slice(page * 20, page * 20 + 20)
      .map(String);

  it.each<[object, (n: number) => boolean, number]>([
    [{}, () => true, 10_000],
    [{ memberEmail: 'm1@long' }, n => n % 100 !== 0 && n % 3 > 0, 10_000],
    [{ memberEmail: 'm2@long' }, n => n % 100 === 0, 240],
    [{ memberEmail: 'm3@long' }, () => false, 0],
    [{ memberEmail: '@long' }, n => n % 100 === 0 || n % 3 > 0, 10_000],
    [{ email: 'u@long' }, n => n % 4 === 0, 6_000],
    [{ email: 'u@long', memberFirstName: 'm2' }, n => n % 100 === 0, 240],
    [{ memberEmail: '@long', planId: 1 }, n => n % 2 === 1 && (n % 100 === 0 || n % 3 > 0), 8_000],
  ])('has its total and each of its pages by %j', async (filters, fits, total) => {
    for (const page of [0, 1, 11, 250, 499]) {
      const found = await list({ ...filters, page });
      expect(found.total).toBe(total);
      expect(found.merchantOperationLogs.map(({ optTarget }) => optTarget)).toEqual(expected(fits, page));
    }
  });

  it('is counted as it is written, by whatever batches', async () => {
    const events = Array.from({ length: 60 }, (_, n) =>
      logged(
        { actor: { kind: 'member', id: String(601 + (n % 3)), display: '' }, ids: n % 2 ? { userId: n % 5 } : {} },
        61,
      ),
    );
    const consumers = t.consumers.filter(({ what }) => what.name.startsWith('identity-log-'));
    const batches = Array.from({ length: 12 }, (_, at) => events.slice(at * 5, at * 5 + 5));
    await Promise.all(batches.map((batch, at) => consumers[at % consumers.length]?.receive(61, batch)));
    for (const merchant of [60, 61]) {
      const counted = await t.rows(
        'select kind, id, n from operation_log_tallies where merchant_id = $1 order by 1, 2',
        [merchant],
      );
      expect(counted).toEqual(
        await t.rows(
          `select kind, of.id, count(*) as n from operation_logs
             cross join lateral (values ('all', 0::bigint), ('member', member_id), ('user', user_id)) of (kind, id)
           where merchant_id = $1 and (kind = 'all' or of.id <> 0) group by 1, 2 order by 1, 2`,
          [merchant],
        ),
      );
    }
  });
});
