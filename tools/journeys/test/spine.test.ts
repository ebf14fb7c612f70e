import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, createClient, orThrow } from '@recur/client';
import { invoiceStatus, type Service, subscriptionStatus } from '@recur/contracts';
import { merchantCommand } from '../../local/apps.js';
import { checkoutRoot } from '../../local/home.js';
import { readSettings } from '../../local/settings.js';
import { log } from '../../log/log.js';
import { merchant } from '../../merchant/merchant.js';
import type { Ask, Row } from '../ask.js';
import { cardJourney } from '../card.js';
import { firstJourney } from '../first.js';
import { look } from '../oracle.js';
import { typeOf } from '../receiver.js';
import { activePlan, newUser, order, type Shop } from '../shop.js';
import { subscriptionJourney } from '../subscription.js';
import { usageJourney } from '../usage.js';
import { settledUsageRules, usageRules } from '../usage-rules.js';
import { Wire } from '../wire.js';
import { expectFailure, type Stand, startStand, times, until, withoutRequestId } from './stand.js';
import { agreeing, usageDamages } from './usage-damage.js';

let stand: Stand;
let shop: Awaited<ReturnType<Stand['shop']>>;
let api: Client;
let wire: Wire;

beforeAll(async () => {
  stand = await startStand();
  shop = await stand.shop('Spine');
  ({ api, wire } = shop);
});
afterAll(() => stand.close());

const newInvoice = async (of: Shop, more: object = {}) =>
  orThrow(await of.api.post('/merchant/invoice/new', order(of.userId, of.planId, more))).invoice;

describe('the first journey', () => {
  it('goes from an empty merchant to a paid invoice and its verified webhooks, and a second time', async () => {
    const { baseUrl, apiKey } = stand.stack.facts();
    for (const number of ['INV-000001', 'INV-000002']) {
      const told: string[] = [];
      const journey = await firstJourney(baseUrl, apiKey, line => told.push(line));
      expect(journey).toMatchObject({ paymentStatus: 20, invoice: { number, totalAmount: 18_921, currency: 'EUR' } });
      expect([...journey.webhooks].sort()).toEqual([
        'invoice.created',
        'invoice.paid',
        'invoice.process',
        'payment.success',
      ]);
      expect(told.join('\n')).toContain('each signature verified');
      const { creditNote, pdfBytes } = journey.refunded;
      expect(creditNote).toMatchObject({ number: number.replace('INV', 'CN'), totalAmount: -6307, taxAmount: -1007 });
      expect(pdfBytes).toBeGreaterThan(5_000);
    }
    const { endpointList } = orThrow(
      await createClient({ baseUrl, credential: apiKey }).get('/merchant/webhook/endpoint_list', {}),
    );
    expect(endpointList).toEqual([]);
  });

  it('sells in the currency of a wire-transfer gateway that was set up before, above its minimum', async () => {
    const { baseUrl } = stand.stack.facts();
    const merchant = await stand.stack.merchant('Yen');
    const own = createClient({ baseUrl, credential: merchant.apiKey });
    orThrow(await own.post('/merchant/gateway/wire_transfer_setup', { currency: 'JPY', minimumAmount: 50_000 }));
    const told: string[] = [];
    const journey = await firstJourney(baseUrl, merchant.apiKey, line => told.push(line));
    expect(journey).toMatchObject({ paymentStatus: 20, invoice: { totalAmount: 63_546, currency: 'JPY' } });
    expect(told).toContain('The wire-transfer gateway was set up before, in JPY.');
    expect(told.join('\n')).toContain('(4900 JPY a month) are active.');

    await stand.ask('billing', `update gateways set archived = true where merchant_id = ${merchant.merchantId}`);
    await expect(firstJourney(baseUrl, merchant.apiKey, () => undefined)).rejects.toMatchObject({
      exitCode: 1,
      message: 'the wire-transfer gateway is archived, and the demo needs it: "npm run reset" starts over.',
    });
  });

  it('writes one entry in the operation log for each change', async () => {
    const { merchantId } = stand.stack.facts();
    await stand.quiet();
    const log = await stand.ask(
      'identity',
      `select opt_target, opt_content, opt_account_type from operation_logs where merchant_id = ${merchantId} order by id`,
    );
    const entries = log.map(
      row => `${String(row.opt_target).split('(')[0]} ${row.opt_content} ${row.opt_account_type}`,
    );
    const journey = [
      'WebhookEndpoint New 2',
      'WebhookEndpoint Delete 2',
      'Product New 2',
      'Plan New 2',
      'Plan Activate 2',
      'User New 2',
      'Invoice New 2',
      'Invoice Finish 2',
      'Invoice MarkWireTransferSuccess 2',
      'Invoice Refund 2',
      'Refund MarkSuccess 2',
    ];
    // by the system: the merchant; once: its gateway. A product that is active already is activated without a change.
    expect(entries.sort()).toEqual(['Merchant New 3', 'Gateway New 2', ...journey, ...journey].sort());
  });

  it('goes on with a card payment that its bank asks about, and a second time', async () => {
    const own = await stand.shop('Cards');
    for (const run of [1, 2]) {
      const told: string[] = [];
      const invoiceId = await cardJourney(stand.stack.facts().baseUrl, own.apiKey, line => told.push(line));
      const { invoice } = orThrow(await own.api.get('/merchant/invoice/detail', { invoiceId }));
      expect([run, invoice.status, told.length]).toEqual([run, invoiceStatus.paid, 4]);
    }
  });

  it('goes on with a subscription on the clock, whose invoices are as they were previewed, and a second time', async () => {
    const own = await stand.shop('Subscribers');
    for (const run of [1, 2]) {
      const told: string[] = [];
      const { baseUrl } = stand.stack.facts();
      const subscriptionId = await subscriptionJourney(baseUrl, own.apiKey, line => told.push(line));
      const { subscription } = orThrow(await own.api.get('/merchant/subscription/detail', { subscriptionId }));
      expect([run, subscription.status, told.length]).toEqual([run, subscriptionStatus.cancelled, 7]);
      expect(told.filter(line => line.includes('is as it was previewed'))).toHaveLength(4);
    }
  });

  it('ends with metered usage, whose invoice is as it was previewed, and a second time', async () => {
    const own = await stand.shop('Callers');
    for (const run of [1, 2]) {
      const told: string[] = [];
      const invoiceId = await usageJourney(stand.stack.facts().baseUrl, own.apiKey, line => told.push(line));
      const { invoice } = orThrow(await own.api.get('/merchant/invoice/detail', { invoiceId }));
      expect([run, invoice.status, invoice.totalAmount, told.length]).toEqual([run, invoiceStatus.paid, 1750, 3]);
      expect(told.at(-1)).toContain('5.00 EUR for Metered, and 12.50 EUR for 150 × Calls');
    }
  });

  it('numbers the webhooks of an object in the order of its steps', async () => {
    const { invoiceId, paymentId } = await newInvoice(shop, { finish: true });
    orThrow(await api.post('/merchant/invoice/mark_wire_transfer_success', { invoiceId, transferNumber: 'T-1' }));
    const of = (id: string) =>
      shop.receiver.deliveries
        .map(delivery => ({ type: typeOf(delivery), ...(JSON.parse(delivery.body) as Row) }) as Row & { type: string })
        .filter(({ type, data }) => (data as Row)[`${type.split('.')[0]}Id`] === id)
        .map(({ type, sequence }) => `${sequence} ${type}`)
        .sort();
    await shop.receiver.until(() => of(invoiceId).length >= 3 && of(paymentId).length >= 2);
    expect(of(invoiceId)).toEqual(['1 invoice.created', '2 invoice.process', '3 invoice.paid']);
    expect(of(paymentId)).toEqual(['1 payment.created', '2 payment.success']);
  });
});

describe('what was just made can be used', () => {
  it('a plan and a user in an invoice, 200 times', async () => {
    for (const _ of times(200, () => 0)) {
      const [planId, userId] = await Promise.all([activePlan(api), newUser(api)]);
      await newInvoice({ ...shop, planId, userId });
    }
  });
});

describe('64 calls at once', () => {
  it('with one Idempotency-Key make one invoice and get one answer', async () => {
    const key = randomUUID();
    const body = order(shop.userId, shop.planId, { name: key });
    const answers = await Promise.all(times(64, () => wire.send('/merchant/invoice/new', body, key)));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size).toBe(64);
    const replayed = answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'true');
    expect(replayed).toHaveLength(63);
    expect(await stand.ask('billing', `select 1 from invoices where invoice_name = '${key}'`)).toHaveLength(1);

    expect((await wire.send('/merchant/invoice/new', body, key)).text).toBe(answers[0]?.text);
    const other = await wire.send('/merchant/invoice/new', { ...body, taxPercentage: 0 }, key);
    expectFailure(other, 422, 54, 'idempotency_reused');
    const elsewhere = await wire.send('/merchant/user/new', { email: 'other@example.com' }, `${key}-user`);
    expect(elsewhere.status).toBe(200);
  });

  it('finish 64 drafts as numbers 1 to 64', async () => {
    const own = await stand.shop('Numbers');
    const drafts = await Promise.all(times(64, () => newInvoice(own)));
    const finished = await Promise.all(
      drafts.map(({ invoiceId }) =>
        own.api.post('/merchant/invoice/finish', { invoiceId, daysUtilDue: 3 }).then(orThrow),
      ),
    );
    const numbers = finished.map(({ invoice }) => invoice.number).sort();
    expect(numbers).toEqual(times(64, at => `INV-${String(at + 1).padStart(6, '0')}`));
  });
});

describe('a mistake', () => {
  const json = { 'content-type': 'application/json' };
  const post = (body: string, headers: Record<string, string> = json) =>
    wire.request('/merchant/invoice/new', { method: 'POST', body, headers });

  it('is told by the envelope, and changes nothing', async () => {
    await stand.quiet();
    const before = await stand.contents();
    const stranger = new Wire(stand.stack.facts().baseUrl, '');
    const forged = new Wire(stand.stack.facts().baseUrl, `${shop.apiKey.slice(0, -6)}AAAAAA`);
    const good = order(shop.userId, shop.planId);

    expectFailure(await post('{"userId": 1,'), 400, 51, 'malformed_json');
    expectFailure(await post(JSON.stringify({ note: 'x'.repeat(2 << 20) })), 413, 51, 'body_too_large');
    expectFailure(await post('userId=1', { 'content-type': 'text/plain' }), 415, 51, 'unsupported_media_type');
    expectFailure(await wire.send('/merchant/invoice/nowhere', {}), 404, 53, 'unknown_path');
    expectFailure(await wire.request('/merchant/invoice/new'), 405, 53, 'method_not_allowed');
    expectFailure(await stranger.send('/merchant/invoice/new', good), 401, 61, 'credential_invalid');
    expectFailure(await forged.send('/merchant/invoice/new', good), 401, 61, 'credential_invalid');
    const wrong = await wire.send('/merchant/invoice/new', {
      ...good,
      taxPercentage: 'much',
      lines: [{ quantity: 0 }],
    });
    expectFailure(wrong, 400, 51, 'invalid_parameters');
    const paths = wrong.envelope.error?.issues.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(['/taxPercentage', '/lines/0/quantity']));
    expectFailure(await wire.send('/merchant/invoice/new', good, 'k'.repeat(256)), 400, 51, 'invalid_parameters');

    expect(await stand.contents()).toEqual(before);
  });

  it("is another merchant's object: no byte tells it from an unknown one, and nothing changes", async () => {
    const other = await stand.shop('Neighbour');
    const { invoiceId, paymentId } = await newInvoice(other, { finish: true });
    const product = orThrow(await other.api.post('/merchant/product/new', { productName: 'Theirs' }));
    const [{ gateway_id: gatewayId }] = (await stand.ask(
      'billing',
      `select gateway_id from gateways where merchant_id = ${other.merchantId}`,
    )) as [Row];
    await stand.quiet();
    const before = await stand.contents();

    const asks: [string, string, (id: unknown) => object][] = [
      ['/merchant/invoice/detail', 'invoice_not_found', id => ({ invoiceId: id })],
      ['/merchant/invoice/finish', 'invoice_not_found', id => ({ invoiceId: id, daysUtilDue: 3 })],
      [
        '/merchant/invoice/mark_wire_transfer_success',
        'invoice_not_found',
        id => ({ invoiceId: id, transferNumber: 'T' }),
      ],
      ['/merchant/payment/detail?paymentId=', 'payment_not_found', id => ({ paymentId: id })],
      ['/merchant/webhook/get_webhook_secret?endpointId=', 'endpoint_not_found', id => ({ endpointId: id })],
      ['/merchant/plan/activate', 'plan_not_found', id => ({ planId: id })],
      ['/merchant/product/activate', 'product_not_found', id => ({ productId: id })],
      ['/merchant/invoice/new', 'user_not_found', id => order(Number(id), shop.planId)],
      ['/merchant/invoice/new', 'plan_not_found', id => order(shop.userId, Number(id))],
      ['/merchant/invoice/new', 'gateway_not_found', id => order(shop.userId, shop.planId, { gatewayId: id })],
    ];
    const theirs = [invoiceId, invoiceId, invoiceId, paymentId, other.endpointId, other.planId, product.product.id];
    const ids = [...theirs, other.userId, other.planId, Number(gatewayId)];
    for (const [at, [path, slug, body]] of asks.entries()) {
      const known = ids[at];
      const unknown = typeof known === 'string' && !/^\d+$/.test(known) ? `${known.slice(0, -3)}zzz` : 900_000_000 + at;
      const send = (id: unknown) =>
        path.endsWith('=') ? wire.request(`${path}${id}`) : wire.send(path, body(id), randomUUID());
      const [refused, missing] = [await send(known), await send(unknown)];
      expectFailure(refused, 404, 53, slug);
      expect(withoutRequestId(refused)).toBe(withoutRequestId(missing));
    }
    const named = { planName: 'x', amount: 1, currency: 'EUR', intervalUnit: 'month', intervalCount: 1 };
    for (const field of [{ productId: product.product.id }, { addonIds: [other.planId] }]) {
      expect((await wire.send('/merchant/plan/new', { ...named, ...field })).envelope.code).not.toBe(0);
    }
    expect(await stand.contents()).toEqual(before);
  });
});

describe('an operator', () => {
  const email = `${randomUUID()}@example.com`;
  const operate = (...words: string[]) => JSON.parse(merchant([...words, '--json'], {}, stand.stack.home));
  const events = (of: Wire) => of.request('/merchant/webhook/event_list');
  let of: string[];

  it('makes a merchant and rotates its key: both hold; a key that is revoked is refused within 5 s', async () => {
    const { merchantId, apiKey } = operate('create', '--name', 'Operated', '--email', email);
    of = ['--merchant', String(merchantId)];
    const { baseUrl } = stand.stack.facts();
    const first = new Wire(baseUrl, apiKey);
    expect((await events(first)).envelope).toMatchObject({ code: 0, merchantId });
    const rotated = operate('keys', 'rotate', ...of);
    const second = new Wire(baseUrl, rotated.apiKey);
    for (const api of [first, second]) expect((await events(api)).status).toBe(200);
    const { keys } = operate('keys', 'list', ...of);
    expect(keys).toMatchObject([{ state: 'active' }, { state: 'ending', id: rotated.ending[0].id }]);

    expect(operate('keys', 'revoke', ...of, '--key', String(keys[1].id))).toMatchObject({ changed: true });
    const since = Date.now();
    const refused = await until(
      () => events(first),
      ({ status }) => status !== 200,
    );
    expect(Date.now() - since).toBeLessThan(5_000);
    expectFailure(refused, 401, 61, 'credential_invalid');
    expect((await events(second)).status).toBe(200);
    expect(operate('keys', 'revoke', ...of, '--key', String(keys[1].id))).toMatchObject({ changed: false });

    await stand.quiet();
    const log = orThrow(
      await createClient({ baseUrl, credential: rotated.apiKey }).get('/merchant/member/operation_log_list', {}),
    );
    const entries = log.merchantOperationLogs.map(
      entry => `${entry.optTarget} ${entry.optContent} ${entry.optAccount}`,
    );
    expect(entries).toEqual([
      `ApiKey(${keys[1].id}) Revoke system`,
      `ApiKey(${keys[0].id}) Rotate system`,
      `Merchant(${merchantId}) New system`,
    ]);
  });

  it("does the same from the command line with a deployment's settings: one JSON object, or a sentence and an exit code", () => {
    const { home } = stand.stack;
    const { env } = merchantCommand(home, readSettings(home), []);
    const npmRun = (...words: string[]) =>
      spawnSync(process.execPath, [path.join(checkoutRoot(), 'tools/run.mjs'), 'merchant', ...words], {
        env,
        encoding: 'utf8',
      });
    const listed = npmRun('keys', 'list', ...of, '--json');
    expect([listed.status, JSON.parse(listed.stdout)]).toEqual([0, operate('keys', 'list', ...of)]);
    expect(npmRun('keys', 'revoke', ...of, '--key', '999999', '--json')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: `recur: Merchant ${of[1]} has no API key 999999.\n`,
    });
    expect(npmRun('keys', 'list', ...of).stdout).toMatch(/^ +\d+ {2}key_\.{3}.{6} {2}created .* {2}active\n/);
    const away = env.DATABASE_URL?.replace(/:\d+\//, ':1/');
    const ask = () => merchant(['keys', 'list', ...of], { ...env, DATABASE_URL: away });
    expect(ask).toThrow(
      expect.objectContaining({
        exitCode: 69,
        message: expect.stringMatching(/^the database cannot be asked: [^{]+$/),
      }),
    );
  });
});

/** Lets a superuser change what may only be appended to. */
const unguarded = 'set local session_replication_role = replica';

describe('the operation log', () => {
  it('is verified on the running stack: exit code 0, and 1 where an entry was edited', async () => {
    await stand.quiet();
    const { home } = stand.stack;
    const { merchantId } = stand.stack.facts();
    const verify = () => log(['verify', '--json', '--merchant', String(merchantId)], {}, home);
    const { out, code } = verify();
    expect([code, JSON.parse(out)]).toMatchObject([0, { holds: true, merchants: [{ problems: [] }] }]);
    expect(log(['verify'], {}, home)).toMatchObject({ code: 0, out: expect.stringContaining('as they were written') });
    const edit = (text: string) =>
      stand.ask(
        'identity',
        `begin; ${unguarded}; update operation_logs set opt_account = ${text} where merchant_id = ${merchantId} and n = 3; commit`,
      );
    await edit(`opt_account || '.'`);
    const broken = verify();
    await edit(`left(opt_account, -1)`);
    expect(broken.code).toBe(1);
    expect(JSON.parse(broken.out).merchants[0].problems).toEqual([
      expect.stringMatching(/^entry 3 \(id \d+\) is not as it was written$/),
    ]);
    expect(verify().code).toBe(0);
  });
});

describe('the oracle', () => {
  /** Looks after these statements, in a transaction that is not committed, so that nobody else sees the damage. */
  async function lookedAfter(damaged: Service, statements: readonly string[]): Promise<string[]> {
    const client = await stand.pool(damaged).connect();
    const ask: Ask = async (service, text) =>
      service === damaged ? (await client.query<Row>(text)).rows : stand.ask(service, text);
    try {
      await client.query('begin');
      for (const statement of statements) await client.query(statement);
      return await look(ask);
    } finally {
      await client.query('rollback');
      client.release();
    }
  }

  it('finds nothing', () => stand.quiet());

  it.each<[string, Service, string[]]>([
    ['sum of its lines', 'billing', ['update invoice_lines set amount = amount + 1 where line_no = 1']],
    [
      'has 2 live payments',
      'billing',
      [
        'drop index payments_one_live',
        `insert into payments select merchant_id, payment_id || 'x', version, status, invoice_id, user_id, gateway_id,
           currency, total_amount, payment_amount, gateway_payment_id, reason, link, create_time, modify_time,
           paid_time, cancel_time from payments limit 1`,
      ],
    ],
    [
      'is processing, its payment success',
      'billing',
      [`update invoices set status = 'processing' where status = 'paid'`],
    ],
    [
      'is open, and will not expire',
      'billing',
      [`update invoices set status = 'processing' where status = 'paid'`, 'delete from due_work'],
    ],
    [
      'has a period that ends at',
      'billing',
      [`update subscription_periods set end_at = end_at + 1 where seq = 1 and state <> 'void'`],
    ],
    [
      'invoices for the period from',
      'billing',
      [
        'drop index invoices_period',
        `update invoices i set period_kind = 'cycle', period_start = 1, subscription_id = 'sub_x' where status = 'paid'`,
      ],
    ],
    [
      'sell the same time',
      'billing',
      [
        `update invoice_lines set item_key = 'plan', source_line_id = '', start_at = 1, end_at = 2, credited_net = 0
         from invoices i where i.invoice_id = invoice_lines.invoice_id and i.status = 'paid' and i.kind = 'invoice'`,
        `update invoices set subscription_id = 'sub_x' where status = 'paid' and kind = 'invoice'`,
      ],
    ],
    [
      ' gave back ',
      'billing',
      [
        'alter table invoice_lines drop constraint invoice_lines_given_back',
        `update invoice_lines set credited_net = amount + 1, source_line_id = '' where amount > 0`,
      ],
    ],
    [
      'refunds give back what was paid at most',
      'billing',
      [
        'alter table payments drop constraint payments_refunded',
        'update payments set refunded_amount = payment_amount + 1',
      ],
    ],
    [
      'was charged 2 times',
      'billing',
      [
        `insert into sandbox_charges select (jsonb_populate_record(c, jsonb_build_object('idempotency_key',
           idempotency_key || '1', 'reference', reference || '1'))).* from sandbox_charges c where state = 'succeeded'`,
      ],
    ],
    ['are counted from 1 to n', 'billing', ['update invoices set counter = 9999 where counter = 2']],
    ['are counted from 1 to n', 'billing', [`update invoices set number = 'INV-000001' where counter = 2`]],
    ['are counted from 1 to n', 'billing', ['update numberings set last_number = last_number + 1']],
    [
      'without a gap',
      'billing',
      [`update outbox set version = 99 where seq = (select min(seq) from outbox where type = 'invoice.created')`],
    ],
    ['is at the version of its last event', 'catalog', ['update plans set version = version + 1']],
    ['a change is logged once', 'catalog', [`delete from outbox where type = 'operation.logged'`]],
    ['is not published', 'identity', [`insert into unpublished select min(seq), array_agg(seq), 0 from outbox`]],
    ['has not seen', 'billing', ['delete from inbox']],
    ['which nobody emitted', 'billing', [`insert into inbox values ('billing-copy-plans', 'ev_x', 1)`]],
    ['is not looked at', 'billing', [`insert into inbox values ('billing-copy-gateways', 'ev_x', 1)`]],
    [
      'nothing is parked',
      'billing',
      [`insert into dead_letter values ('c', 'ev_x', 1, 'plan', '1', 1, '{}', 'poison', 1)`],
    ],
    ['user_copies has version', 'billing', ['update user_copies set version = version - 1']],
    ['plan_copies has another amount of plan', 'billing', [`update plan_copies set data = data || '{"amount": 1}'`]],
    ['too few', 'identity', [unguarded, 'delete from operation_logs']],
    ['too many', 'identity', [unguarded, 'update operation_logs set opt_content = opt_content || opt_content']],
    ['is not as it was written', 'identity', [unguarded, `update operation_logs set opt_content = 'x' where n = 2`]],
    ['stands after entry 1', 'identity', [unguarded, 'delete from operation_logs where n = 2']],
    ['is the last, its head is at', 'identity', ['update operation_log_heads set n = n + 1']],
    ['is the last, its head is at none', 'identity', ['delete from operation_log_heads']],
    ['has no delivery', 'notification', ['delete from deliveries']],
    ['scheduled or has ended', 'notification', ['insert into due values (gen_random_uuid(), 1, 1, 0, null, null)']],
    ...usageDamages,
  ])('would see that %s: %s damaged', async (finding, damaged, statements) => {
    expect((await lookedAfter(damaged, statements)).join('\n')).toContain(finding);
  });

  it('finds nothing in usage that agrees', async () => {
    const findings = await lookedAfter('billing', agreeing);
    const rules = Object.keys({ ...usageRules, ...settledUsageRules });
    expect(findings.filter(finding => rules.some(rule => finding.startsWith(rule)))).toEqual([]);
  });
});
