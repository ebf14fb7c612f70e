import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { emptyOf, MerchantState, markWireTransferSuccess, newPayment, setupWireTransfer, User } from '@recur/contracts';
import { platformTables } from '@recur/platform';
import { type TestService, testService } from '@recur/platform/testing';
import { billing, infrastructure } from '../src/service.js';

const { tables, migrations } = billing.schema;
const [first, ...later] = migrations;
const user = { ...emptyOf(User), id: 7, merchantId: 15, email: 'Ada@example.com', externalUserId: 'ada' };

let t: TestService;
beforeAll(async () => {
  t = await testService({ ...billing, schema: { tables, migrations: first ? [first] : [] } });
  await t.rows(`insert into invoices select 15, 'in_' || n, n, 1, case n when 1 then 'paid' else 'processing' end, n, 7, 2,
    'Admin', 'March', 'EUR', 0, 0, 0, 0, 500, 500, 500, 1, 'pay_' || n, '', 3, 1, 1, 1000, 0, 0 from generate_series(1, 2) n`);
  await t.rows(`insert into payments select 15, 'pay_' || n, 1, case n when 1 then 'success' else 'created' end, 'in_' || n,
    7, 1, 'EUR', 500, 0, '', '', '', 1, 1, 0, 0 from generate_series(1, 2) n`);
  await t.rows('insert into numberings values (15, 2)');
  await t.rows('insert into user_copies values (15, 7, 0, 0, $1, 1)', [user]);
  await t.rows(`with made as (insert into outbox (id, type, merchant_id, aggregate, aggregate_id, version, envelope, created_at)
    select 'ev_' || n, 'invoice.created', 15, 'invoice', 'in_' || n, 1, '{"n":' || n || '}', 1 from generate_series(1, 2) n
    returning seq) insert into unpublished select seq from made`);
  // as the owner role, which is also subject to row-level security
  const query = (text: string) => t.rows(`set role billing_owner; ${text}; reset role`);
  for (const Migration of later) await new Migration().up({ query } as never);
  await t.rows('insert into merchant_copies values (15, $1, 1)', [{ ...emptyOf(MerchantState), id: 15 }]);
});
afterAll(() => t.close());

it('a database from before becomes what the tables are mapped to', async () => {
  expect(await t.drift()).toEqual([]);
});

it('every table of it has row-level security, but for those that are listed', async () => {
  const open = await t.rows(`select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
    and not (relrowsecurity and relforcerowsecurity) order by 1`);
  const expected = [...platformTables.filter(name => !/^migrations$|^schema_state$/.test(name)), ...infrastructure];
  const names = open.map(({ relname }) => relname).filter(name => name !== 'migrations' && name !== 'schema_state');
  expect(names).toEqual(expected.toSorted());
});

it('keys and indexes its tenant tables by the merchant first', async () => {
  expect(await t.withoutMerchant()).toEqual([]);
});

it('its events that wait to be published wait on', async () => {
  const waiting = await t.rows(
    `select first, characters, id from unpublished join outbox on array[seq] = seqs order by id`,
  );
  expect(waiting).toEqual([1, 2].map(n => ({ first: String(n), characters: '7', id: `ev_${n}` })));
});

it('its open invoices will expire', async () => {
  expect(await t.rows('select due_at, key from due_work')).toEqual([
    { due_at: String(1000 + 3 * 86_400 + 1_200), key: 'in_2' },
  ]);
});

it('its users are found by their names, and its payments go on', async () => {
  const { gateway } = await t.done(setupWireTransfer, { currency: 'EUR', minimumAmount: 1 });
  const talk = { gatewayId: gateway.gatewayId, totalAmount: 5, currency: 'EUR' };
  for (const who of [{ email: 'ada@EXAMPLE.com' }, { externalUserId: 'ada' }]) {
    expect(await t.call(newPayment, { ...talk, ...who })).toMatchObject({ ok: true });
  }
  await t.rows('update payments set gateway_id = $1', [gateway.gatewayId]);
  expect(await t.call(markWireTransferSuccess, { invoiceId: 'in_2', transferNumber: 'T' })).toMatchObject({ ok: true });
});
