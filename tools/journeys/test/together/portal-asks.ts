import { beforeAll, describe, expect, it } from '@jest/globals';
import { orThrow } from '@recur/client';
import { sandboxGateway } from '../../card.js';
import { newPlan, newUser } from '../../shop.js';
import { type Stand, sharedStand, until } from '../stand.js';

/* Searches and second paths that admin portals use all day. */

let stand: Stand;
let shop: Awaited<ReturnType<Stand['shop']>>;
let sold: { userId: number; subscriptionId: string; invoiceId: string; paymentId: string };

const buyer = { firstName: 'Grace', lastName: 'Hopper-Quay', companyName: 'Looms & Sons', externalUserId: 'crm-77/A' };

beforeAll(async () => {
  stand = await sharedStand();
  shop = await stand.shop('Desk');
  const { api } = shop;
  const gatewayId = await sandboxGateway(api);
  const userId = await newUser(api);
  orThrow(await api.post('/merchant/user/update', { userId, email: 'Grace@looms.example', ...buyer }));
  orThrow(await api.post('/merchant/payment/method/new', { gatewayId, userId, data: { scenario: 'succeeds' } }));
  const planId = await newPlan(api, { amount: 4200 });
  orThrow(await api.post('/merchant/plan/activate', { planId }));
  const { subscription, ...made } = orThrow(
    await api.post('/merchant/subscription/create_submit', { userId, planId, gatewayId, quantity: 1 }),
  );
  sold = { userId, subscriptionId: subscription.subscriptionId, ...made };
});

const search = async (searchKey: string, of = shop) =>
  orThrow(await of.api.get('/merchant/search/key_search', { searchKey }));

const invoice = async () =>
  orThrow(await shop.api.get('/merchant/invoice/detail', { invoiceId: sold.invoiceId })).invoice;

describe('one search field', () => {
  it('finds a user by id, e-mail and external id exactly, and by parts of its texts', async () => {
    const { userId } = sold;
    for (const key of [String(userId), 'GRACE@looms.example', 'crm-77/A', ' crm-77/A ']) {
      const found = await search(key);
      expect(found.precisionMatchObject).toMatchObject({ type: 'user', id: String(userId), data: { id: userId } });
      expect(found.matchUserAccounts.map(({ id }) => id)).toEqual([userId]);
    }
    for (const key of ['hopper-q', 'looms & s', 'ace@loo', 'm-77']) {
      expect(await search(key)).toMatchObject({ precisionMatchObject: null, matchUserAccounts: [{ id: userId }] });
    }
    const nothing = { precisionMatchObject: null, matchUserAccounts: [], matchInvoice: [] };
    for (const key of ['nobody at all', '%', 'in_x', 'sub_x', 'pay_x', 're_x', '99999999999999999999']) {
      expect({ key, ...(await search(key)) }).toEqual({ key, ...nothing });
    }
  });

  it('finds an invoice by id and number, and a subscription, a payment and a refund with theirs', async () => {
    const { number } = await until(invoice, ({ status }) => status === 3);
    const { invoiceId, subscriptionId, paymentId, userId } = sold;
    const refunded = { invoiceId, refundAmount: 100, reason: 'Kindness' };
    const { refund } = orThrow(await shop.api.post('/merchant/invoice/refund', refunded));
    for (const key of [invoiceId, number]) {
      const found = await search(key);
      expect(found.precisionMatchObject).toMatchObject({ type: 'invoice', id: invoiceId, data: { number } });
      expect(found).toMatchObject({ matchInvoice: [{ invoiceId }], matchUserAccounts: [{ id: userId }] });
    }
    const others = { subscription: subscriptionId, payment: paymentId, refund: refund?.refundId ?? '' };
    for (const [type, id] of Object.entries(others)) {
      const found = await search(id);
      expect(found).toMatchObject({ precisionMatchObject: { type, id, data: {} }, matchInvoice: [{ invoiceId }] });
      expect(found.matchUserAccounts.map(one => one.id)).toEqual([userId]);
    }
  });

  it('shows nothing of another merchant, and takes no blank key', async () => {
    const other = await stand.shop('Next desk');
    const { number } = await invoice();
    for (const key of [sold.invoiceId, number, sold.subscriptionId, sold.paymentId, 'crm-77/A', 'looms']) {
      const found = await search(key, other);
      expect({ key, users: found.matchUserAccounts, invoices: found.matchInvoice }).toEqual({
        key,
        users: [],
        invoices: [],
      });
      expect(found.precisionMatchObject).toBeNull();
    }
    const { envelope } = await shop.wire.send('/merchant/search/key_search', { searchKey: '  ' });
    expect(envelope).toMatchObject({ code: 51, message: expect.stringContaining('searchKey') });
  });
});

it('the second paths of payment methods do what the first ones do', async () => {
  const gatewayId = await sandboxGateway(shop.api);
  const userId = await newUser(shop.api);
  const send = async (path: string, body: object) => (await shop.wire.send(`/merchant/payment/${path}`, body)).envelope;
  const made = await send('method_new', { gatewayId, userId, data: { scenario: 'succeeds' } });
  expect(made).toMatchObject({ code: 0, data: { method: { isDefault: true } } });
  const of = { gatewayId, userId, paymentMethodId: (made.data as { method: { id: string } }).method.id };
  const [first, second] = [await send('method/get', of), await send('method_get', of)];
  expect(second.data).toEqual(first.data);
  expect(await send('method_delete', of)).toMatchObject({ code: 0 });
  expect(await send('method_get', of)).toMatchObject({ code: 53, error: { type: 'payment_method_not_found' } });
  const wrong = await shop.wire.request('/merchant/payment/method_new');
  expect(wrong.envelope).toMatchObject({ code: 53 });
});
