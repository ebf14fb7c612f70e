import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { listEndpointLogs, rotateSecret } from '@recur/contracts';
import { newId } from '@recur/kernel';
import { platformTables } from '@recur/platform';
import { http, type Listening, MovableClock, type TestService, testService } from '@recur/platform/testing';
import { Retention } from '../src/deliveries/retention.js';
import { Dispatcher } from '../src/deliveries/sending/dispatcher.js';
import { infrastructure, notification } from '../src/service.js';

const { tables, migrations } = notification.schema;
const before = migrations.slice(0, 2);
const clock = new MovableClock(Date.now());
const merchantId = 15;
const oldId = newId('ev_', clock.wall() - 90 * 86_400_000, randomBytes(10));
const newerId = newId('ev_', clock.wall() - 1_000, randomBytes(10));
const heard: string[] = [];

let t: TestService;
let receiver: Listening;
beforeAll(async () => {
  receiver = await http((request, response) => {
    heard.push(String(request.headers['webhook-id']));
    response.end();
  });
  t = await testService(
    { ...notification, schema: { tables, migrations: before } },
    { clock, env: { REDIS_URL: 'redis://127.0.0.1:1', WEBHOOK_ALLOW_LOOPBACK: 'true' } },
  );
  const sealed = t.keyring.seal(
    `whsec_${randomBytes(32).toString('base64')}`,
    `endpoints.sealed_secret ${merchantId} 1`,
  );
  const values = [merchantId, receiver.url, sealed];
  await t.rows(
    `insert into endpoints values ($1, 1, $2, '{invoice.created}', '{}', 'enabled', null, 0, null, false, $3, 1, 1, 1, 0)`,
    values,
  );
  await t.rows(`insert into events select $1, id, 'invoice.created', 1, '{}' from unnest($2::text[]) id`, [
    merchantId,
    [oldId, newerId],
  ]);
  await t.rows(
    `insert into deliveries values ($1, 'dl_1', 1, $2, 'delivered', 1, null, 1, '200', ''),
      ($1, 'dl_2', 1, $3, 'scheduled', 0, 1, 1, '', '')`,
    [merchantId, oldId, newerId],
  );
  await t.rows(`insert into due values ('dl_2', $1, 1, 1, null, null)`, [merchantId]);
  await t.rows(
    `insert into attempts values ($1, nextval('attempts_id_seq'), 1, 'dl_1', $2, 'invoice.created', 'u', 0, 'delivered', '200', '', $3, 1, null)`,
    [merchantId, oldId, clock.now() - 90 * 86_400],
  );
  // as the owner, whom row-level security binds, too
  const query = (text: string) => t.rows(`set role notification_owner; ${text}; reset role`);
  for (const Migration of migrations.slice(2)) await new Migration().up({ query } as never);
});
afterAll(async () => {
  await t.close();
  await receiver.close();
});

it('a database from before becomes what the tables are mapped to', async () => {
  expect(await t.drift()).toEqual([]);
});

it('every table of it has row-level security, but for those that are listed', async () => {
  const open = await t.rows(`select relname from pg_class where relnamespace = 'public'::regnamespace
    and relkind in ('r', 'p') and not relispartition and not (relrowsecurity and relforcerowsecurity) order by 1`);
  const names = open.map(({ relname }) => String(relname)).filter(name => !/^migrations$|^schema_state$/.test(name));
  const platform = platformTables.filter(name => !/^migrations$|^schema_state$/.test(name));
  expect(names).toEqual([...platform, ...infrastructure].toSorted());
  const bare = await t.rows(
    'select relname from pg_class where relispartition and relkind = $1 and not relrowsecurity',
    ['r'],
  );
  expect(bare).toEqual([]);
});

it('keys and indexes its tenant tables by the merchant first', async () => {
  expect(await t.withoutMerchant()).toEqual([]);
});

it('what was scheduled is sent, what was logged is there, and an event is still taken once', async () => {
  await t.app.get(Dispatcher).deliver(merchantId, 1);
  expect(heard).toEqual([newerId]);
  const { endpointLogList } = await t.done(listEndpointLogs, { endpointId: 1 });
  expect(endpointLogList.map(({ requestId }) => requestId)).toEqual([newerId, oldId]);
  const again = t.rows(`insert into deliveries values ($1, 'dl_3', 1, $2, 'missed', 0, null, 1, '', '')`, [
    merchantId,
    newerId,
  ]);
  await expect(again).rejects.toMatchObject({ code: '23505' });
});

it('all of it goes together, when its last week is old enough', async () => {
  const count = async () => Number((await t.rows('select count(*) from deliveries'))[0]?.count);
  await t.app.get(Retention).keep();
  expect(await count()).toBe(2);
  clock.advance(38 * 86_400);
  await t.app.get(Retention).keep();
  expect(await count()).toBe(0);
  expect(await t.rows('select 1 from events union all select 1 from attempts')).toEqual([]);
});

it('its endpoints have no former secret, and may get one', async () => {
  const { secret } = await t.done(rotateSecret, { endpointId: 1 });
  expect(secret).toMatch(/^whsec_/);
});
