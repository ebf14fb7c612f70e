import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { services } from '@recur/contracts';
import { Keyring } from '@recur/platform';
import { type TestService, testService } from '@recur/platform/testing';
import { entryHash, headText, logPurpose } from '../../src/operation-log/chain.js';
import { identity } from '../../src/service.js';
import { batch, consumerOf, logScene } from './log-scene.js';

let t: TestService;
beforeAll(async () => {
  t = await testService(identity);
});
afterAll(() => t.close());
afterEach(() => {
  jest.restoreAllMocks();
});

const { append, verify, headOf, asOwner } = logScene(() => t);

describe('the chain', () => {
  it('numbers the entries from 1 on and hashes each with the one before; its head is signed', async () => {
    await append(20, 3);
    await append(20, 2);
    const rows = await t.rows('select * from operation_logs where merchant_id = 20 order by n');
    expect(rows.map(({ n }) => n)).toEqual(['1', '2', '3', '4', '5']);
    expect(new Set(rows.map(({ hash }) => hash)).size).toBe(5);
    expect(await headOf(20)).toEqual({ n: 5, hash: rows[4]?.hash });
    expect(await verify(20)).toEqual({ merchantId: 20, entries: 5, hash: rows[4]?.hash, problems: [] });
  });

  it('is what it was: entries that are written today are verified by this forever', () => {
    const entry = {
      merchantId: 1,
      n: 2,
      id: 3,
      createTime: 1_700_000_000,
      optAccountType: 2,
      optAccountId: 'a',
      optAccount: 'key_…b',
      memberId: 0,
      optTarget: 'Plan(4)',
      optContent: 'New',
      userId: 5,
      planId: 4,
      invoiceId: 'in_1',
      subscriptionId: 'sub_1',
      discountCode: 'TEN',
    };
    expect(entryHash('', entry)).toBe('AAUGP4QAjE71Y3NrLopvn2t90Jqr_dOwPrZUweLvX6Y');
    expect(entryHash('AAUGP4QAjE71Y3NrLopvn2t90Jqr_dOwPrZUweLvX6Y', entry)).toBe(
      'fsiqAkRNWmMiWH3RLKyOAmjJ3ySrJErkBKgT7SYf1oc',
    );
  });

  it('of a merchant of which nothing was logged holds', async () => {
    expect(await verify(999)).toEqual({ merchantId: 999, entries: 0, hash: '', problems: [] });
  });

  it('is longer than a page of the verification', async () => {
    for (const _ of [1, 2, 3]) await append(21, 700);
    expect(await verify(21)).toMatchObject({ entries: 2_100, problems: [] });
    await asOwner(21, `update operation_logs set opt_account = 'nobody' where n = 1001`);
    expect((await verify(21)).problems).toEqual([
      expect.stringMatching(/^entry 1001 \(id \d+\) is not as it was written$/),
    ]);
  });

  it('is one, whatever is appended at once by all consumers of two replicas', async () => {
    const other = await t.replica();
    const consumers = [t, other].flatMap(of => services.map(from => consumerOf(of, from)));
    const batches = Array.from({ length: 64 }, () => batch(22, 5));
    await Promise.all(batches.map((events, at) => consumers[at % consumers.length]?.receive(22, events)));
    // a redelivery to the other replica is dropped
    await Promise.all(
      batches
        .slice(0, 8)
        .map((events, at) => consumerOf(at % 2 ? t : other, services[at % 4] ?? '').receive(22, events)),
    );
    expect(await verify(22)).toMatchObject({ entries: 320, problems: [] });
    expect(
      await t.rows('select count(*)::integer as n, max(n)::integer as last from operation_logs where merchant_id = 22'),
    ).toEqual([{ n: 320, last: 320 }]);
  });

  it('is verified while it grows', async () => {
    let growing = true;
    const grow = (async () => {
      for (let n = 0; n < 40; n++) await append(23, 3);
      growing = false;
    })();
    while (growing) expect((await verify(23)).problems).toEqual([]);
    await grow;
    expect(await verify(23)).toMatchObject({ entries: 120, problems: [] });
  });
});

describe('the operation log is only appended to', () => {
  it.each([
    'update operation_logs set opt_content = opt_content',
    'delete from operation_logs',
    'truncate operation_logs',
  ])('the service may not %s, nor may the owner in passing', async statement => {
    await append(24, 1);
    const as = (role: string) => t.rows(`set local role ${role}; set local app.merchant_id = '24'; ${statement}`);
    await expect(as('identity_app')).rejects.toThrow('permission denied');
    await expect(as('identity_owner')).rejects.toThrow('the operation log is only appended to');
    expect((await verify(24)).problems).toEqual([]);
  });

  it('nor may the service remove a head', async () => {
    await expect(
      t.rows(`set local role identity_app; set local app.merchant_id = '24'; delete from operation_log_heads`),
    ).rejects.toThrow('permission denied');
  });
});

describe('tampering by the owner is found', () => {
  const copied = `merchant_id, id, create_time, opt_account_type, opt_account_id, opt_account, member_id, opt_target,
    opt_content, user_id, plan_id, invoice_id, subscription_id, discount_code, hash`;
  const swap = (column: string) =>
    `update operation_logs a set ${column} = b.${column} from operation_logs b where a.n in (4, 6) and b.n = 10 - a.n`;
  let merchantId = 100;
  beforeAll(async () => {
    await asOwner(0, 'drop index operation_logs_chain; alter table operation_logs drop constraint operation_logs_n');
  });

  it.each<[string, string, RegExp]>([
    ...[
      'opt_content',
      'opt_target',
      'opt_account',
      'opt_account_id',
      'invoice_id',
      'subscription_id',
      'discount_code',
    ].map((column): [string, string, RegExp] => [
      `${column} edited`,
      `update operation_logs set ${column} = 'x' where n = 5`,
      /^entry 5 \(id \d+\) is not as it was written$/,
    ]),
    ...['create_time', 'opt_account_type', 'member_id', 'user_id', 'plan_id', 'id'].map(
      (column): [string, string, RegExp] => [
        `${column} edited`,
        `update operation_logs set ${column} = ${column} + 1000000 where n = 5`,
        /^entry 5 \(id \d+\) is not as it was written$/,
      ],
    ),
    ['a hash edited', `update operation_logs set hash = reverse(hash) where n = 7`, /^entry 7 \(id \d+\) is not/],
    ['the first removed', 'delete from operation_logs where n = 1', /^entry 1 is missing$/],
    ['one removed', 'delete from operation_logs where n = 6', /^entry 6 is missing$/],
    [
      'one removed, and the others moved up',
      'delete from operation_logs where n = 6; update operation_logs set n = n - 1 where n > 6',
      /^entry 6 \(id \d+\) is not/,
    ],
    ['two swapped whole', swap('n'), /^entry 4 \(id \d+\) is not/],
    ['the contents of two swapped', swap('user_id'), /^entry 4 \(id \d+\) is not/],
    [
      'one inserted in between',
      `update operation_logs set n = n + 1 where n > 3; insert into operation_logs (n, ${copied}) select 4, ${copied.replace(' id,', ' id + 500000,')} from operation_logs where n = 3`,
      /^entry 4 \(id \d+\) is not/,
    ],
    [
      'one inserted beside',
      `insert into operation_logs (n, ${copied}) select n, ${copied.replace(' id,', ' id + 500000,')} from operation_logs where n = 3`,
      /^entry 3 \(id \d+\) was never appended$/,
    ],
    [
      'one inserted before',
      `insert into operation_logs (n, ${copied}) select 0, ${copied.replace(' id,', ' id + 500000,')} from operation_logs where n = 3`,
      /^entry 0 \(id \d+\) was never appended$/,
    ],
    [
      'one inserted at the end',
      `insert into operation_logs (n, ${copied}) select 11, ${copied.replace(' id,', ' id + 500000,')} from operation_logs where n = 3`,
      /^entry 11 was never appended$/,
    ],
    [
      'the last ones removed',
      'delete from operation_logs where n > 8',
      /^entry 9 is missing, and all after it: there were 10$/,
    ],
    ['all removed', 'delete from operation_logs', /^entry 1 is missing, and all after it: there were 10$/],
    [
      'the last removed, and the head moved back',
      'delete from operation_logs where n = 10; update operation_log_heads set n = 9, hash = (select hash from operation_logs where n = 9)',
      /^the head is not as it was signed$/,
    ],
    ['the count of the head edited', 'update operation_log_heads set n = n + 1', /^the head is not as it was signed$/],
    [
      'the hash of the head edited',
      `update operation_log_heads set hash = reverse(hash)`,
      /^the head is not as it was signed$/,
    ],
    ['the signature removed', `update operation_log_heads set signature = ''`, /^the head is not as it was signed$/],
    [
      'the signature of a key that is not in the ring',
      `update operation_log_heads set signature = replace(signature, 's2.k1.', 's2.k2.')`,
      /^the head is not as it was signed$/,
    ],
    ['the head removed', 'delete from operation_log_heads', /^the head is missing$/],
  ])('%s', async (_, sql, problem) => {
    await append(++merchantId, 10);
    expect((await verify(merchantId)).problems).toEqual([]);
    await asOwner(merchantId, sql);
    const { problems } = await verify(merchantId);
    expect(problems).toEqual([expect.stringMatching(problem)]);
    expect((await verify(24)).problems).toEqual([]);
  });

  it('a chain that was computed anew by somebody without the keys', async () => {
    await append(++merchantId, 3);
    await asOwner(merchantId, 'delete from operation_logs where n = 2; update operation_logs set n = 2 where n = 3');
    const rows = await t.rows('select * from operation_logs where merchant_id = $1 order by n', [merchantId]);
    let hash = '';
    for (const row of rows) {
      const number = (name: string) => Number(row[name]);
      const word = (name: string) => String(row[name]);
      hash = entryHash(hash, {
        merchantId,
        n: number('n'),
        id: number('id'),
        createTime: number('create_time'),
        optAccountType: number('opt_account_type'),
        optAccountId: word('opt_account_id'),
        optAccount: word('opt_account'),
        memberId: number('member_id'),
        optTarget: word('opt_target'),
        optContent: word('opt_content'),
        userId: number('user_id'),
        planId: number('plan_id'),
        invoiceId: word('invoice_id'),
        subscriptionId: word('subscription_id'),
        discountCode: word('discount_code'),
      });
      await asOwner(merchantId, `update operation_logs set hash = '${hash}' where n = ${row.n}`);
    }
    const signature = new Keyring(`k1:${Buffer.alloc(32, 8).toString('base64')}`).sign(
      logPurpose,
      headText({ merchantId, n: 2, hash }),
    );
    await asOwner(merchantId, `update operation_log_heads set n = 2, hash = '${hash}', signature = '${signature}'`);
    expect((await verify(merchantId)).problems).toEqual(['the head is not as it was signed']);
  });

  it("the head of another merchant's chain", async () => {
    await append(++merchantId, 4);
    await append(++merchantId, 4);
    const [other] = await t.rows('select * from operation_log_heads where merchant_id = $1', [merchantId - 1]);
    await asOwner(
      merchantId,
      `update operation_log_heads set hash = '${other?.hash}', signature = '${other?.signature}'`,
    );
    expect((await verify(merchantId)).problems).toEqual(['the head is not as it was signed']);
  });
});
