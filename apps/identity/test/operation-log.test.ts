import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Actor, newUser, type OperationLogged, services } from '@recur/contracts';
import type { Event } from '@recur/platform';
import { type TestService, testService } from '@recur/platform/testing';
import { identity } from '../src/service.js';

let t: TestService;
beforeAll(async () => {
  t = await testService(identity);
});
afterAll(() => t.close());

const key: Actor = { kind: 'key', id: 'hash', display: 'key_…123456' };
let made = 0;
function logged(data: Partial<OperationLogged>, merchantId = 15): Event {
  const id = `ev_${++made}`;
  return {
    id,
    type: 'operation.logged',
    merchantId,
    aggregate: 'operation',
    aggregateId: id,
    version: 1,
    at: 1_700_000_000 + made,
    actor: key,
    requestId: `req_${made}`,
    traceparent: '',
    data: { actor: key, target: 'Invoice(in_1)', content: 'New', ids: {}, ...data },
  };
}
const entries = (merchantId = 15) =>
  t.rows('select * from operation_logs where merchant_id = $1 order by id', [merchantId]);

describe('the operation log', () => {
  it('keeps who did what, to which target, and when', async () => {
    const member: Actor = { kind: 'member', id: '7', display: 'ada@example.com' };
    const ids = { userId: 3, planId: 4, invoiceId: 'in_1', subscriptionId: 'sub_1', discountCode: 'TEN' };
    const events = [logged({ ids }), logged({ actor: member, target: 'Plan(4)', content: 'Activate' })];
    await t.deliver('billing', events);
    const empty = { user_id: '0', plan_id: '0', invoice_id: '', subscription_id: '', discount_code: '' };
    expect(await entries()).toMatchObject([
      {
        create_time: String(events[0]?.at),
        opt_account_type: 2,
        opt_account_id: 'hash',
        opt_account: 'key_…123456',
        member_id: '0',
        opt_target: 'Invoice(in_1)',
        opt_content: 'New',
        user_id: '3',
        plan_id: '4',
        invoice_id: 'in_1',
        subscription_id: 'sub_1',
        discount_code: 'TEN',
      },
      {
        ...empty,
        create_time: String(events[1]?.at),
        opt_account_type: 0,
        opt_account_id: '7',
        opt_account: 'ada@example.com',
        member_id: '7',
        opt_target: 'Plan(4)',
        opt_content: 'Activate',
      },
    ]);
  });

  it('takes each event once, however often and in whatever order it comes', async () => {
    const events = Array.from({ length: 20 }, () => logged({}, 16));
    await t.deliver('catalog', [...[...events, ...events].reverse(), ...events]);
    const [consumer] = t.consumers.filter(({ what }) => what.name === 'identity-log-catalog');
    const together = Array.from({ length: 300 }, () => logged({}, 16));
    await consumer?.receive(16, [...together, ...events, ...together]);
    const rows = await entries(16);
    expect(rows).toHaveLength(320);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(320);
    expect(new Set(rows.map(row => row.create_time)).size).toBe(320);
  });

  it('hears every service, its own included, and nothing but operation.logged', async () => {
    const consumptions = t.consumers.map(({ what }) => what).filter(({ name }) => name.startsWith('identity-log-'));
    expect(consumptions.map(({ from, subject, order }) => [from, subject, order])).toEqual(
      services.map(from => [from, 'operation.logged', 'alone']),
    );
    expect(new Set(consumptions.map(({ name }) => name)).size).toBe(services.length);
    for (const from of services) await t.deliver(from, [logged({}, 17)]);
    expect(await entries(17)).toHaveLength(services.length);
    await t.emitted();
    const { user } = await t.done(newUser, { email: 'logged@example.com' }, { merchantId: 18 });
    await t.deliver('identity', await t.emitted());
    expect(await entries(18)).toMatchObject([
      { opt_target: `User(${user.id})`, opt_content: 'New', user_id: String(user.id) },
    ]);
  });

  it('emits nothing of its own', async () => {
    await t.emitted();
    await t.deliver('billing', [logged({}, 19)]);
    expect(await t.emitted()).toEqual([]);
  });

  it('is read by its merchant only', async () => {
    const seen = await t.db.read(t.callerOf({ merchantId: 16 }), reader =>
      reader.query('select distinct merchant_id from operation_logs', []),
    );
    expect(seen).toEqual([{ merchant_id: '16' }]);
  });
});
