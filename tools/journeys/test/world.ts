import { randomInt, randomUUID } from 'node:crypto';
import { type Client, orThrow } from '@recur/client';
import { activePlan, newPlan, newUser, order } from '../shop.js';

export type Id = string | number;

/** The kinds of objects that a merchant has, each with a way to make one more through the API. */
const makers = {
  /** A user with an invoice, a payment and a credit account, which lists find by the user. */
  user: async (api: Client) => {
    const userId = await newUser(api);
    const lines = [{ name: 'Seat', unitAmountExcludingTax: 500 }];
    orThrow(
      await api.post('/merchant/invoice/new', { userId, currency: 'EUR', taxPercentage: 0, lines, finish: true }),
    );
    orThrow(await api.post('/merchant/credit/promo_credit_increment', { userId, currency: 'EUR', amount: 100 }));
    return userId;
  },
  externalUser: async (api: Client) => {
    const externalUserId = randomUUID();
    orThrow(await api.post('/merchant/user/new', { email: `${externalUserId}@example.com`, externalUserId }));
    return externalUserId;
  },
  product: async (api: Client) => {
    const { product } = orThrow(await api.post('/merchant/product/new', { productName: 'More' }));
    await newPlan(api, { productId: product.id });
    return product.id;
  },
  /** A product without plans, which may be deleted. */
  freeProduct: async (api: Client) =>
    orThrow(await api.post('/merchant/product/new', { productName: 'Free' })).product.id,
  plan: (api: Client) => activePlan(api),
  /** A plan that was never activated. */
  draftPlan: (api: Client) => newPlan(api),
  addon: (api: Client) => newPlan(api, { type: 2 }),
  onetimeAddon: (api: Client) => newPlan(api, { type: 3 }),
  externalPlan: async (api: Client) => {
    const externalPlanId = randomUUID();
    await newPlan(api, { externalPlanId });
    return externalPlanId;
  },
  checkout: async (api: Client) => orThrow(await api.post('/merchant/checkout/new_checkout', {})).merchantCheckout.id,
  metric: (api: Client) => newMetric(api),
  planLimit: async (api: Client) => {
    const [planId, metricId] = await Promise.all([activePlan(api), newMetric(api)]);
    const limit = { planId, metricId, metricLimit: 100 };
    const path = '/merchant/metric/plan/limit/new';
    return orThrow(await api.post(path, limit)).merchantMetricPlanLimit.id;
  },
  gateway: gatewayOf,
  cardGateway: cardGatewayOf,
  invoice: async (api: Client) => (await newInvoice(api, false)).invoiceId,
  payment: async (api: Client) => (await newInvoice(api, true)).paymentId,
  paidInvoice: async (api: Client) => (await paidInvoice(api)).invoiceId,
  refundedInvoice: async (api: Client) => {
    const { invoiceId } = await paidInvoice(api);
    await markRefund(api, invoiceId);
    return invoiceId;
  },
  /** A payment that was made, with an open refund of a part of it. */
  paidPayment: async (api: Client) => {
    const { invoiceId, paymentId } = await paidInvoice(api);
    await markRefund(api, invoiceId);
    return paymentId;
  },
  /** A refund that waits to be marked as paid. */
  refund: async (api: Client) => markRefund(api, (await paidInvoice(api)).invoiceId),
  /** A main account, which a recharge opens; generated requests may have forbidden recharges meanwhile. */
  creditAccount: async (api: Client) => {
    const [userId, gatewayId] = await Promise.all([newUser(api), gatewayOf(api)]);
    const recharge = { userId, gatewayId, currency: 'EUR', rechargeAmount: 500 };
    const sell = () => api.post('/merchant/credit/new_credit_recharge', recharge).then(orThrow);
    const allow = () =>
      api.post('/merchant/credit/edit_config', { type: 1, currency: 'EUR', rechargeEnable: 1 }).then(orThrow);
    const { creditAccount } = await sell().catch(() => allow().then(sell));
    return creditAccount.id;
  },
  discount: async (api: Client) => {
    const reduction = { billingType: 1, discountType: 1, discountPercentage: 1_000, quantity: 10 };
    const input = { code: randomUUID(), startTime: 1, endTime: 0, ...reduction };
    return orThrow(await api.post('/merchant/discount/new', input)).discount.id;
  },
  /** A template of discounts with codes. */
  template: (api: Client) => template(api),
  generatedCode: async (api: Client) => {
    const templateId = await template(api);
    const { children } = orThrow(await api.get('/merchant/discount/batch/children/list', { templateId }));
    return children[0]?.id ?? 0;
  },
  subscription: async (api: Client) => (await activeSubscription(api)).subscriptionId,
  /** A change that waits for the end of the period. */
  pendingUpdate: async (api: Client) => {
    const { subscriptionId, planId } = await activeSubscription(api);
    const change = { subscriptionId, newPlanId: planId, quantity: 2, effectImmediate: 2 };
    const path = '/merchant/subscription/update_submit';
    return orThrow(await api.post(path, change)).subscriptionPendingUpdate?.pendingUpdateId ?? '';
  },
  member: async (api: Client) => {
    const input = { email: `${randomUUID()}@example.com`, roleIds: [] };
    return orThrow(await api.post('/merchant/member/new_member', input)).memberId;
  },
  /** A role that a member has, by which lists find it. A merchant has at most 100 roles: what was made before will do. */
  role: async (api: Client) => {
    const roles = await rolesOf(api);
    const held = roles.find(({ role }) => role.startsWith('held')) ?? (roles.length > 50 ? roles[0] : undefined);
    if (held) return held.id;
    const id = await newRole(api, 'held');
    orThrow(await api.post('/merchant/member/new_member', { email: `${randomUUID()}@example.com`, roleIds: [id] }));
    return id;
  },
  freeRole: async (api: Client) => {
    const roles = await rolesOf(api);
    const known = roles.find(({ role }) => role.startsWith('free')) ?? roles[0];
    return known && roles.length > 50 ? known.id : newRole(api, 'free');
  },
  /** Not the one that is used here; at most 20 hold at once. */
  apiKey: async (api: Client) => {
    const list = async () => orThrow(await api.get('/merchant/apikey/list', {})).apiKeys;
    const held = (await list()).filter(({ state }) => state !== 'revoked');
    if (held.length < 3) orThrow(await api.post('/merchant/new_apikey', {}));
    return (await list())[0]?.id ?? 0;
  },
  /** At most 20 are there at once. */
  authProvider: async (api: Client) => {
    const { authProviders } = orThrow(await api.get('/merchant/auth/provider/list', {}));
    if (authProviders.length > 10) return authProviders[randomInt(authProviders.length)]?.id ?? 0;
    const input = { issuer: randomUUID(), audience: 'portal', secret: randomUUID() };
    return orThrow(await api.post('/merchant/auth/provider/new', input)).authProvider.id;
  },
  endpoint: async (api: Client) =>
    orThrow(await api.post('/merchant/webhook/new_endpoint', { url: 'http://127.0.0.1:9/' })).endpointId,
  exportTemplate: async (api: Client) => {
    const settings = { name: 'All of them', task: 'DiscountExport' } as const;
    return orThrow(await api.post('/merchant/task/new_export_template', settings)).template.templateId;
  },
  log: logEntry,
  replay: async (api: Client) => {
    const asked = { endpointId: await thankful(api), createTimeStart: 1, events: ['refund.created' as const] };
    return orThrow(await api.post('/merchant/webhook/replay', asked)).replayId;
  },
  connection: async (api: Client) => {
    // a merchant may have twenty
    const { automationConnections } = await endpointsOf(api);
    for (const { connectionId } of automationConnections.slice(8)) {
      await api.post('/merchant/webhook/automation_disconnect', { connectionId });
    }
    const { oauthUrl } = orThrow(await api.post('/merchant/webhook/webhook_automation_oauth_url', {}));
    return new URL(oauthUrl).searchParams.get('client_id') ?? '';
  },
} satisfies Record<string, (api: Client) => Promise<Id>>;
export type Kind = keyof typeof makers;

export const kinds = Object.keys(makers) as Kind[];
/** Makes an object; what others made of the gateway meanwhile is taken back, and the object made then. */
export async function make(kind: Kind, api: Client): Promise<Id> {
  const maker: (api: Client) => Promise<Id> = makers[kind];
  return maker(api).catch(() => gatewayOf(api).then(() => maker(api)));
}

async function newMetric(api: Client): Promise<number> {
  const metric = { code: randomUUID(), metricName: 'Calls' };
  return orThrow(await api.post('/merchant/metric/new', metric)).merchantMetric.id;
}

type Named = { gatewayId: number; gatewayName: string };

/** The merchant's gateways, archived ones too. */
async function allGateways(api: Client): Promise<Named[]> {
  const lists = [{}, { archive: true }].map(input => api.get('/merchant/gateway/list', input).then(orThrow));
  return (await Promise.all(lists)).flatMap(({ gateways }) => gateways);
}

async function template(api: Client): Promise<number> {
  const terms = { billingType: 1, discountType: 1, discountPercentage: 1_000, startTime: 1, endTime: 0 };
  const input = { codePrefix: randomUUID().slice(0, 18), quantity: 50, ...terms };
  const { id } = orThrow(await api.post('/merchant/discount/batch/template/new', input)).template;
  orThrow(await api.post('/merchant/discount/activate', { id }));
  orThrow(await api.post('/merchant/discount/batch/children/generate', { templateId: id, quantity: 2 }));
  return id;
}

/** The wire transfer, set up, in EUR and the default, whatever it was before. */
async function gatewayOf(api: Client): Promise<number> {
  const gatewayId = (await allGateways(api)).find(({ gatewayName }) => gatewayName === 'wire_transfer')?.gatewayId ?? 0;
  orThrow(await api.post('/merchant/gateway/restore', { gatewayId }));
  orThrow(await api.post('/merchant/gateway/wire_transfer_edit', { gatewayId, currency: 'EUR', minimumAmount: 0 }));
  orThrow(await api.post('/merchant/gateway/set_default', { gatewayId }));
  return gatewayId;
}

/** The sandbox gateway, set up and not archived. */
async function cardGatewayOf(api: Client): Promise<number> {
  const find = async () => (await allGateways(api)).find(({ gatewayName }) => gatewayName === 'sandbox')?.gatewayId;
  // others may set it up at the same time: the second is refused
  if (!(await find())) await api.post('/merchant/gateway/setup', { gatewayName: 'sandbox' });
  const gatewayId = (await find()) ?? 0;
  orThrow(await api.post('/merchant/gateway/restore', { gatewayId }));
  return gatewayId;
}

/** A subscription whose first invoice is paid. */
async function activeSubscription(api: Client): Promise<{ subscriptionId: string; planId: number }> {
  const [userId, planId, gatewayId] = await Promise.all([newUser(api), activePlan(api), gatewayOf(api)]);
  const { invoiceId, subscription } = orThrow(
    await api.post('/merchant/subscription/create_submit', { userId, planId, gatewayId }),
  );
  const transfer = { invoiceId, transferNumber: randomUUID() };
  orThrow(await api.post('/merchant/invoice/mark_wire_transfer_success', transfer));
  return { subscriptionId: subscription.subscriptionId, planId };
}

async function newInvoice(api: Client, finish: boolean): Promise<{ invoiceId: string; paymentId: string }> {
  const [userId, planId] = await Promise.all([newUser(api), activePlan(api)]);
  const { invoice } = orThrow(await api.post('/merchant/invoice/new', order(userId, planId, { finish })));
  return invoice;
}

async function paidInvoice(api: Client): Promise<{ invoiceId: string; paymentId: string }> {
  const invoice = await newInvoice(api, true);
  const transfer = { invoiceId: invoice.invoiceId, transferNumber: randomUUID() };
  orThrow(await api.post('/merchant/invoice/mark_wire_transfer_success', transfer));
  return invoice;
}

async function markRefund(api: Client, invoiceId: string): Promise<string> {
  const refund = { invoiceId, refundAmount: 1, reason: 'a part' };
  return orThrow(await api.post('/merchant/invoice/create_mark_refund', refund)).refund.refundId;
}

async function rolesOf(api: Client): Promise<{ id: number; role: string }[]> {
  return orThrow(await api.get('/merchant/role/list', {})).merchantRoles;
}

async function newRole(api: Client, kind: 'held' | 'free'): Promise<number> {
  const input = { role: `${kind} ${randomUUID()}`, permissions: [] };
  return orThrow(await api.post('/merchant/role/new', input)).merchantRole.id;
}

const endpointsOf = (api: Client) => api.get('/merchant/webhook/endpoint_list', {}).then(orThrow);

/** An endpoint at one of recur's own paths, beside the hosted pages, which thanks for whatever is posted; made once. */
async function thankful(api: Client): Promise<number> {
  const email = 'pages@example.com';
  const opened = orThrow(await api.post('/merchant/session/new_session', { email }));
  const url = new URL('/oauth/revoke', opened.url).href;
  const known = (await endpointsOf(api)).endpointList.find(({ webhookUrl }) => webhookUrl === url);
  return known?.id ?? orThrow(await api.post('/merchant/webhook/new_endpoint', { url })).endpointId;
}

/** An entry of an endpoint's log. */
async function logEntry(api: Client): Promise<number> {
  const endpointId = await thankful(api);
  const event = { endpointId, event: 'invoice.paid' as const };
  const { eventId } = orThrow(await api.post('/merchant/webhook/test_event', event));
  for (const deadline = Date.now() + 120_000; Date.now() < deadline; ) {
    const { endpointLogList } = orThrow(await api.get('/merchant/webhook/endpoint_log_list', { endpointId }));
    const entry = endpointLogList.find(({ requestId }) => requestId === eventId);
    if (entry) return entry.id;
    await new Promise(resolve => setTimeout(resolve, 20));
  }
  throw new Error('an example was not delivered');
}

/** An id that nobody has, of the same form. */
export const unknownLike = (id: Id): Id =>
  typeof id === 'number' ? id + 900_000_000 : /^[a-z]+_/.test(id) ? `${id.slice(0, -3)}zzz` : randomUUID();

/** Which kind of object a field of an input names, wherever it stands; a list names several. */
export const named: Readonly<Record<string, Kind>> = {
  userId: 'user',
  userIds: 'user',
  externalUserId: 'externalUser',
  productId: 'product',
  productIds: 'product',
  planId: 'plan',
  planIds: 'plan',
  newPlanId: 'plan',
  autoUpgradePlanId: 'plan',
  addonIds: 'addon',
  addonPlanId: 'addon',
  addonId: 'onetimeAddon',
  onetimeAddonIds: 'onetimeAddon',
  externalPlanId: 'externalPlan',
  checkoutId: 'checkout',
  checkoutTemplateId: 'checkout',
  metricId: 'metric',
  metricIds: 'metric',
  metricPlanLimitId: 'planLimit',
  gatewayId: 'gateway',
  gatewayIds: 'gateway',
  creditAccountId: 'creditAccount',
  invoiceId: 'invoice',
  paymentId: 'payment',
  refundId: 'refund',
  subscriptionId: 'subscription',
  subscriptionIds: 'subscription',
  subscriptionPendingUpdateId: 'pendingUpdate',
  endpointId: 'endpoint',
  memberId: 'member',
  roleIds: 'role',
  apiKeyId: 'apiKey',
  authProviderId: 'authProvider',
  logId: 'log',
  replayId: 'replay',
  connectionId: 'connection',
};

/** The same for a field whose name says less: operation → field → kind. */
export const namedIn: Readonly<Record<string, Readonly<Record<string, Kind>>>> = {
  'credit.detail': { id: 'creditAccount' },
  'discount.edit': { id: 'discount' },
  'discount.activate': { id: 'discount' },
  'discount.deactivate': { id: 'discount' },
  'discount.delete': { id: 'discount' },
  'discount.detail': { id: 'discount' },
  'discount.quantity_increment': { id: 'discount' },
  'discount.user_discount_list': { id: 'discount' },
  'discount.batch_template_edit': { id: 'template' },
  'discount.batch_template_detail': { id: 'template' },
  'discount.batch_template_quantity': { id: 'template' },
  'discount.batch_children_detail': { id: 'generatedCode' },
  'discount.batch_children_generate': { templateId: 'template' },
  'discount.batch_children_list': { templateId: 'template' },
  'task.edit_export_template': { templateId: 'exportTemplate' },
  'task.delete_export_template': { templateId: 'exportTemplate' },
  'invoice.refund': { invoiceId: 'paidInvoice' },
  'invoice.create_mark_refund': { invoiceId: 'paidInvoice' },
  'refund.new': { paymentId: 'paidPayment' },
  'invoice.mark_refund_success': { invoiceId: 'refundedInvoice' },
  'gateway.setup_webhook': { gatewayId: 'cardGateway' },
  'payment.method_new': { gatewayId: 'cardGateway' },
  'refund.list': { paymentId: 'paidPayment' },
  'plan.delete': { planId: 'draftPlan' },
  'product.delete': { productId: 'freeProduct' },
  'role.edit': { id: 'role' },
  'role.delete': { id: 'freeRole' },
};

/** Fields that look like an id and name no object of the merchant's, or none that can be made yet; with the reason. */
export const nameless: Readonly<Record<string, string>> = {
  externalPaymentId: 'a word of the caller for what it makes',
  externalEventId: 'a word of the caller for what it reports',
  aggregationUniqueId: 'a value that is counted',
  externalCaptureId: 'a word of the caller for what it makes',
  externalRefundId: 'a word of the caller for what it makes',
  paymentMethodId: 'a word of the gateway',
  providerId: 'a word of the identity provider',
  merchantId: 'one of the merchants of an e-mail, chosen by whoever knows the password',
};
