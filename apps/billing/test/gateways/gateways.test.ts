import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { listGateways, setDefaultGateway, setupWireTransfer, sortGateways } from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { billing } from '../../src/service.js';

let t: TestService;
let wire: number;
beforeAll(async () => {
  t = await testService(billing);
  const bank = { accountHolder: 'Acme', address: 'Main St 1', iban: 'canary-iban' };
  const input = { currency: 'EUR', minimumAmount: 100, bank, sort: 10 };
  wire = (await t.done(setupWireTransfer, input, { idempotencyKey: 'setup' })).gateway.gatewayId;
  await add(201, 5);
  await add(202, 10);
  await add(203, 1, 'true');
});
afterAll(() => t.close());

/** Inserts a row, since no operation makes gateways of other kinds yet. */
const add = (id: number, sort: number, archived = 'false', merchantId = 15) =>
  t.rows(
    `insert into gateways values ($1, $2::integer, 'card' || $2, 1, 'Card', 'EUR', 0, $3, '{}', false, ${archived}, null, 1, 1)`,
    [merchantId, id, sort],
  );
const listed = async (input: object = {}) => (await t.done(listGateways, input)).gateways;
const defaults = async () =>
  (await t.rows('select gateway_id from gateways where is_default and merchant_id = 15')).map(row =>
    Number(row.gateway_id),
  );

describe('gateway/list', () => {
  it('has those that are not archived, by sort, then by id; archive asks for the others', async () => {
    expect((await listed()).map(({ gatewayId }) => gatewayId)).toEqual([201, wire, 202]);
    expect(await listed({ archive: 'true' })).toMatchObject([{ gatewayId: 203, archive: true }]);
    expect(await t.done(listGateways, {}, { merchantId: 16 })).toEqual({ gateways: [] });
  });

  it('shows the bank account, which stands nowhere else in clear', async () => {
    const [, { bank } = { bank: null }, card] = await listed();
    expect(bank).toMatchObject({ accountHolder: 'Acme', iban: 'canary-iban', swiftCode: '' });
    expect(card).toMatchObject({ bank: null, gatewayKey: '', gatewaySecret: '', webhookSecret: '' });
    await t.done(setDefaultGateway, { gatewayId: 201 });
    await t.done(setDefaultGateway, { gatewayId: wire }, { idempotencyKey: 'default' });
    const everything = await t.rows(
      'select gateways::text from gateways union all select envelope from outbox union all select answer from idempotency',
    );
    expect(JSON.stringify(everything)).not.toContain('canary-iban');
    const replayed = await t.call(setDefaultGateway, { gatewayId: wire }, { idempotencyKey: 'default' });
    expect(replayed).toMatchObject({ ok: true, data: { gateway: { bank: { iban: 'canary-iban' } } } });
  });
});

describe('gateway/edit_sort', () => {
  const places = (...gatewayIds: number[]) => ({
    gatewaySorts: gatewayIds.map((gatewayId, at) => ({ gatewayId, sort: at + 1 })),
  });
  const idsOf = ({ gateways }: { gateways: { gatewayId: number }[] }) => gateways.map(({ gatewayId }) => gatewayId);

  it('puts gateways in the order that is sent, in its answer and in lists, with an event for each that moved', async () => {
    await t.emitted();
    const sorts = {
      gatewaySorts: [
        { gatewayId: 202, gatewayName: 'card202', sort: 1 },
        { gatewayId: wire, sort: 3 },
      ],
    };
    expect(idsOf(await t.done(sortGateways, sorts))).toEqual([202, wire, 201]);
    expect((await listed()).map(({ gatewayId }) => gatewayId)).toEqual([202, wire, 201]);
    const emitted = await t.emitted();
    const moved = emitted.flatMap(({ type, aggregateId }) => (type === 'gateway.updated' ? [Number(aggregateId)] : []));
    expect(moved).toEqual([wire, 202]);
    expect(emitted.at(-1)).toMatchObject({ data: { target: 'Gateway', content: 'EditSort' } });
    await t.done(sortGateways, {
      gatewaySorts: [
        { gatewayId: 201, sort: 5 },
        { gatewayId: wire, sort: 10 },
        { gatewayId: 202, sort: 10 },
      ],
    });
  });

  it('moves none where one is unknown, of another merchant, or named wrongly', async () => {
    await add(302, 1, 'false', 16);
    for (const id of [999, 302]) {
      expect(await t.call(sortGateways, places(202, id))).toMatchObject({
        slug: 'gateway_not_found',
        issues: [{ path: '/gatewaySorts/1/gatewayId' }],
      });
    }
    const misnamed = {
      gatewaySorts: [
        { gatewayId: 202, sort: 0 },
        { gatewayId: 201, gatewayName: 'stripe', sort: 1 },
      ],
    };
    expect(await t.call(sortGateways, misnamed)).toMatchObject({ issues: [{ path: '/gatewaySorts/1/gatewayName' }] });
    expect(await t.call(sortGateways, places(201, 201))).toMatchObject({ slug: 'invalid_parameters' });
    expect((await listed()).map(({ gatewayId }) => gatewayId)).toEqual([201, wire, 202]);
  });

  it('ends in one of the orders, however many are sent at once', async () => {
    const orders = [places(wire, 201, 202), places(202, 201, wire)];
    const sent = await Promise.all(
      Array.from({ length: 24 }, (_, at) => t.call(sortGateways, orders[at % 2] as never)),
    );
    expect(sent.every(({ ok }) => ok)).toBe(true);
    expect([
      [wire, 201, 202],
      [202, 201, wire],
    ]).toContainEqual((await listed()).map(({ gatewayId }) => gatewayId));
    await t.done(sortGateways, {
      gatewaySorts: [
        { gatewayId: 201, sort: 5 },
        { gatewayId: wire, sort: 10 },
        { gatewayId: 202, sort: 10 },
      ],
    });
  });
});

describe('gateway/set_default', () => {
  it('takes the flag from the old one, then gives it to the new one', async () => {
    await t.emitted();
    const { gateway } = await t.done(setDefaultGateway, { gatewayId: 201 });
    expect(gateway).toMatchObject({ gatewayId: 201, isDefault: true });
    const [old, made, log, ...more] = await t.emitted();
    expect(old).toMatchObject({
      type: 'gateway.updated',
      aggregateId: String(wire),
      data: { isDefault: false, bank: null },
    });
    expect(made).toMatchObject({ type: 'gateway.updated', aggregateId: '201', data: { isDefault: true } });
    expect(log).toMatchObject({ data: { target: 'Gateway(201-card201)', content: 'SetDefault' } });
    expect(more).toEqual([]);
    expect(await defaults()).toEqual([201]);
    expect(await t.done(setDefaultGateway, { gatewayId: 201 })).toEqual({ gateway });
    expect(await t.emitted()).toEqual([]);
  });

  it('takes no archived gateway, and none that is unknown or of another merchant', async () => {
    expect(await t.call(setDefaultGateway, { gatewayId: 203 })).toMatchObject({
      slug: 'gateway_archived',
      message: 'Gateway 203 is archived: cannot make it the default',
    });
    await add(301, 1, 'false', 16);
    const unknown = await t.call(setDefaultGateway, { gatewayId: 999 });
    expect(unknown).toMatchObject({ slug: 'gateway_not_found' });
    expect(await t.call(setDefaultGateway, { gatewayId: 301 })).toEqual(unknown);
  });

  it('gives a default to a merchant who has none', async () => {
    expect(await t.done(setDefaultGateway, { gatewayId: 301 }, { merchantId: 16 })).toMatchObject({
      gateway: { isDefault: true },
    });
  });

  it('leaves one default, however many are made it at once', async () => {
    await t.emitted();
    const chosen = Array.from({ length: 36 }, (_, at) => [wire, 201, 202][at % 3]);
    const results = await Promise.all(chosen.map(gatewayId => t.call(setDefaultGateway, { gatewayId })));
    expect(results.every(({ ok }) => ok)).toBe(true);
    const events = (await t.emitted()).filter(({ type }) => type === 'gateway.updated');
    expect(events.length).toBeGreaterThan(2);
    expect(await defaults()).toEqual([events.at(-1)?.aggregateId].map(Number));
  });
});
