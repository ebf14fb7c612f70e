import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  cancelAtPeriodEnd,
  type ImportName,
  invoiceStatus,
  listInvoices,
  listPaymentMethods,
  listSubscriptions,
  pendingUpdateEffect,
  pendingUpdateStatus,
  planType,
  previewNextInvoice,
  submitChange,
  subscriptionStatus,
  taskStatus,
} from '@recur/contracts';
import { boundary } from '@recur/kernel';
import { encodeSlice } from '../../../src/tasks/format/formats.js';
import { ImportRunning } from '../../../src/tasks/imports/running.js';
import { type World, world } from '../../world/subscriptions.js';
import { xlsxRows } from '../exports/files.js';
import { type Cells, csvOf, importDesk, type Outcome } from './desk.js';

let w: World;
let gatewayId: number;
let desk: ReturnType<typeof importDesk>;
let start: number;
let end: number;
const month = { unit: 'month', count: 1 } as const;

beforeAll(async () => {
  w = await world();
  ({ gatewayId } = await w.sandbox());
  desk = importDesk(w.t);
  start = w.clock.now() - 10 * 86_400;
  end = boundary(start, 1, month, 'UTC');
});
afterAll(() => w.t.close());

const time = (seconds: number) => new Date(seconds * 1_000).toISOString().slice(0, 19).replace('T', ' ');
let ids = 0;
/** A row that can be taken, of a new user. */
function row(over: Cells = {}, user: object = {}): Cells {
  const userId = w.newUser({ externalUserId: `ext-${++ids}`, ...user });
  return {
    ExternalSubscriptionId: `sub-${ids}`,
    ExternalUserId: `ext-${ids}`,
    Email: `user${userId}@example.com`,
    PlanId: 10,
    Gateway: 'sandbox',
    CurrentPeriodStart: time(start),
    CurrentPeriodEnd: time(end),
    BillingCycleAnchor: time(start),
    CreateTime: time(start),
    ...over,
  };
}
const card = (id: string) => ({ GatewayUserId: `cus_${id}`, GatewayPaymentMethod: 'succeeds' });
const take = (rows: readonly Cells[], task: ImportName = 'ActiveSubscriptionImport') => desk.take(task, rows);

async function subOf({ results }: Outcome, at = 0) {
  const subscriptionId = results[at]?.SubscriptionId ?? '';
  const { subscriptions } = await w.t.done(listSubscriptions, { searchKey: subscriptionId });
  const found = subscriptions.find(({ subscription }) => subscription.subscriptionId === subscriptionId);
  if (!found) throw new Error(`no subscription ${subscriptionId}`);
  return found.subscription;
}
const invoicesOf = async (subscriptionId: string) =>
  (await w.t.done(listInvoices, { count: 1_000 })).invoices.filter(one => one.subscriptionId === subscriptionId);
const count = async () => Number((await w.t.rows('select count(*) from subscriptions'))[0]?.count);

describe('a subscription that is imported', () => {
  it('goes on in its period, and renews at its own time with its own amount by its own card', async () => {
    const asked = row({ Quantity: 2, Amount: '50.00', ...card('a'), Metadata: '{"tier":"gold"}' });
    const outcome = await take([asked]);
    expect(outcome).toMatchObject({ status: taskStatus.done, taskType: 1, failureReason: '', successCount: 1 });
    expect(outcome.results).toEqual([
      {
        ...Object.fromEntries(Object.entries(asked).map(([name, cell]) => [name, String(cell)])),
        ImportResult: 'taken',
        SubscriptionId: expect.stringMatching(/^sub_/),
        NextInvoiceTime: time(end - 3 * 86_400),
        NextInvoiceTotal: '50',
        NextInvoiceDiscount: '0',
        NextInvoiceTax: '0',
        NextInvoiceCurrency: 'EUR',
      },
    ]);
    const sub = await subOf(outcome);
    expect(sub).toMatchObject({
      status: subscriptionStatus.active,
      externalSubscriptionId: asked.ExternalSubscriptionId,
      amount: 5000,
      quantity: 2,
      currentPeriodStart: start,
      currentPeriodEnd: end,
      billingCycleAnchor: start,
      gatewayId,
      firstPaidTime: start,
      createTime: start,
      currentPeriodPaid: 1,
      metadata: { tier: 'gold' },
    });
    const events = await w.t.emitted();
    expect(events.filter(({ type }) => type.startsWith('subscription.')).map(({ type }) => type)).toEqual([
      'subscription.imported',
    ]);
    expect(await invoicesOf(sub.subscriptionId)).toEqual([]);
    w.clock.advance(end - w.clock.now());
    await w.drain();
    const [invoice, ...others] = await invoicesOf(sub.subscriptionId);
    expect(others).toEqual([]);
    expect(invoice).toMatchObject({ status: invoiceStatus.paid, totalAmountExcludingTax: 5000, periodStart: end });
    expect(invoice?.periodEnd).toBe(boundary(start, 2, month, 'UTC'));
    const { subscriptions } = await w.t.done(listSubscriptions, { searchKey: sub.subscriptionId });
    expect(subscriptions[0]?.subscription).toMatchObject({
      currentPeriodStart: end,
      status: subscriptionStatus.active,
    });
    start = w.clock.now() - 10 * 86_400;
    end = boundary(start, 1, month, 'UTC');
  });

  it('is charged with the method of its row, which is saved once', async () => {
    const asked = row(card('b'));
    const sub = await subOf(await take([asked]));
    const { methodList } = await w.t.done(listPaymentMethods, { gatewayId, userId: sub.userId });
    expect(methodList).toEqual([{ id: sub.defaultPaymentMethodId, type: 'card', isDefault: true, data: {} }]);
  });

  it('shares the method with others of its user, or has another one: the first of the file is the default', async () => {
    const plans = [31, 32, 33];
    for (const id of plans)
      w.knowPlan(id, { intervalUnit: 'month', intervalCount: 1, amount: 3000, type: planType.main, productId: id });
    const { ExternalUserId } = row();
    const method = ['succeeds', 'succeeds', 'declines'];
    const asked = plans.map((PlanId, at) => {
      return row({
        PlanId,
        ExternalUserId: String(ExternalUserId),
        GatewayUserId: 'cus_d',
        GatewayPaymentMethod: method[at] ?? '',
      });
    });
    const outcome = await take(asked);
    expect(outcome).toMatchObject({ failureReason: '', successCount: 3 });
    const subs = await Promise.all([0, 1, 2].map(at => subOf(outcome, at)));
    const [first, second, third] = subs.map(({ defaultPaymentMethodId }) => defaultPaymentMethodId);
    expect(second).toBe(first);
    const { methodList } = await w.t.done(listPaymentMethods, { gatewayId, userId: subs[0]?.userId ?? 0 });
    expect(Object.fromEntries(methodList.map(({ id, isDefault }) => [id, isDefault]))).toEqual({
      [first ?? '']: true,
      [third ?? '']: false,
    });
  });

  it('takes the price of the plan, add-ons, a recurring code, its end and its trial', async () => {
    // nobody else can take a code that has expired
    await w.code('HALF', { discountPercentage: 5_000, endTime: 1 });
    const trialEnd = w.clock.now() + 5 * 86_400;
    const outcome = await take([
      row({ AddOns: '[{"planId": 11, "quantity": 3, "amount": "12"}]' }),
      row({ DiscountCode: 'HALF' }),
      row({ CancelAtPeriodEnd: 'yes' }),
      row({ TrialEnd: time(trialEnd), CurrentPeriodEnd: time(trialEnd), BillingCycleAnchor: time(trialEnd) }),
    ]);
    expect(outcome.failureReason).toBe('');
    expect(outcome.results.map(result => result.NextInvoiceTotal)).toEqual(['42', '15', '', '30']);
    const subs = await Promise.all([0, 1, 2, 3].map(at => subOf(outcome, at)));
    expect(subs[0]).toMatchObject({ amount: 4200, addonData: '[{"addonPlanId":11,"quantity":3}]' });
    expect(subs[2]).toMatchObject({ cancelAtPeriodEnd: 1 });
    expect(subs[3]).toMatchObject({ trialEnd, firstPaidTime: 0, billingCycleAnchor: trialEnd });
    const next = await w.t.done(previewNextInvoice, { subscriptionId: subs[1]?.subscriptionId ?? '' });
    expect(next.invoice).toMatchObject({ totalAmountExcludingTax: 1500, discountCode: 'HALF' });
  });

  it('is changed from its next period on: what was paid elsewhere has no line to credit', async () => {
    const { subscriptionId } = await subOf(await take([row(card('c'))]));
    const change = { subscriptionId, newPlanId: 20, quantity: 1 };
    expect(await w.t.call(submitChange, { ...change, effectImmediate: 1 })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [{ path: '/effectImmediate' }],
    });
    const { subscriptionPendingUpdate } = await w.t.done(submitChange, change);
    expect(subscriptionPendingUpdate).toMatchObject({
      effectImmediate: pendingUpdateEffect.periodEnd,
      effectTime: end,
      status: pendingUpdateStatus.pending,
    });
    const { invoice } = await w.t.done(previewNextInvoice, { subscriptionId });
    expect(invoice.totalAmountExcludingTax).toBe(6000);
    await w.t.done(cancelAtPeriodEnd, { subscriptionId });
  });
});

describe('a dry run', () => {
  it('takes a workbook as it takes csv, and answers with one', async () => {
    const asked = row();
    const header = Object.keys(asked);
    const state = { rows: 0, bytes: 0, crc: 0, rawBytes: 0 };
    const { content } = encodeSlice({
      format: 'xlsx',
      zone: 'UTC',
      last: true,
      state,
      rows: [header.map(name => asked[name] ?? '')],
      columns: header.map(name => ({ name, kind: name === 'PlanId' ? 'integer' : 'text' })),
    });
    const { id } = await desk.queue('ActiveSubscriptionImport:dry', Buffer.from(content));
    await w.drain();
    const outcome = await desk.shown(id);
    expect(outcome).toMatchObject({ status: taskStatus.done, format: 'xlsx', failureReason: '' });
    const [names = [], cells = []] = xlsxRows(await desk.fileOf(outcome));
    expect(cells[names.indexOf('ImportResult')]).toBe('can be taken');
  });

  it('answers what would be done, and changes nothing', async () => {
    const before = await count();
    const asked = [row({ Amount: '12.34' }), row()];
    const outcome = await take(asked, 'ActiveSubscriptionImport:dry');
    expect(outcome).toMatchObject({ status: taskStatus.done, taskName: 'ActiveSubscriptionImport:dry' });
    expect(outcome.results).toMatchObject([
      { ImportResult: 'can be taken', NextInvoiceTotal: '12.34', NextInvoiceTime: time(end - 3 * 86_400) },
      { ImportResult: 'can be taken', NextInvoiceTotal: '30' },
    ]);
    expect(outcome.results[0]).not.toHaveProperty('SubscriptionId');
    expect(await count()).toBe(before);
    // its file can be sent again
    const again = await take(outcome.results as Cells[]);
    expect(again.failureReason).toBe('');
    expect(await count()).toBe(before + 2);
  });
});

describe('rows that cannot be taken', () => {
  const now = () => w.clock.now();
  const wrong: [string, () => Cells, string][] = [
    ['no user', () => ({ ExternalUserId: 'nobody' }), 'ExternalUserId names no user'],
    ['no e-mail', () => ({ ExternalUserId: '', Email: 'no@example.com' }), 'Email names no user'],
    ['no name of a user', () => ({ ExternalUserId: '', Email: '' }), 'Email is required where ExternalUserId is blank'],
    ['no plan', () => ({ PlanId: 99 }), 'PlanId names no plan'],
    ['an unknown plan of yours', () => ({ ExternalPlanId: 'pro' }), 'ExternalPlanId names no plan'],
    ['no gateway', () => ({ Gateway: 'paypal' }), 'Gateway names no gateway of yours'],
    [
      'an amount with too many decimals',
      () => ({ Amount: '1.234' }),
      'Amount has an amount that is none in EUR: 1.234',
    ],
    [
      'an amount that units do not share',
      () => ({ Amount: '10', Quantity: 3 }),
      'Amount is 10 for 3 units, which is no whole amount for one',
    ],
    ['a currency without a price', () => ({ Currency: 'USD' }), 'Currency Plan 10 has no price in USD'],
    ['no currency', () => ({ Currency: 'EURO' }), 'Currency must be an ISO 4217 code such as EUR'],
    [
      'a period that is over',
      () => ({ CurrentPeriodEnd: time(now()) }),
      'CurrentPeriodEnd must be in the future: import it as history',
    ],
    [
      'a period to come',
      () => ({ CurrentPeriodStart: time(now() + 60) }),
      'CurrentPeriodStart must not be in the future',
    ],
    [
      'a period that ends before it starts',
      () => ({ CurrentPeriodStart: time(end) }),
      'CurrentPeriodEnd must be after CurrentPeriodStart',
    ],
    [
      'an end that is no boundary',
      () => ({ CurrentPeriodEnd: time(end + 1) }),
      'CurrentPeriodEnd is no boundary of periods of 1 month from BillingCycleAnchor',
    ],
    [
      'an anchor within the period',
      () => ({ BillingCycleAnchor: time(start + 1) }),
      'BillingCycleAnchor must not be after CurrentPeriodStart',
    ],
    ['a trial that ends at another time', () => ({ TrialEnd: time(end - 60) }), 'TrialEnd must be CurrentPeriodEnd'],
    ['a method without its user', () => ({ GatewayPaymentMethod: 'succeeds' }), 'GatewayUserId is required'],
    ['a method of a transfer', () => ({ Gateway: 'wire_transfer', ...card('x') }), 'GatewayPaymentMethod has no place'],
    ['no country', () => ({ CountryCode: 'XX' }), 'CountryCode '],
    [
      'no code',
      () => ({ DiscountCode: 'NONE' }),
      'DiscountCode names no recurring code for this plan that was ever active',
    ],
    ['add-ons of no shape', () => ({ AddOns: '{}' }), 'AddOns must be a list'],
    ['an add-on that the plan has not', () => ({ AddOns: '[{"planId": 20}]' }), 'AddOns '],
    [
      'another total than is expected',
      () => ({ ExpectedTotalAmount: '31' }),
      'ExpectedTotalAmount is 31: the next invoice is of 30 EUR',
    ],
    ['no object', () => ({ Metadata: '[]' }), 'Metadata must be an object'],
  ];

  it.each(wrong)('%s: all are refused, and the row names its column', async (_, over, message) => {
    const before = await count();
    const outcome = await take([row(), row(over())]);
    expect(outcome).toMatchObject({ status: taskStatus.failed, successCount: 0 });
    expect(outcome.failureReason).toContain(`Row 3: ${message}`);
    expect(outcome.results.map(({ ImportResult }) => ImportResult)).toEqual([
      'not taken: other rows were refused',
      expect.stringContaining(message),
    ]);
    expect(await count()).toBe(before);
  });

  it('names every one of them, and those that repeat what is there or stands in the file', async () => {
    const first = row();
    await take([first]);
    const [second, third] = [row(), row()];
    const outcome = await take([
      { ...second, ExternalSubscriptionId: first.ExternalSubscriptionId ?? '' },
      { ...third, ExternalUserId: first.ExternalUserId ?? '' },
      second,
      { ...row(), ExternalUserId: second.ExternalUserId ?? '' },
      { ...row(), ExternalSubscriptionId: second.ExternalSubscriptionId ?? '' },
    ]);
    expect(outcome.results.map(({ ImportResult }) => ImportResult)).toEqual([
      expect.stringMatching(/^ExternalSubscriptionId is sub_\w+ already$/),
      expect.stringMatching(/^The user has a live subscription to the product: sub_/),
      'not taken: other rows were refused',
      `The user has a live subscription to the product: ${second.ExternalSubscriptionId} of row 4`,
      'ExternalSubscriptionId is that of row 4 too',
    ]);
  });
});

it('a merchant has 20 files that wait; another one is refused until one is done', async () => {
  const file = csvOf([row()]);
  for (let at = 0; at < 20; at++) await desk.queue('ActiveSubscriptionImport:dry', file);
  await expect(desk.queue('ActiveSubscriptionImport:dry', file)).rejects.toThrow('too_many_tasks');
  await w.drain();
  await desk.queue('ActiveSubscriptionImport:dry', file);
  await w.drain();
});

describe('a history', () => {
  it('is taken as subscriptions that are over: nothing follows them', async () => {
    const [from, to] = [w.clock.now() - 90 * 86_400, w.clock.now() - 60 * 86_400];
    const over = { CurrentPeriodStart: time(from), CurrentPeriodEnd: time(to), CreateTime: time(from) };
    const { BillingCycleAnchor: _, ...asked } = row({ ...over, Amount: '30' });
    const outcome = await take([asked], 'HistorySubscriptionImport');
    expect(outcome.failureReason).toBe('');
    const sub = await subOf(outcome);
    expect(sub).toMatchObject({
      status: subscriptionStatus.expired,
      currentPeriodStart: from,
      currentPeriodEnd: to,
      cancelOrExpireTime: to,
      amount: 3000,
      externalSubscriptionId: asked.ExternalSubscriptionId,
    });
    expect(await w.t.rows('select 1 from due_work where key = $1', [sub.subscriptionId])).toEqual([]);
    const { BillingCycleAnchor: __, ...live } = row();
    expect((await take([live], 'HistorySubscriptionImport')).failureReason).toContain('CurrentPeriodEnd must be past');
  });
});

describe('an import that is killed half-way', () => {
  it('leaves nothing, and everything once it goes on', async () => {
    const before = await count();
    const rows = Array.from({ length: 30 }, () => row(card(`k${ids}`)));
    const { id } = await desk.queue('ActiveSubscriptionImport', csvOf(rows));
    const work = w.t.app.get(ImportRunning).work;
    const item = { merchantId: 15, kind: 'task.import', key: String(id), dueAt: 0, attempt: 1, requestId: 'work' };
    const [one, other] = [await work.prepare([item]), await work.prepare([item])];
    const killed = w.t.db.apply(w.t.callerOf(), async tx => {
      await one(tx);
      throw new Error('killed');
    });
    await expect(killed).rejects.toThrow('killed');
    expect(await count()).toBe(before);
    expect(await desk.outcome(id)).toMatchObject({ status: taskStatus.queued, downloadUrl: '' });
    // two workers have prepared it: one of them takes it
    await w.t.db.apply(w.t.callerOf(), async tx => one(tx));
    await w.t.db.apply(w.t.callerOf(), async tx => other(tx));
    await w.drain();
    expect(await count()).toBe(before + 30);
    expect(await desk.outcome(id)).toMatchObject({ status: taskStatus.done, successCount: 30 });
    expect(await w.t.rows('select 1 from task_uploads')).toEqual([]);
  });
});
