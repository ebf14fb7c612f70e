import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newUser, userCount } from '@recur/contracts';
import { type MovableClock, type TestService, testService } from '@recur/platform/testing';
import fc from 'fast-check';
import { identity } from '../../src/service.js';
import { parts } from '../../src/users/domain/spans.js';

let t: TestService;
/** 30 January 2026, 23:59:30: users created around it fall into two minutes, hours and days. */
const start = 1_769_817_570;
const fill = (merchantId: number, times: string) =>
  t.rows(
    `insert into users (merchant_id, id, email, email_key, external_user_id, first_name, last_name, phone, address,
       language, status, type, billing_type, gateway_id, profile, create_time, version)
     select ${merchantId}, n, n, n, '', '', '', '', '', '', 'active', 1, 1, 0, '{}', ${times}, 1
     from generate_series(1, 3000) n`,
  );

beforeAll(async () => {
  t = await testService(identity);
  await fill(20, `${start} + (n * 7919) % 400000`);
  await fill(21, `${start} + n % 90`);
});
afterAll(() => t.close());

const count = async (range: object, merchantId: number) => (await t.done(userCount, range, { merchantId })).total;
async function plainly(from: number, to: number, merchantId: number): Promise<number> {
  const [row] = await t.rows(
    'select count(*) as n from users where merchant_id = $1 and create_time between $2 and $3',
    [merchantId, from, to],
  );
  return Number(row?.n);
}

describe('user/count', () => {
  it.each([20, 21])('of merchant %i is that of a plain count, whatever the range', async merchantId => {
    const moment = fc.integer({ min: start - 100_000, max: start + 500_000 });
    await fc.assert(
      fc.asyncProperty(moment, fc.oneof(moment, fc.integer({ min: start, max: start + 200 })), async (from, to) => {
        expect(await count({ createTimeStart: from, createTimeEnd: to }, merchantId)).toBe(
          await plainly(from, to, merchantId),
        );
      }),
      { numRuns: 150 },
    );
  });

  it('of one second, and with an end or both left open', async () => {
    expect(await count({ createTimeStart: start, createTimeEnd: start }, 21)).toBe(await plainly(start, start, 21));
    expect(await count({ createTimeStart: start + 60 }, 20)).toBe(await plainly(start + 60, 2_000_000_000, 20));
    expect(await count({ createTimeEnd: start + 60 }, 20)).toBe(await plainly(0, start + 60, 20));
    expect(await count({}, 20)).toBe(3000);
    expect(await count({ createTimeStart: 0, createTimeEnd: 0 }, 20)).toBe(3000);
    expect(await count({ createTimeStart: -5, createTimeEnd: Number.MAX_SAFE_INTEGER }, 20)).toBe(3000);
    expect(await count({ createTimeStart: start + 9, createTimeEnd: start }, 20)).toBe(0);
    expect(await count({ createTimeEnd: -1 }, 20)).toBe(0);
    expect(await count({}, 22)).toBe(0);
  });

  it('counts users that are created at once and over time, and none that is refused', async () => {
    const clock = t.clock as MovableClock;
    for (const wave of ['a', 'b', 'c']) {
      const results = await Promise.all(
        Array.from({ length: 60 }, (_, at) =>
          t.call(newUser, { email: `${wave}${at % 50}@example.com` }, { merchantId: 23 }),
        ),
      );
      expect(results.filter(({ ok }) => ok)).toHaveLength(50);
      clock.advance(50_000);
    }
    expect(await count({}, 23)).toBe(150);
    const now = clock.now();
    expect(await count({ createTimeStart: now - 100_000 }, 23)).toBe(100);
    expect(await count({ createTimeStart: now - 100_000, createTimeEnd: now - 100_000 }, 23)).toBe(50);
    const tallies = await t.rows(
      `select span, sum(n)::int as n from user_tallies where merchant_id = 23 group by span order by span`,
    );
    expect(tallies).toEqual([
      { span: 60, n: 150 },
      { span: 86_400, n: 150 },
    ]);
  });
});

describe('the parts of a range', () => {
  it('cover it without a gap, each of whole spans', () => {
    const moment = fc.integer({ min: 0, max: 1_000_000 });
    fc.assert(
      fc.property(moment, moment, (from, to) => {
        const all = parts(from, to);
        expect(all.map(part => part.from)).toEqual(all.length === 0 ? [] : [from, ...all.slice(0, -1).map(p => p.to)]);
        expect(all.at(-1)?.to ?? to).toBe(from < to ? to : (all.at(-1)?.to ?? to));
        for (const { span, from: first, to: last } of all) {
          expect([first < last, first % span, last % span]).toEqual([true, 0, 0]);
          if (span < 86_400) expect(last - first).toBeLessThan(span === 60 ? 2 * 86_400 : 120);
        }
      }),
    );
  });
});
