import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  editInvoice,
  emptyOf,
  finishInvoice,
  invoiceDetail,
  MerchantState,
  markWireTransferSuccess,
  newInvoice,
  Plan,
  paymentDetail,
  planStatus,
  setupWireTransfer,
  User,
  userStatus,
} from '@recur/contracts';
import { type TestService, testService } from '@recur/platform/testing';
import { billing } from '../../src/service.js';

let t: TestService;
/** Objects known to the owning services, by aggregate and id; billing gets them only by asking. */
const known: Record<string, object> = { 'merchant 15': { ...emptyOf(MerchantState), id: 15 } };
const user = (id: number, over: Partial<User> = {}) => {
  known[`user ${id}`] = { ...emptyOf(User), id, merchantId: 15, email: `${id}@example.com`, ...over };
};
const plan = (id: number, over: Partial<Plan> = {}) => {
  const price = { planName: 'Pro', amount: 4900, currency: 'EUR', status: planStatus.active };
  known[`plan ${id}`] = { ...emptyOf(Plan), id, merchantId: 15, ...price, ...over };
};
const lines = [{ name: 'Seats', quantity: 1, unitAmountExcludingTax: 5000 }];
const order = (over: object = {}) => ({ userId: 1, currency: 'EUR', taxPercentage: 0, lines, ...over });
const opened = async () => (await t.done(newInvoice, order({ finish: true }))).invoice;
const received = (invoiceId: string) => t.call(markWireTransferSuccess, { invoiceId, transferNumber: 'T' });

/** Runs with a row in a state that no operation produces yet, and checks that a refusal changes nothing. */
async function refused(damage: string, mend: string, call: () => Promise<unknown>, slug: string): Promise<void> {
  await t.rows(damage);
  const before = await t.rows('select md5(string_agg(i::text, $1 order by id)) from invoices i', ['|']);
  await t.emitted();
  expect(await call()).toMatchObject({ ok: false, slug });
  expect(await t.emitted()).toEqual([]);
  expect(await t.rows('select md5(string_agg(i::text, $1 order by id)) from invoices i', ['|'])).toEqual(before);
  await t.rows(mend);
}

const answering = (owner: 'identity' | 'catalog') =>
  t.bus.answer(owner, async (_, payload) => {
    const { aggregate, id } = JSON.parse(payload);
    const data = known[`${aggregate} ${id}`];
    return { ok: true, bytes: JSON.stringify({ item: data ? { merchantId: 15, version: 1, data } : null }) };
  });

beforeAll(async () => {
  t = await testService(billing);
  for (const owner of ['identity', 'catalog'] as const) answering(owner);
  user(1);
  await t.done(setupWireTransfer, { currency: 'EUR', minimumAmount: 100 });
});
afterAll(() => t.close());

describe('copies', () => {
  it('that are all missing are all asked for, in one command', async () => {
    user(20);
    for (const id of [21, 22]) plan(id);
    const input = order({ userId: 20, lines: [{ planId: 21 }, { planId: 22 }] });
    expect((await t.done(newInvoice, input)).invoice.lines).toHaveLength(2);
  });

  it('refuse a user who is suspended and a plan that is not active, once their owner confirms it', async () => {
    user(30, { status: userStatus.suspended });
    expect(await t.call(newInvoice, order({ userId: 30 }))).toMatchObject({
      slug: 'user_inactive',
      message: 'User 30 is suspended: cannot make an invoice for it',
    });
    plan(31, { status: planStatus.editing });
    const planned = order({ lines: [{ planId: 31 }] });
    expect(await t.call(newInvoice, planned)).toMatchObject({
      slug: 'plan_not_active',
      message: 'Plan 31 is editing: cannot sell it',
      issues: [{ path: '/lines/0/planId', message: 'names a plan that is editing' }],
    });
    t.bus.remove('catalog');
    expect(await t.call(newInvoice, planned)).toMatchObject({ slug: 'dependency_away' });
    answering('catalog');
  });
});

describe('an invoice', () => {
  it('of nobody is not found, by whichever operation', async () => {
    const invoiceId = 'in_nowhere';
    expect(await t.call(invoiceDetail, { invoiceId })).toMatchObject({ slug: 'invoice_not_found' });
    expect(await t.call(finishInvoice, { invoiceId, daysUtilDue: 3 })).toMatchObject({ slug: 'invoice_not_found' });
    expect(await received(invoiceId)).toMatchObject({ slug: 'invoice_not_found' });
    expect(await t.call(paymentDetail, { paymentId: 'pay_nowhere' })).toMatchObject({ slug: 'payment_not_found' });
  });

  it('takes no archived gateway, and is not finished by default with one', async () => {
    const [gateway] = await t.rows('select gateway_id from gateways');
    const archive = 'update gateways set archived = true';
    const restore = 'update gateways set archived = false';
    const asked = order({ gatewayId: Number(gateway?.gateway_id) });
    await refused(archive, restore, () => t.call(newInvoice, asked), 'gateway_archived');
    const { invoiceId } = (await t.done(newInvoice, order())).invoice;
    await refused(archive, restore, () => t.call(editInvoice, { ...asked, invoiceId }), 'gateway_archived');
    await refused(archive, restore, () => t.call(newInvoice, order({ finish: true })), 'invalid_parameters');
  });

  it('takes a transfer only where there is a payment for it, by wire transfer', async () => {
    const { invoiceId, paymentId } = await opened();
    const mine = `where invoice_id = '${invoiceId}'`;
    const transfer = () => received(invoiceId);
    await refused(
      `update invoices set payment_id = '' ${mine}`,
      `update invoices set payment_id = '${paymentId}' ${mine}`,
      transfer,
      'invoice_without_payment',
    );
    await refused(
      `update payments set status = 'failed' ${mine}; update gateways set gateway_name = 'card'`,
      `update payments set status = 'created' ${mine}; update gateways set gateway_name = 'wire_transfer'`,
      transfer,
      'gateway_not_wire_transfer',
    );
    await refused(
      `update payments set status = 'cancelled' ${mine}`,
      `update payments set status = 'created' ${mine}`,
      transfer,
      'payment_not_open',
    );
    await refused(
      `update gateways set currency = 'USD'`,
      `update gateways set currency = 'EUR'`,
      transfer,
      'currency_mismatch',
    );
    await refused(
      'update gateways set minimum_amount = 5001',
      'update gateways set minimum_amount = 100',
      transfer,
      'amount_below_minimum',
    );
    expect(await transfer()).toMatchObject({ ok: true });
    expect(await transfer()).toMatchObject({ slug: 'invoice_not_open' });
  });
});

it('a repeat whose first call is still running gets no answer after its own deadline', async () => {
  let release: () => void = () => undefined;
  const released = new Promise<void>(resolve => {
    release = resolve;
  });
  const asked = new Promise<void>(resolve => {
    t.bus.answer('identity', async () => {
      resolve();
      await released;
      return { ok: true, bytes: JSON.stringify({ item: null }) };
    });
  });
  const caller = t.callerOf({ idempotencyKey: 'slow' });
  const payload = JSON.stringify(order({ userId: 404 }));
  const first = t.server.dispatch('invoice.new', payload, caller);
  await asked;
  const repeat = await t.server.dispatch('invoice.new', payload, { ...caller, deadline: t.clock.wall() + 20 });
  expect(JSON.parse(repeat.bytes.toString())).toMatchObject({ slug: 'idempotency_in_use' });
  release();
  expect(JSON.parse((await first).bytes.toString())).toMatchObject({ slug: 'user_not_found' });
});
