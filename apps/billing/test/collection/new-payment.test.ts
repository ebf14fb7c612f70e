import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  bizType,
  emptyOf,
  invoiceDetail,
  invoiceStatus,
  newPayment,
  paymentDetail,
  paymentStatus,
  planStatus,
  User,
  userStatus,
} from '@recur/contracts';
import { type Shop, shop } from '../world/shop.js';

let s: Shop;
let gatewayId: number;
beforeAll(async () => {
  s = await shop();
  gatewayId = s.gateway.gatewayId;
  s.knowPlan(3, { description: 'All of it' });
  s.knowPlan(4, { status: planStatus.editing });
});
afterAll(() => s.t.close());

const buy = (over: object) => s.t.done(newPayment, { userId: 1, gatewayId, ...over });
const refused = (over: object) => s.t.call(newPayment, { userId: 1, gatewayId, ...over });
const invoiceOf = async (over: object) => s.detail((await buy(over)).invoiceId);

describe('payment/new for a purchase', () => {
  it('makes an invoice and opens it with its payment, in one step', async () => {
    await s.t.emitted();
    const answer = await buy({ totalAmount: 1500, currency: 'eur', name: 'Talk', description: 'One hour' });
    expect(answer).toEqual({
      action: {},
      externalPaymentId: '',
      invoiceId: expect.stringMatching(/^in_/),
      link: expect.stringMatching(/\/invoice\/[\w-]{43}$/),
      paymentId: expect.stringMatching(/^pay_/),
      status: paymentStatus.created,
    });
    const events = await s.t.emitted();
    expect(events.map(({ type, version }) => `${type} ${version}`)).toEqual([
      'invoice.created 1',
      'invoice.process 2',
      'payment.created 1',
      'operation.logged 1',
    ]);
    expect(events.at(-1)).toMatchObject({
      data: { target: `Payment(${answer.paymentId})`, content: 'New', ids: { invoiceId: answer.invoiceId, userId: 1 } },
    });
    expect(await s.detail(answer.invoiceId)).toMatchObject({
      status: invoiceStatus.processing,
      bizType: bizType.onetime,
      createFrom: 'Api',
      invoiceName: 'Talk',
      currency: 'EUR',
      totalAmount: 1500,
      taxAmount: 0,
      dayUtilDue: 3,
      paymentId: answer.paymentId,
      link: answer.link,
      gatewayId,
      userId: 1,
      lines: [{ name: 'Talk', description: 'One hour', quantity: 1, amount: 1500 }],
    });
    expect(await s.t.rows('select 1 from due_work where key = $1', [answer.invoiceId])).toHaveLength(1);
    expect(await s.moves.receive(answer.invoiceId)).toMatchObject({ ok: true });
  });

  it('keeps what is said about the payment', async () => {
    const said = { externalPaymentId: 'order-1', countryCode: 'de', gatewayPaymentType: 'sepa', gasPayer: 'user' };
    const more = { redirectUrl: 'https://shop.example/thanks', metadata: { order: { id: 1 } } };
    const { paymentId, externalPaymentId } = await buy({ totalAmount: 100, currency: 'EUR', ...said, ...more });
    expect(externalPaymentId).toBe('order-1');
    expect(await s.payment(paymentId)).toMatchObject({
      ...said,
      countryCode: 'DE',
      metadata: more.metadata,
      returnUrl: more.redirectUrl,
    });
  });

  it('sells items, whose figures have to agree', async () => {
    const items = [
      { name: 'Seats', quantity: 3, unitAmountExcludingTax: 1999, taxPercentage: 825, amount: 6492 },
      { name: 'Support', unitAmountExcludingTax: 500, taxPercentage: 825, amount: 541, currency: 'EUR' },
    ];
    const invoice = await invoiceOf({ items, totalAmount: 7033, currency: 'EUR', name: 'Order' });
    expect(invoice).toMatchObject({ totalAmount: 7033, taxPercentage: 825, taxAmount: 536, invoiceName: 'Order' });
    expect(invoice.lines.map(({ name, quantity, amount }) => [name, quantity, amount])).toEqual([
      ['Seats', 3, 6492],
      ['Support', 1, 541],
    ]);
    const wrong = [{ ...items[0], amount: 6493 }, items[1]];
    expect(await refused({ items: wrong, totalAmount: 7034, currency: 'EUR' })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [
        { path: '/items/0/amount', message: 'is 6493, and comes to 6492' },
        { path: '/totalAmount', message: 'is 7034, and comes to 7033' },
      ],
    });
  });

  it('compares every figure that an item says', async () => {
    const item = { unitAmountExcludingTax: 500, taxPercentage: 825, amount: 541, currency: 'EUR' };
    expect(await refused({ items: [{ ...item, amountExcludingTax: 499, tax: 42 }] })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [
        { path: '/items/0/amountExcludingTax', message: 'is 499, and comes to 500' },
        { path: '/items/0/tax', message: 'is 42, and comes to 41' },
      ],
    });
    for (const said of [{ amountExcludingTax: 500, tax: 41 }, { amountExcludingTax: 0, tax: 0 }, { amount: 0 }]) {
      expect(await refused({ items: [{ ...item, ...said }] })).toMatchObject({ ok: true });
    }
  });

  it('takes the amount of an item as one unit where it has no unit price', async () => {
    const items = [
      { name: 'Talk', amount: 900, quantity: 3, currency: 'EUR' },
      { amount: 100, description: 'Tip' },
    ];
    const invoice = await invoiceOf({ items });
    expect(invoice).toMatchObject({ currency: 'EUR', totalAmount: 1000 });
    expect(invoice.lines.map(({ quantity, amount }) => [quantity, amount])).toEqual([
      [1, 900],
      [1, 100],
    ]);
    expect(await refused({ items: [{ amount: 900, taxPercentage: 1000 }], currency: 'EUR' })).toMatchObject({
      issues: [{ path: '/items/0/amount', message: 'is 900, and comes to 990' }],
    });
  });

  it('wants one currency and one tax', async () => {
    const items = [
      { amount: 900, currency: 'USD' },
      { amount: 100, currency: 'EUR', taxPercentage: 100 },
    ];
    expect(await refused({ items })).toMatchObject({
      issues: [{ path: '/items/1/currency' }, { path: '/items/1/taxPercentage' }],
    });
    expect(await refused({ items: [{ amount: 1 }] })).toMatchObject({ issues: [{ path: '/items/0/currency' }] });
    const later = [{ amount: 900 }, { amount: 100, currency: 'usd' }];
    expect(await invoiceOf({ items: later })).toMatchObject({ currency: 'USD', totalAmount: 1000 });
    const sentence = 'currency must be the code of an active ISO 4217 currency, such as USD, or blank';
    for (const [currency, message] of [
      ['EURO', sentence],
      [7, 'currency must be a text'],
    ]) {
      expect(await refused({ totalAmount: 100, currency })).toMatchObject({ issues: [{ path: '/currency', message }] });
    }
  });

  it('tells what is wrong with an item by its place', async () => {
    const items = [{ amount: 1 }, { amount: 1, unitAmountExcludingTax: 1e12, quantity: 1e6 }];
    expect(await refused({ items, currency: 'EUR' })).toMatchObject({
      issues: [{ path: '/items/1/unitAmountExcludingTax' }],
    });
    expect(await refused({ items: [{ amount: -1 }], currency: 'EUR' })).toMatchObject({ issues: [{ path: '/items' }] });
    const nothing = { issues: [{ message: 'comes to 0: there is nothing to pay' }] };
    expect(await refused({ items: [{ amount: 0 }], currency: 'EUR' })).toMatchObject(nothing);
  });

  it('sells a plan', async () => {
    const invoice = await invoiceOf({ planId: 3, quantity: 2, totalAmount: 9800, currency: 'EUR' });
    expect(invoice).toMatchObject({
      currency: 'EUR',
      totalAmount: 9800,
      taxAmount: 0,
      lines: [{ name: 'Pro', description: 'All of it', quantity: 2, plan: { id: 3 } }],
    });
    expect(await refused({ planId: 3, totalAmount: 4901 })).toMatchObject({ issues: [{ path: '/totalAmount' }] });
    expect(await refused({ planId: 3, currency: 'USD' })).toMatchObject({ issues: [{ path: '/currency' }] });
    expect(await refused({ planId: 4 })).toMatchObject({
      slug: 'plan_not_active',
      message: 'Plan 4 is editing: cannot sell it',
      issues: [{ path: '/planId' }],
    });
    expect(await refused({ planId: 9 })).toMatchObject({
      slug: 'plan_not_found',
      issues: [{ path: '/planId', message: 'names no plan' }],
    });
    s.knowPlan(5, { amount: 1e12 });
    expect(await refused({ planId: 5, quantity: 1e6 })).toMatchObject({ issues: [{ path: '/planId' }] });
  });

  it('has to be told what is paid, by whom, and in which currency', async () => {
    const paths = async (over: object) => {
      const result = await refused(over);
      return result.ok ? [] : result.issues.map(({ path }) => path);
    };
    expect(await paths({})).toEqual(['/currency', '']);
    expect(await paths({ totalAmount: 5 })).toEqual(['/currency']);
    expect(await paths({ totalAmount: 1e13, currency: 'EUR' })).toEqual(['/totalAmount']);
    expect(await paths({ planId: 3, items: [{ amount: 1 }], currency: 'EUR' })).toEqual(['']);
    expect(await paths({ planId: 3, userId: 0 })).toEqual(['/userId']);
    expect(await paths({ planId: 3, gatewayId: 0 })).toEqual(['/gatewayId']);
    expect(await paths({ items: [{ amount: 1e13 }], currency: 'EUR' })).toEqual(['/items/0/amount']);
  });

  it('takes no gateway that is unknown, another merchant’s or archived', async () => {
    await s.stranger(16);
    const [theirs] = await s.t.rows('select gateway_id from gateways where merchant_id = 16');
    for (const id of [99, Number(theirs?.gateway_id)]) {
      expect(await refused({ planId: 3, gatewayId: id })).toMatchObject({ slug: 'gateway_not_found' });
    }
    await s.t.rows('update gateways set archived = true where merchant_id = 15');
    expect(await refused({ planId: 3 })).toMatchObject({
      slug: 'gateway_archived',
      message: `Gateway ${gatewayId} is archived: cannot collect by it`,
    });
    await s.t.rows('update gateways set archived = false where merchant_id = 15');
  });

  it('has an externalPaymentId of its own, also at once, but not beyond its merchant', async () => {
    const talk = { totalAmount: 100, currency: 'EUR', externalPaymentId: 'order-2' };
    const results = await Promise.all(Array.from({ length: 8 }, () => refused(talk)));
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    for (const result of results.filter(({ ok }) => !ok)) {
      expect(result).toMatchObject({ slug: 'invalid_parameters', issues: [{ path: '/externalPaymentId' }] });
    }
    const other = await s.stranger(17);
    const [theirs] = await s.t.rows('select gateway_id from gateways where merchant_id = 17');
    const input = { ...talk, userId: 1, gatewayId: Number(theirs?.gateway_id) };
    expect(await s.t.call(newPayment, input, other)).toMatchObject({ ok: true });
    expect(await refused({ ...talk, externalPaymentId: '' })).toMatchObject({ ok: true });
  });
});

describe('the user of a purchase', () => {
  const talk = { totalAmount: 100, currency: 'EUR', userId: 0 };
  const buyerOf = async (who: object) => (await invoiceOf({ ...talk, ...who })).userId;

  it('is found by externalUserId, else by e-mail, and its owner is asked where it is not known', async () => {
    s.knowUser(20, { externalUserId: 'ext-20', email: 'Twenty@Example.com' });
    s.knowUser(21, { externalUserId: 'ext-21', email: 'one@example.com' });
    s.asked.length = 0;
    expect(await buyerOf({ externalUserId: 'ext-20', email: 'one@example.com' })).toBe(20);
    expect(await buyerOf({ email: 'one@example.com' })).toBe(21);
    expect(s.asked).toEqual([{ externalUserId: 'ext-20' }, { email: 'one@example.com' }]);
    expect(await buyerOf({ email: 'tWENTY@example.COM' })).toBe(20);
    expect(await buyerOf({ externalUserId: 'ext-21' })).toBe(21);
    expect(await buyerOf({ userId: 21, externalUserId: 'ext-20' })).toBe(21);
    expect(s.asked).toHaveLength(2);
  });

  it('is unknown only once its owner does not know it, and refused while it is suspended', async () => {
    const nobody = { ...talk, email: 'nobody@example.com' };
    expect(await refused(nobody)).toMatchObject({ slug: 'user_not_found' });
    expect(
      await s.t.call(newPayment, { ...nobody, gatewayId, email: 'one@example.com' }, { merchantId: 99 }),
    ).toMatchObject({
      slug: 'user_not_found',
    });
    s.knowUser(22, { status: userStatus.suspended, externalUserId: 'ext-22' });
    expect(await refused({ ...talk, externalUserId: 'ext-22' })).toMatchObject({ slug: 'user_inactive' });
  });

  it('is found by what its copy shows after an event', async () => {
    const data = {
      ...emptyOf(User),
      id: 20,
      merchantId: 15,
      email: 'moved@example.com',
      externalUserId: '',
      version: 2,
    };
    const event = {
      id: 'ev_moved',
      type: 'user.updated',
      merchantId: 15,
      aggregate: 'user',
      aggregateId: '20',
      version: 2,
      at: 0,
      actor: { kind: 'system' as const, id: '', display: '' },
      requestId: '',
      traceparent: '',
      data,
    };
    await s.t.deliver('identity', [event]);
    expect(await buyerOf({ email: 'Moved@example.com' })).toBe(20);
  });
});

describe('payment/new for an open invoice', () => {
  it('needs no gateway where the invoice has one', async () => {
    const { invoiceId } = await s.inState('cleared');
    const { paymentId } = await s.t.done(newPayment, { invoiceId });
    expect(await s.payment(paymentId)).toMatchObject({ invoiceId, gatewayId });
    const { invoiceId: other } = await s.inState('cleared');
    await s.t.rows('update invoices set gateway_id = 0 where invoice_id = $1', [other]);
    expect(await s.t.call(newPayment, { invoiceId: other })).toMatchObject({ issues: [{ path: '/gatewayId' }] });
  });

  it('gives it another payment, under a link of its own', async () => {
    const { invoiceId, paymentId: first, link } = await s.inState('cleared');
    await s.t.emitted();
    const answer = await s.t.done(newPayment, { invoiceId, gatewayId, externalPaymentId: 'again', totalAmount: 7033 });
    expect(answer).toMatchObject({ invoiceId, externalPaymentId: 'again', status: paymentStatus.created });
    expect(answer.link).not.toBe(link);
    const events = await s.t.emitted();
    expect(events.map(({ type, version }) => `${type} ${version}`)).toEqual([
      'invoice.updated 4',
      'payment.created 1',
      'operation.logged 1',
    ]);
    expect(events[2]).toMatchObject({ data: { target: `Payment(${answer.paymentId})`, content: 'New' } });
    const { paymentId } = answer;
    expect(paymentId).not.toBe(first);
    expect(await s.detail(invoiceId)).toMatchObject({
      status: invoiceStatus.processing,
      paymentId,
      link: answer.link,
      payment: { status: paymentStatus.created },
    });
    expect(await s.moves.receive(invoiceId)).toMatchObject({ ok: true });
    expect(await s.detail(invoiceId)).toMatchObject({
      status: invoiceStatus.paid,
      payment: { paymentId, status: paymentStatus.success },
    });
  });

  it('is refused where it has one, unless that has failed', async () => {
    const { invoiceId, paymentId } = await s.inState('open');
    const before = await s.everything();
    expect(await s.t.call(newPayment, { invoiceId, gatewayId })).toMatchObject({
      slug: 'payment_exists',
      message: `Payment ${paymentId} of invoice ${invoiceId} is created: cannot open another`,
    });
    expect(await s.everything()).toEqual(before);
    await s.t.rows(`update payments set status = 'failed' where payment_id = $1`, [paymentId]);
    const { paymentId: second } = await s.t.done(newPayment, { invoiceId, gatewayId });
    const { paymentDetail: detail } = await s.t.done(paymentDetail, { paymentId: second });
    expect(detail).toMatchObject({
      payment: { status: paymentStatus.created },
      invoice: { invoiceId, paymentId: second },
    });
  });

  it('has to agree with the invoice', async () => {
    const { invoiceId } = await s.inState('cleared');
    const another = { userId: 2, totalAmount: 7034, currency: 'USD' };
    expect(await s.t.call(newPayment, { invoiceId, gatewayId, ...another })).toMatchObject({
      slug: 'invalid_parameters',
      issues: [
        { path: '/userId', message: 'is 2: the invoice is of user 1' },
        { path: '/currency', message: 'is USD: the invoice is in EUR' },
        { path: '/totalAmount', message: 'is 7034, and comes to 7033' },
      ],
    });
    const agreed = { invoiceId, gatewayId, userId: 1, totalAmount: 7033, currency: 'EUR' };
    expect(await s.t.call(newPayment, agreed)).toMatchObject({ ok: true });
  });

  it('moves the invoice to the gateway of the payment', async () => {
    const { invoiceId } = await s.inState('cleared');
    await s.t.rows(
      `insert into gateways select merchant_id, 77, 'other', gateway_type, display_name, currency, minimum_amount,
      sort, icons, false, false, null, create_time, 1 from gateways where gateway_id = $1`,
      [gatewayId],
    );
    await s.t.done(newPayment, { invoiceId, gatewayId: 77 });
    const { invoice } = await s.t.done(invoiceDetail, { invoiceId });
    expect(invoice).toMatchObject({ gatewayId: 77, gateway: { gatewayName: 'other' }, payment: { gatewayId: 77 } });
  });
});
