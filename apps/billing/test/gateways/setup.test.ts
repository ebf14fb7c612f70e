import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  archiveGateway,
  editGateway,
  editWireTransfer,
  listGatewaySetups,
  listGateways,
  restoreGateway,
  setDefaultGateway,
  setupGateway,
  setupGatewayWebhook,
  setupWireTransfer,
} from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { billing } from '../../src/service.js';

const mask = '••••••••';
const stripe = { gatewayName: 'stripe', gatewayKey: 'pk_test_canary', gatewaySecret: 'sk_test_canary' };

let t: TestService;
let merchants = 100;
/** A merchant without gateways. */
const merchant = () => ({ merchantId: ++merchants });
beforeAll(async () => {
  t = await testService(billing, { env: { BASE_URL: 'https://pay.example.com/' } });
});
afterAll(() => t.close());

const icon = 'https://pay.example.com/icon.png';
const changes = async () => (await t.emitted()).filter(({ type }) => type.startsWith('gateway.'));

describe('gateway/setup', () => {
  it('sets a gateway up with its settings; the first one is the default', async () => {
    const caller = merchant();
    await t.emitted();
    const companyIssuer = { issueCompanyName: 'Acme Ltd' };
    const currencyExchange = [{ from_currency: 'EUR', to_currency: 'USD', exchange_rate: 1.25 }];
    const input = { ...stripe, companyIssuer, currencyExchange, metadata: { a: 1 }, gatewayIcons: [[icon]] };
    const { gateway } = await t.done(setupGateway, input, caller);
    expect(gateway).toMatchObject({
      gatewayName: 'stripe',
      gatewayType: 1,
      displayName: 'Stripe',
      sort: 10,
      isDefault: true,
      archive: false,
      IsSetupFinished: true,
      gatewayKey: mask,
      gatewaySecret: mask,
      webhookSecret: '',
      metadata: { a: 1 },
      gatewayIcons: [icon],
      currencyExchangeEnabled: true,
      autoChargeEnabled: true,
      bank: null,
      companyIssuer: { issueCompanyName: 'Acme Ltd', issueVatNumber: '' },
      currencyExchange: [{ from_currency: 'EUR', exchange_rate: 1.25, exchange_amount: 0 }],
      setupGatewayPaymentTypes: [{ paymentType: 'card' }],
      webhookEndpointUrl: `https://pay.example.com/gateway/${gateway.gatewayId}/webhook`,
    });
    const [created, log] = await t.emitted();
    expect(created).toMatchObject({ type: 'gateway.created', data: { gatewaySecret: mask } });
    expect(log).toMatchObject({ data: { target: `Gateway(${gateway.gatewayId}-stripe)`, content: 'New' } });
    const second = await t.done(setupGateway, { gatewayName: 'sandbox' }, caller);
    expect(second.gateway).toMatchObject({ displayName: 'Sandbox', isDefault: false, gatewaySecret: '' });
    expect((await t.done(listGateways, {}, caller)).gateways).toEqual([gateway, second.gateway]);
  });

  it('stores secrets encrypted for their row and column', async () => {
    const caller = { ...merchant(), idempotencyKey: 'once' };
    const { gateway } = await t.done(setupGateway, stripe, caller);
    const everything = await t.rows(
      'select gateways::text from gateways union all select envelope from outbox union all select answer from idempotency',
    );
    expect(JSON.stringify(everything)).not.toContain('test_canary');
    const [row] = await t.rows('select * from gateways where gateway_id = $1', [gateway.gatewayId]);
    const place = (column: string) => `gateways.${column} ${caller.merchantId} ${gateway.gatewayId}`;
    expect(t.keyring.open(String(row?.sealed_secret), place('sealed_secret'))).toBe('sk_test_canary');
    expect(() => t.keyring.open(String(row?.sealed_secret), place('sealed_key'))).toThrow();
  });

  it('takes one of each name, however many are set up at once', async () => {
    const caller = merchant();
    const results = await Promise.all(Array.from({ length: 6 }, () => t.call(setupGateway, stripe, caller)));
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    const [refused] = results.filter(({ ok }) => !ok);
    expect(refused).toMatchObject({ slug: 'gateway_exists' });
  });

  it('refuses unknown names, missing secrets, and what the gateway does not have', async () => {
    const issues = async (input: object) => {
      const result = await t.call(setupGateway, input, merchant());
      return result.ok ? [] : result.issues.map(({ path, message }) => `${path} ${message}`);
    };
    expect(await issues({ gatewayName: 'paypal' })).toEqual(['/gatewayName must be one of sandbox, stripe']);
    expect(await issues({ gatewayName: 'wire_transfer' })).toEqual(['/gatewayName must be one of sandbox, stripe']);
    expect(await issues({ gatewayName: 'stripe' })).toEqual(['/gatewaySecret must be the secret key of Stripe']);
    expect(await issues({ ...stripe, gatewaySecret: mask })).toHaveLength(1);
    expect(await issues({ gatewayName: 'sandbox', gatewaySecret: 'x' })).toEqual([
      '/gatewaySecret must be blank: Sandbox has none',
    ]);
    expect(await issues({ ...stripe, gatewayPaymentTypes: ['card', 'cash'] })).toEqual([
      '/gatewayPaymentTypes/1 must be one of card',
    ]);
  });
});

describe('gateway/edit', () => {
  it('changes what is sent; masked and blank secrets stay', async () => {
    const caller = merchant();
    const { gateway } = await t.done(setupGateway, stripe, caller);
    const { gatewayId } = gateway;
    await t.emitted();
    const edited = await t.done(editGateway, { gatewayId, displayName: 'Cards', sort: 3, gatewayLogo: [icon] }, caller);
    expect(edited.gateway).toEqual({ ...gateway, displayName: 'Cards', sort: 3, gatewayIcons: [icon] });
    expect(await changes()).toMatchObject([{ type: 'gateway.updated' }]);
    await t.done(editGateway, { gatewayId, gatewaySecret: mask, gatewayKey: '', sort: 3 }, caller);
    await t.done(editGateway, { gatewayId, gatewaySecret: 'sk_test_canary' }, caller);
    expect(await t.emitted()).toEqual([]);
    await t.done(editGateway, { gatewayId, gatewaySecret: 'sk_2' }, caller);
    const [row] = await t.rows('select * from gateways where gateway_id = $1', [gatewayId]);
    const place = `gateways.sealed_secret ${caller.merchantId} ${gatewayId}`;
    expect(t.keyring.open(String(row?.sealed_secret), place)).toBe('sk_2');
  });

  it('refuses unknown gateways and those of other merchants', async () => {
    const { gateway } = await t.done(setupGateway, stripe, merchant());
    for (const operation of [editGateway, archiveGateway, restoreGateway, setupGatewayWebhook]) {
      const refused = await t.call(operation, { gatewayId: gateway.gatewayId }, merchant());
      expect(refused).toMatchObject({ slug: 'gateway_not_found' });
    }
  });
});

describe('gateway/wire_transfer_edit', () => {
  it('changes the wire transfer, and no other gateway', async () => {
    const caller = merchant();
    const bank = { accountHolder: 'Acme', address: 'Main St 1', iban: 'one' };
    const wire = (await t.done(setupWireTransfer, { currency: 'EUR', minimumAmount: 100, bank }, caller)).gateway;
    const edit = { gatewayId: wire.gatewayId, currency: 'USD', minimumAmount: 50 };
    expect((await t.done(editWireTransfer, edit, caller)).gateway).toEqual({
      ...wire,
      currency: 'USD',
      minimumAmount: 50,
    });
    const { gateway } = await t.done(editWireTransfer, { ...edit, bank: { ...bank, iban: 'two' } }, caller);
    expect(gateway.bank).toMatchObject({ accountHolder: 'Acme', iban: 'two' });
    await t.emitted();
    await t.done(editWireTransfer, edit, caller);
    expect(await t.emitted()).toEqual([]);
    const other = (await t.done(setupGateway, stripe, caller)).gateway;
    const refused = await t.call(editWireTransfer, { ...edit, gatewayId: other.gatewayId }, caller);
    expect(refused).toMatchObject({ slug: 'gateway_not_wire_transfer' });
    expect(await t.call(editWireTransfer, edit, merchant())).toMatchObject({ slug: 'gateway_not_found' });
  });
});

describe('gateway/archive and gateway/restore', () => {
  it('take the default away, and give it back where there is none', async () => {
    const caller = merchant();
    const first = (await t.done(setupGateway, stripe, caller)).gateway;
    const second = (await t.done(setupGateway, { gatewayName: 'sandbox' }, caller)).gateway;
    const archived = await t.done(archiveGateway, { gatewayId: first.gatewayId }, caller);
    expect(archived.gateway).toEqual({ ...first, archive: true, isDefault: false });
    expect((await t.done(listGateways, {}, caller)).gateways).toEqual([second]);
    await t.emitted();
    expect(await t.done(archiveGateway, { gatewayId: first.gatewayId }, caller)).toEqual(archived);
    expect(await t.emitted()).toEqual([]);
    expect(await t.call(setDefaultGateway, { gatewayId: first.gatewayId }, caller)).toMatchObject({ ok: false });
    expect(await t.call(setupGateway, stripe, caller)).toMatchObject({ slug: 'gateway_exists' });
    expect(await t.done(restoreGateway, { gatewayId: first.gatewayId }, caller)).toEqual({ gateway: first });
    expect(await changes()).toMatchObject([{ type: 'gateway.updated', data: { archive: false, isDefault: true } }]);
    await t.done(restoreGateway, { gatewayId: first.gatewayId }, caller);
    expect(await t.emitted()).toEqual([]);
    await t.done(archiveGateway, { gatewayId: second.gatewayId }, caller);
    const back = await t.done(restoreGateway, { gatewayId: second.gatewayId }, caller);
    expect(back.gateway.isDefault).toBe(false);
  });
});

describe('gateway/setup_list', () => {
  it('has every kind that can be set up', async () => {
    const caller = merchant();
    await t.done(setupGateway, stripe, caller);
    const { gateways } = await t.done(listGatewaySetups, {}, caller);
    expect(gateways.map(({ gatewayName, IsSetupFinished }) => [gatewayName, IsSetupFinished])).toEqual([
      ['sandbox', false],
      ['stripe', true],
      ['wire_transfer', false],
    ]);
    expect(gateways[1]).toMatchObject({ privateSecretName: 'Secret key', gatewaySecret: mask });
  });

  it('has no sandbox in production', async () => {
    const production = await testService(billing, { env: { RECUR_ENV: 'production' } });
    const { gateways } = await production.done(listGatewaySetups, {});
    expect(gateways.map(({ gatewayName }) => gatewayName)).toEqual(['stripe', 'wire_transfer']);
    expect(await production.call(setupGateway, { gatewayName: 'sandbox' })).toMatchObject({
      issues: [{ path: '/gatewayName', message: 'must be one of stripe' }],
    });
    await production.close();
  });
});

describe('gateway/setup_webhook', () => {
  it('answers the URL and stores the secret, masked from then on', async () => {
    const caller = merchant();
    const { gatewayId } = (await t.done(setupGateway, stripe, caller)).gateway;
    await t.emitted();
    const url = { gatewayWebhookUrl: `https://pay.example.com/gateway/${gatewayId}/webhook` };
    expect(await t.done(setupGatewayWebhook, { gatewayId }, caller)).toEqual(url);
    expect(await t.emitted()).toEqual([]);
    expect(await t.done(setupGatewayWebhook, { gatewayId, webhookSecret: 'whsec_canary' }, caller)).toEqual(url);
    expect(await changes()).toMatchObject([{ data: { webhookSecret: mask } }]);
    expect(JSON.stringify(await t.rows('select gateways::text from gateways'))).not.toContain('whsec_canary');
    const wire = await t.done(setupWireTransfer, { currency: 'EUR', minimumAmount: 1 }, caller);
    const refused = await t.call(setupGatewayWebhook, { gatewayId: wire.gateway.gatewayId }, caller);
    expect(refused).toMatchObject({ slug: 'gateway_without_webhook' });
  });
});
