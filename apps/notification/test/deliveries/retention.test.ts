import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { listEndpointLogs, replayWebhooks, resendWebhook } from '@recur/contracts';
import { newId } from '@recur/kernel';
import { Retention } from '../../src/deliveries/retention.js';
import { makeStand } from '../stand.js';

const stand = await makeStand();
const { t, clock, merchant, newOne, event, deliver, deliveriesOf, answerWith } = stand;
const retention = t.app.get(Retention);
afterAll(() => stand.close());
beforeEach(() => stand.anew());

const daySeconds = 86_400;
const weekSeconds = 7 * daySeconds;
const week = () => Math.floor(clock.now() / weekSeconds);
const partitionsOf = async (table: string) =>
  (
    await t.rows(
      `select relname from pg_inherits join pg_class c on c.oid = inhrelid where inhparent = $1::regclass order by 1`,
      [table],
    )
  ).map(({ relname }) => String(relname));
const weeksOf = async (table: string) =>
  (await partitionsOf(table)).flatMap(name => (name.endsWith('_default') ? [] : [Number(name.split('_w')[1])]));
const rowsIn = async (table: string) =>
  Number((await t.rows(`select count(*) from ${table} where merchant_id = $1`, [merchant.merchantId]))[0]?.count);
const tables = ['deliveries', 'events', 'attempts'];

/** A delivery to an endpoint, sent or not. */
async function delivered(status = 200) {
  const { endpointId } = await newOne();
  answerWith(status);
  await t.deliver('billing', [event()]);
  await deliver(endpointId);
  return endpointId;
}

describe('partitions', () => {
  it('are made for this week and the next two, once, and rows go where their week is', async () => {
    clock.advance(weekSeconds);
    const now = week();
    expect(await retention.keep()).toEqual([`made ${now}`, `made ${now + 1}`, `made ${now + 2}`].slice(-3));
    expect(await retention.keep()).toEqual([]);
    await delivered();
    for (const table of tables) {
      expect(await weeksOf(table)).toEqual(expect.arrayContaining([now, now + 1, now + 2]));
      expect(await rowsIn(`${table}_w${now}`)).toBe(1);
      expect(await rowsIn(`${table}_default`)).toBe(0);
    }
  });

  it('are named by the time of an id as it is made everywhere', async () => {
    for (const ms of [0, 1, 31, 32, 1_790_000_000_123, 2 ** 48 - 1]) {
      const [row] = await t.rows('select event_id_at($1) as id', [ms]);
      expect(newId('ev_', ms, new Uint8Array(10))).toBe(`${row?.id}${'0'.repeat(16)}`);
    }
  });

  it('are those of the mapping, and hold back rows of other merchants, asked for by whatever name', async () => {
    expect(await t.drift()).toEqual([]);
    await retention.keep();
    await delivered();
    const ask = (from: string, merchantId = merchant.merchantId) =>
      t.db.read(t.callerOf({ merchantId }), reader => reader.query(`select 1 from ${from}`, []));
    for (const table of tables) {
      expect(await ask(table)).toHaveLength(1);
      expect(await ask(table, 99)).toHaveLength(0);
      for (const partition of await partitionsOf(table)) {
        const [secured] = await t.rows('select relrowsecurity from pg_class where oid = $1::regclass', [partition]);
        expect(secured?.relrowsecurity).toBe(true);
        // with the rights that a deployment's default privileges give
        await t.rows(`grant select on ${partition} to notification_app`);
        expect(await ask(partition)).toHaveLength(0);
      }
    }
  });

  it('are asked for the few rows that are needed, not one after the other', async () => {
    await retention.keep();
    const [plan] = await t.rows(`explain (format json) select * from deliveries
      where merchant_id = 1 and event_id > '${newId('ev_', clock.wall(), new Uint8Array(10))}'`);
    const scanned = JSON.stringify(plan).match(/deliveries_(w\d+|default)/g) ?? [];
    expect(new Set(scanned)).toEqual(
      new Set([
        `deliveries_w${week()}`,
        `deliveries_w${week() + 1}`,
        `deliveries_w${week() + 2}`,
        'deliveries_default',
      ]),
    );
  });

  it('take an event once, however often it is consumed', async () => {
    await retention.keep();
    const { endpointId } = await newOne();
    const once = event();
    await t.deliver('billing', [once]);
    await t.rows('delete from inbox');
    await t.rows('delete from gate');
    await expect(t.deliver('billing', [once])).resolves.toBeUndefined();
    await deliver(endpointId);
    expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'delivered' }]);
  });
});

describe('what is too old', () => {
  it('goes by whole weeks, 30 days after the last of them ended, and not before', async () => {
    await retention.keep();
    const endpointId = await delivered();
    const [made] = [week()];
    const keptUntil = (made + 1) * weekSeconds + 30 * daySeconds;
    clock.advance(keptUntil - 1 - clock.now());
    expect((await retention.keep()).filter(what => what.startsWith('dropped'))).not.toContain(`dropped ${made}`);
    expect(await deliveriesOf(endpointId)).toHaveLength(1);
    clock.advance(1);
    expect(await retention.keep()).toContain(`dropped ${made}`);
    for (const table of tables) expect(await weeksOf(table)).not.toContain(made);
    expect(await deliveriesOf(endpointId)).toEqual([]);
    const { endpointLogList } = await t.done(listEndpointLogs, { endpointId }, merchant);
    expect(endpointLogList).toEqual([]);
  });

  it('stays while anything of its week is scheduled, with its event; and goes when that is over', async () => {
    await retention.keep();
    const endpointId = await delivered();
    const made = week();
    const [entry] = (await t.done(listEndpointLogs, { endpointId }, merchant)).endpointLogList;
    clock.advance((made + 1) * weekSeconds + 30 * daySeconds - clock.now());
    await t.done(resendWebhook, { logId: entry?.id ?? 0 }, merchant);
    expect(await retention.keep()).not.toContain(`dropped ${made}`);
    await deliver(endpointId);
    expect(await deliveriesOf(endpointId)).toMatchObject([{ state: 'delivered', attempts: 1 }]);
    expect(stand.received).toHaveLength(2);
    expect(await retention.keep()).toContain(`dropped ${made}`);
  });

  it('is no part of a replay, which counts and sends only what is kept', async () => {
    await retention.keep();
    const endpointId = await delivered();
    clock.advance(38 * daySeconds);
    await retention.keep();
    await t.deliver('billing', [event()]);
    await deliver(endpointId);
    const asked = { endpointId, createTimeStart: 0, deliveredToo: true };
    expect((await t.done(replayWebhooks, asked, merchant)).count).toBe(1);
    await t.work.drain();
    await deliver(endpointId);
    expect(stand.received).toHaveLength(3);
  });

  it('goes from what fits no week, row by row, but for what is scheduled', async () => {
    await retention.keep();
    const { endpointId } = await newOne();
    clock.advance(-400 * daySeconds);
    const old = event();
    clock.advance(400 * daySeconds);
    // as if a week had been dropped before a late event of it came
    const [{ relname: oldest = '' } = {}] = await t.rows(
      `select relname from pg_inherits join pg_class c on c.oid = inhrelid where inhparent = 'deliveries'::regclass and relname ~ 'w[0-9]' order by 1 limit 1`,
    );
    const number = String(oldest).split('_w')[1];
    for (const table of tables) await t.rows(`drop table ${table}_w${number}`);
    await t.deliver('billing', [old]);
    expect(await rowsIn('deliveries_default')).toBe(1);
    await retention.keep();
    expect(await rowsIn('deliveries_default')).toBe(1);
    expect(await rowsIn('events_default')).toBe(1);
    answerWith(200);
    await deliver(endpointId);
    expect(stand.received).toHaveLength(1);
    await retention.keep();
    expect(await rowsIn('deliveries_default')).toBe(0);
    expect(await rowsIn('events_default')).toBe(0);
  });

  it('is dropped by one worker, however many try', async () => {
    await retention.keep();
    clock.advance(60 * daySeconds);
    const done = (await Promise.all(Array.from({ length: 16 }, () => retention.keep()))).flat();
    expect(new Set(done).size).toBe(done.length);
    expect(done).toContain(`made ${week()}`);
  });
});
