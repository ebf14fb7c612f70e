import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { editInvoice, type Invoice, invoiceStatus, newInvoice, paymentStatus, planStatus } from '@recur/contracts';
import { type Shop, shop } from '../world/shop.js';

let s: Shop;
let drafted: Invoice;
beforeAll(async () => {
  s = await shop();
  for (const id of [3, 4]) s.knowPlan(id);
  s.knowPlan(5, { currency: 'USD' });
  s.knowPlan(6, { status: planStatus.editing });
});
afterAll(() => s.t.close());

const edit = async (over: object) => (await s.t.done(editInvoice, { invoiceId: drafted.invoiceId, ...over })).invoice;
const refused = (over: object) => s.t.call(editInvoice, { invoiceId: drafted.invoiceId, ...over });

async function draft(over: object = {}): Promise<void> {
  drafted = await s.made(over);
  await s.t.emitted();
}

describe('invoice/edit', () => {
  it('changes what is sent, and nothing else', async () => {
    await draft({ name: 'March' });
    s.clock.advance(10);
    const invoice = await edit({ name: 'April' });
    const { gmtModify } = invoice;
    expect(invoice).toEqual({ ...drafted, invoiceName: 'April', gmtModify });
    expect(gmtModify).not.toBe(drafted.gmtModify);
    const [updated, log, ...more] = await s.t.emitted();
    expect(updated).toMatchObject({ type: 'invoice.updated', version: 2, data: invoice });
    expect(log).toMatchObject({ data: { target: `Invoice(${invoice.invoiceId})`, content: 'Edit' } });
    expect(more).toEqual([]);
    expect(await s.detail(invoice.invoiceId)).toMatchObject({ ...invoice, userAccount: { id: 1 } });
  });

  it('prices the lines that stay at the tax that is sent', async () => {
    await draft();
    const { lines, taxAmount, totalAmount } = await edit({ taxPercentage: 0 });
    expect([taxAmount, totalAmount]).toEqual([0, 6497]);
    expect(lines.map(({ name, tax, amount }) => [name, tax, amount])).toEqual([
      ['Seats', 0, 5997],
      ['Support', 0, 500],
    ]);
    expect(await edit({ taxPercentage: 825 })).toMatchObject({
      taxAmount: 536,
      totalAmount: 7033,
      lines: drafted.lines,
    });
  });

  it('replaces all lines, priced as invoice/new does', async () => {
    await draft();
    const lines = [{ planId: 3, quantity: 2, description: 'for two' }];
    const invoice = await edit({ lines });
    const same = await s.made({ lines });
    expect(invoice.lines).toEqual([{ ...same.lines[0], lineId: `${invoice.invoiceId}_1` }]);
    expect(invoice.totalAmount).toBe(same.totalAmount);
    const rows = await s.t.rows('select line_no, plan_id from invoice_lines where invoice_id = $1', [
      invoice.invoiceId,
    ]);
    expect(rows).toEqual([{ line_no: 1, plan_id: '3' }]);
  });

  it('keeps the plan of a line as it was when the line was made', async () => {
    await draft({ lines: [{ planId: 4 }] });
    await s.t.rows(`update plan_copies set data = data || '{"planName":"Renamed"}' where id = 4`);
    expect((await edit({ taxPercentage: 0 })).lines[0]).toMatchObject({ name: 'Pro', plan: { planName: 'Pro' } });
    expect((await edit({ lines: [{ planId: 4 }] })).lines[0]).toMatchObject({ name: 'Renamed' });
  });

  it('that changes nothing says nothing', async () => {
    await draft({ name: 'March', lines: [{ planId: 3 }, ...s.lines] });
    s.clock.advance(10);
    const before = await s.everything();
    const { invoiceName, currency, taxPercentage, gatewayId } = drafted;
    const same = { name: invoiceName, currency, taxPercentage, gatewayId, lines: [{ planId: 3 }, ...s.lines] };
    expect(await edit(same)).toEqual(drafted);
    expect(await edit({})).toEqual(drafted);
    expect(await s.everything()).toEqual(before);
  });

  it('may change the currency, unless a line that stays sells a plan in another', async () => {
    await draft();
    expect(await edit({ currency: 'usd' })).toMatchObject({ currency: 'USD', totalAmount: 7033 });
    await draft({ lines: [...s.lines, { planId: 3 }] });
    expect(await refused({ currency: 'USD' })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/currency', message: 'Line 3 sells a plan that is priced in EUR' }],
    });
    expect(await edit({ currency: 'USD', lines: [{ planId: 5 }] })).toMatchObject({
      currency: 'USD',
      totalAmount: 5304,
    });
  });

  it('with finish opens the draft, as invoice/new does', async () => {
    await draft();
    const invoice = await edit({ finish: true, taxPercentage: 0 });
    expect(invoice).toMatchObject({
      status: invoiceStatus.processing,
      dayUtilDue: 3,
      totalAmount: 6497,
      payment: { status: paymentStatus.created },
    });
    expect(invoice.number).not.toBe('');
    const events = await s.t.emitted();
    expect(events.map(({ type, version }) => `${type} ${version}`)).toEqual([
      'invoice.updated 2',
      'invoice.process 3',
      'payment.created 1',
      'operation.logged 1',
    ]);
    expect(events[2]).toMatchObject({ data: { totalAmount: 6497 } });
    await draft();
    await edit({ finish: true });
    const [process, payment, log] = await s.t.emitted();
    expect([process?.type, payment?.type]).toEqual(['invoice.process', 'payment.created']);
    expect(log).toMatchObject({ data: { content: 'Finish' } });
  });

  it('with finish pays at once what comes to 0', async () => {
    await draft();
    const free = [{ name: 'Gift', unitAmountExcludingTax: 0 }];
    expect(await edit({ finish: true, lines: free })).toMatchObject({
      status: invoiceStatus.paid,
      paymentId: '',
      totalAmount: 0,
    });
    expect(await s.types()).toEqual(['invoice.updated 2', 'invoice.paid 3', 'operation.logged 1']);
  });

  it('asks owners for plans that it does not know, and refuses what they refuse', async () => {
    await draft();
    const before = await s.everything();
    expect(await refused({ lines: [...s.lines, { planId: 99 }] })).toMatchObject({
      slug: 'plan_not_found',
      issues: [{ path: '/lines/2/planId', message: 'names no plan' }],
    });
    expect(await refused({ lines: [{ planId: 6 }] })).toMatchObject({ slug: 'plan_not_active' });
    expect(await refused({ lines: [{ planId: 5 }] })).toMatchObject({ issues: [{ path: '/lines/0/planId' }] });
    expect(await refused({ gatewayId: 99 })).toMatchObject({ slug: 'gateway_not_found' });
    expect(await refused({ lines: [{ unitAmountExcludingTax: -1 }] })).toMatchObject({ issues: [{ path: '/lines' }] });
    expect(await refused({ lines: [] })).toMatchObject({ issues: [{ path: '/lines' }] });
    expect(await s.everything()).toEqual(before);
    s.knowPlan(7);
    expect((await edit({ lines: [{ planId: 7 }] })).lines).toHaveLength(1);
  });

  it('needs a gateway to finish, and may be given one', async () => {
    const merchantId = 30;
    s.knowUser(1, {}, merchantId);
    const { invoice } = await s.t.done(newInvoice, s.order, { merchantId });
    const finish = { invoiceId: invoice.invoiceId, finish: true };
    expect(await s.t.call(editInvoice, finish, { merchantId })).toMatchObject({ issues: [{ path: '/gatewayId' }] });
    await s.stranger(merchantId);
    await s.t.emitted();
    const { invoice: opened } = await s.t.done(editInvoice, { ...finish, name: 'March' }, { merchantId });
    expect(opened).toMatchObject({ status: invoiceStatus.processing, gateway: { gatewayName: 'wire_transfer' } });
    const [updated] = await s.t.emitted();
    expect(updated).toMatchObject({
      type: 'invoice.updated',
      data: { status: invoiceStatus.pending, gatewayId: 0, gateway: null },
    });
  });
});

it('the gateway of an invoice is the one that is sent, else that of the user, else the default one', async () => {
  const caller = await s.stranger(31);
  await s.t.rows(
    `insert into gateways select merchant_id, id, 'card' || id, 1, display_name, currency, minimum_amount, sort, icons,
     false, false, null, create_time, 1 from gateways cross join (values (178), (179)) more (id) where merchant_id = 31`,
  );
  s.knowUser(2, { gatewayId: 178 }, 31);
  const nameOf = async (over: object) => (await s.made(over, caller)).gateway?.gatewayName;
  expect(await nameOf({ userId: 2, gatewayId: 179 })).toBe('card179');
  expect(await nameOf({ userId: 2 })).toBe('card178');
  expect(await nameOf({})).toBe('wire_transfer');
  // an archived gateway takes no more payments
  await s.t.rows('update gateways set archived = true where gateway_id = 178');
  expect(await nameOf({ userId: 2 })).toBe('wire_transfer');
});
