import { randomUUID } from 'node:crypto';
import { createClient, orThrow } from '@recur/client';
import type { Operation } from '@recur/contracts';
import { sandboxGateway } from '../card.js';
import { newPlan, newUser } from '../shop.js';
import { Wire } from '../wire.js';
import { type Ids, schemaOf, smallestOf } from './requests.js';
import type { Stand } from './stand.js';
import { type Id, named as kindOfField } from './world.js';

/** A user of a merchant with its token, and an object for every field. */
export interface Visitor {
  wire: Wire;
  own: Readonly<Record<string, Id>>;
}
export type Place = Awaited<ReturnType<typeof openPlace>>;

/** A merchant with everything that its users can name. */
export async function openPlace(stand: Stand, name: string) {
  const { api } = await stand.shop(name);
  const product = async () => {
    const made = orThrow(await api.post('/merchant/product/new', { productName: name }));
    orThrow(await api.post('/merchant/product/activate', { productId: made.product.id }));
    return made.product.id;
  };
  const addonPlanId = await newPlan(api, { type: 2 });
  orThrow(await api.post('/merchant/plan/activate', { planId: addonPlanId }));
  const sold = async (productId: number, amount: number) => {
    const planId = await newPlan(api, { productId, amount, addonIds: [addonPlanId] });
    orThrow(await api.post('/merchant/plan/activate', { planId }));
    orThrow(await api.post('/merchant/plan/publish', { planId }));
    return planId;
  };
  // who has a subscription to a product cannot buy another to it
  const [first, productId] = [await product(), await product()];
  const [held, newPlanId, planId] = [await sold(first, 1_000), await sold(first, 3_000), await sold(productId, 500)];
  const gatewayId = await sandboxGateway(api);
  const { gateways } = orThrow(await api.get('/merchant/gateway/list', {}));
  const wireGatewayId = gateways.find(({ gatewayName }) => gatewayName === 'wire_transfer')?.gatewayId ?? 0;
  const template = { name, data: { colour: name } };
  const { merchantCheckout } = orThrow(await api.post('/merchant/checkout/new_checkout', template));
  const discountCode = randomUUID();
  const reduction = { billingType: 1, discountType: 1, discountPercentage: 1_000, startTime: 1, endTime: 0 };
  const { discount } = orThrow(await api.post('/merchant/discount/new', { code: discountCode, ...reduction }));
  orThrow(await api.post('/merchant/discount/activate', { id: discount.id }));
  const own = { planId, newPlanId, addonPlanId, productId, gatewayId, discountCode };
  return {
    baseUrl: stand.stack.facts().baseUrl,
    api,
    held,
    wireGatewayId,
    own: { ...own, checkoutId: merchantCheckout.id },
  };
}

/** A new user with a card, an active subscription and an open invoice, who has opened the hosted pages. */
export async function visit({ baseUrl, api, held, wireGatewayId, own }: Place): Promise<Visitor> {
  const userId = await newUser(api);
  const card = { gatewayId: own.gatewayId, userId, data: { scenario: 'succeeds' } };
  const { method } = orThrow(await api.post('/merchant/payment/method/new', card));
  const terms = { userId, planId: held, gatewayId: wireGatewayId };
  const made = orThrow(await api.post('/merchant/subscription/create_submit', terms));
  const transfer = { invoiceId: made.invoiceId, transferNumber: randomUUID() };
  orThrow(await api.post('/merchant/invoice/mark_wire_transfer_success', transfer));
  const lines = [{ name: 'Seat', unitAmountExcludingTax: 500 }];
  const order = { userId, gatewayId: wireGatewayId, currency: 'EUR', taxPercentage: 0, lines, finish: true };
  const { invoice } = orThrow(await api.post('/merchant/invoice/new', order));
  const { user } = orThrow(await api.get('/merchant/user/get', { userId }));
  const { clientSession } = orThrow(await api.post('/merchant/session/new_session', { email: user.email }));
  const { token } = orThrow(await createClient({ baseUrl }).post('/portal/session/exchange', { clientSession }));
  const { subscriptionId } = made.subscription;
  const ofThem = { invoiceId: invoice.invoiceId, subscriptionId, paymentMethodId: method?.id ?? '' };
  return { wire: new Wire(baseUrl, token), own: { ...own, ...ofThem, token: invoice.link.split('/').at(-1) ?? '' } };
}

/** The smallest input of an operation, out of a visitor's own objects. */
export async function inputOf(operation: Operation, { wire, own }: Visitor, field = ''): Promise<object> {
  const ids = Object.fromEntries(Object.entries(kindOfField).map(([name, kind]) => [kind, [own[name] ?? 0]]));
  const { required = [], properties = {} } = schemaOf(operation);
  const smallest = smallestOf(operation, ids as unknown as Ids);
  const named = Object.fromEntries(required.filter(name => name in own).map(name => [name, own[name]]));
  // of one second, so that amounts are equal
  const dated = 'prorationDate' in properties && { prorationDate: Math.floor(Date.now() / 1000) };
  const input = { ...smallest, ...named, ...dated };
  if (!('confirmTotalAmount' in input) || field !== 'paymentMethodId') return input;
  // a method is looked for at its gateway, and where the total is right
  const chosen = { ...input, gatewayId: own.gatewayId };
  const { envelope } = await wire.send(operation.path.replace('submit', 'preview'), chosen);
  return { ...chosen, confirmTotalAmount: envelope.data.totalAmount };
}
