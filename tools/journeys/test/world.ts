import { randomInt, randomUUID } from 'node:crypto';
import type { Api } from '../api.js';
import { activePlan, newPlan, newUser, order } from '../shop.js';

export type Id = string | number;

/** The kinds of objects that a merchant has, each with a way to make one more through the API. */
const makers = {
  /** A user with an invoice, a payment and a credit account, which lists find by the user. */
  user: async (api: Api) => {
    const userId = await newUser(api);
    const lines = [{ name: 'Seat', unitAmountExcludingTax: 500 }];
    await api.post('/merchant/invoice/new', { userId, currency: 'EUR', taxPercentage: 0, lines, finish: true });
    await api.post('/merchant/credit/promo_credit_increment', { userId, currency: 'EUR', amount: 100 });
    return userId;
  },
  externalUser: async (api: Api) => {
    const externalUserId = randomUUID();
    await api.post('/merchant/user/new', { email: `${externalUserId}@example.com`, externalUserId });
    return externalUserId;
  },
  product: async (api: Api) => {
    const { product } = await api.post<{ product: { id: number } }>('/merchant/product/new', { productName: 'More' });
    await newPlan(api, { productId: product.id });
    return product.id;
  },
  plan: (api: Api) => activePlan(api),
  /** A plan that was never activated. */
  draftPlan: (api: Api) => newPlan(api),
  addon: (api: Api) => newPlan(api, { type: 2 }),
  onetimeAddon: (api: Api) => newPlan(api, { type: 3 }),
  externalPlan: async (api: Api) => {
    const externalPlanId = randomUUID();
    await newPlan(api, { externalPlanId });
    return externalPlanId;
  },
  checkout: async (api: Api) =>
    (await api.post<{ merchantCheckout: { id: number } }>('/merchant/checkout/new_checkout', {})).merchantCheckout.id,
  metric: (api: Api) => newMetric(api),
  planLimit: async (api: Api) => {
    const [planId, metricId] = await Promise.all([activePlan(api), newMetric(api)]);
    const limit = { planId, metricId, metricLimit: 100 };
    const path = '/merchant/metric/plan/limit/new';
    return (await api.post<{ merchantMetricPlanLimit: { id: number } }>(path, limit)).merchantMetricPlanLimit.id;
  },
  gateway: gatewayOf,
  cardGateway: cardGatewayOf,
  invoice: async (api: Api) => (await newInvoice(api, false)).invoiceId,
  payment: async (api: Api) => (await newInvoice(api, true)).paymentId,
  paidInvoice: async (api: Api) => (await paidInvoice(api)).invoiceId,
  refundedInvoice: async (api: Api) => {
    const { invoiceId } = await paidInvoice(api);
    await markRefund(api, invoiceId);
    return invoiceId;
  },
  /** A payment that was made, with an open refund of a part of it. */
  paidPayment: async (api: Api) => {
    const { invoiceId, paymentId } = await paidInvoice(api);
    await markRefund(api, invoiceId);
    return paymentId;
  },
  /** A refund that waits to be marked as paid. */
  refund: async (api: Api) => markRefund(api, (await paidInvoice(api)).invoiceId),
  /** A main account, which a recharge opens; generated requests may have forbidden recharges meanwhile. */
  creditAccount: async (api: Api) => {
    const [userId, gatewayId] = await Promise.all([newUser(api), gatewayOf(api)]);
    const recharge = { userId, gatewayId, currency: 'EUR', rechargeAmount: 500 };
    const sell = () => api.post<{ creditAccount: { id: number } }>('/merchant/credit/new_credit_recharge', recharge);
    const allow = () => api.post('/merchant/credit/edit_config', { type: 1, currency: 'EUR', rechargeEnable: 1 });
    const { creditAccount } = await sell().catch(() => allow().then(sell));
    return creditAccount.id;
  },
  discount: async (api: Api) => {
    const reduction = { billingType: 1, discountType: 1, discountPercentage: 1_000, quantity: 10 };
    const input = { code: randomUUID(), startTime: 1, endTime: 0, ...reduction };
    return (await api.post<{ discount: { id: number } }>('/merchant/discount/new', input)).discount.id;
  },
  subscription: async (api: Api) => (await activeSubscription(api)).subscriptionId,
  /** A change that waits for the end of the period. */
  pendingUpdate: async (api: Api) => {
    const { subscriptionId, planId } = await activeSubscription(api);
    const change = { subscriptionId, newPlanId: planId, quantity: 2, effectImmediate: 2 };
    const path = '/merchant/subscription/update_submit';
    return (await api.post<{ subscriptionPendingUpdate: { pendingUpdateId: string } }>(path, change))
      .subscriptionPendingUpdate.pendingUpdateId;
  },
  member: async (api: Api) => {
    const input = { email: `${randomUUID()}@example.com`, roleIds: [] };
    return (await api.post<{ memberId: number }>('/merchant/member/new_member', input)).memberId;
  },
  /** One that a member has, by which lists find it. A merchant has at most 100 roles: what was made before will do. */
  role: async (api: Api) => {
    const roles = await rolesOf(api);
    const held = roles.find(({ role }) => role.startsWith('held')) ?? (roles.length > 50 ? roles[0] : undefined);
    if (held) return held.id;
    const id = await newRole(api, 'held');
    await api.post('/merchant/member/new_member', { email: `${randomUUID()}@example.com`, roleIds: [id] });
    return id;
  },
  freeRole: async (api: Api) => {
    const roles = await rolesOf(api);
    const known = roles.find(({ role }) => role.startsWith('free')) ?? roles[0];
    return known && roles.length > 50 ? known.id : newRole(api, 'free');
  },
  /** Not the one that is used here; at most 20 hold at once. */
  apiKey: async (api: Api) => {
    const list = async () =>
      (await api.get<{ apiKeys: { id: number; state: string }[] }>('/merchant/apikey/list')).apiKeys;
    const held = (await list()).filter(({ state }) => state !== 'revoked');
    if (held.length < 3) await api.post('/merchant/new_apikey', {});
    return (await list())[0]?.id ?? 0;
  },
  /** At most 20 are there at once. */
  authProvider: async (api: Api) => {
    const { authProviders } = await api.get<{ authProviders: { id: number }[] }>('/merchant/auth/provider/list');
    if (authProviders.length > 10) return authProviders[randomInt(authProviders.length)]?.id ?? 0;
    const input = { issuer: randomUUID(), audience: 'portal', secret: randomUUID() };
    return (await api.post<{ authProvider: { id: number } }>('/merchant/auth/provider/new', input)).authProvider.id;
  },
  endpoint: async (api: Api) =>
    (await api.post<{ endpointId: number }>('/merchant/webhook/new_endpoint', { url: 'http://127.0.0.1:9/' }))
      .endpointId,
  log: logEntry,
  replay: async (api: Api) => {
    const asked = { endpointId: await thankful(api), createTimeStart: 1, events: ['refund.created'] };
    return (await api.post<{ replayId: string }>('/merchant/webhook/replay', asked)).replayId;
  },
  connection: async (api: Api) => {
    // a merchant may have twenty
    const { automationConnections } = await endpointsOf(api);
    for (const { connectionId } of automationConnections.slice(8)) {
      await api.send('/merchant/webhook/automation_disconnect', { connectionId });
    }
    const { oauthUrl } = await api.post<{ oauthUrl: string }>('/merchant/webhook/webhook_automation_oauth_url', {});
    return new URL(oauthUrl).searchParams.get('client_id') ?? '';
  },
} satisfies Record<string, (api: Api) => Promise<Id>>;
export type Kind = keyof typeof makers;

export const kinds = Object.keys(makers) as Kind[];
/** Makes an object; what others made of the gateway meanwhile is taken back, and the object made then. */
export async function make(kind: Kind, api: Api): Promise<Id> {
  const maker: (api: Api) => Promise<Id> = makers[kind];
  return maker(api).catch(() => gatewayOf(api).then(() => maker(api)));
}

async function newMetric(api: Api): Promise<number> {
  const metric = { code: randomUUID(), metricName: 'Calls' };
  return (await api.post<{ merchantMetric: { id: number } }>('/merchant/metric/new', metric)).merchantMetric.id;
}

type Named = { gatewayId: number; gatewayName: string };

/** The merchant's gateways, archived ones too. */
async function allGateways(api: Api): Promise<Named[]> {
  const lists = ['', '?archive=true'].map(archived =>
    api.get<{ gateways: Named[] }>(`/merchant/gateway/list${archived}`),
  );
  return (await Promise.all(lists)).flatMap(({ gateways }) => gateways);
}

/** The wire transfer, set up, in EUR and the default, whatever it was before. */
async function gatewayOf(api: Api): Promise<number> {
  const gatewayId = (await allGateways(api)).find(({ gatewayName }) => gatewayName === 'wire_transfer')?.gatewayId ?? 0;
  await api.post('/merchant/gateway/restore', { gatewayId });
  await api.post('/merchant/gateway/wire_transfer_edit', { gatewayId, currency: 'EUR', minimumAmount: 0 });
  await api.post('/merchant/gateway/set_default', { gatewayId });
  return gatewayId;
}

/** The sandbox gateway, set up and not archived. */
async function cardGatewayOf(api: Api): Promise<number> {
  const find = async () => (await allGateways(api)).find(({ gatewayName }) => gatewayName === 'sandbox')?.gatewayId;
  // others may set it up at the same time: the second is refused
  if (!(await find())) await api.send('/merchant/gateway/setup', { gatewayName: 'sandbox' });
  const gatewayId = (await find()) ?? 0;
  await api.post('/merchant/gateway/restore', { gatewayId });
  return gatewayId;
}

/** A subscription whose first invoice is paid. */
async function activeSubscription(api: Api): Promise<{ subscriptionId: string; planId: number }> {
  const [userId, planId, gatewayId] = await Promise.all([newUser(api), activePlan(api), gatewayOf(api)]);
  const { invoiceId, subscription } = await api.post<{
    invoiceId: string;
    subscription: { subscriptionId: string };
  }>('/merchant/subscription/create_submit', { userId, planId, gatewayId });
  const transfer = { invoiceId, transferNumber: randomUUID() };
  await api.post('/merchant/invoice/mark_wire_transfer_success', transfer);
  return { subscriptionId: subscription.subscriptionId, planId };
}

async function newInvoice(api: Api, finish: boolean): Promise<{ invoiceId: string; paymentId: string }> {
  const [userId, planId] = await Promise.all([newUser(api), activePlan(api)]);
  const { invoice } = await api.post<{ invoice: { invoiceId: string; paymentId: string } }>(
    '/merchant/invoice/new',
    order(userId, planId, { finish }),
  );
  return invoice;
}

async function paidInvoice(api: Api): Promise<{ invoiceId: string; paymentId: string }> {
  const invoice = await newInvoice(api, true);
  const transfer = { invoiceId: invoice.invoiceId, transferNumber: randomUUID() };
  await api.post('/merchant/invoice/mark_wire_transfer_success', transfer);
  return invoice;
}

async function markRefund(api: Api, invoiceId: string): Promise<string> {
  const refund = { invoiceId, refundAmount: 1, reason: 'a part' };
  return (await api.post<{ refund: { refundId: string } }>('/merchant/invoice/create_mark_refund', refund)).refund
    .refundId;
}

async function rolesOf(api: Api): Promise<{ id: number; role: string }[]> {
  return (await api.get<{ merchantRoles: { id: number; role: string }[] }>('/merchant/role/list')).merchantRoles;
}

async function newRole(api: Api, kind: 'held' | 'free'): Promise<number> {
  const input = { role: `${kind} ${randomUUID()}`, permissions: [] };
  return (await api.post<{ merchantRole: { id: number } }>('/merchant/role/new', input)).merchantRole.id;
}

const endpointsOf = (api: Api) =>
  api.get<{ endpointList: { id: number; webhookUrl: string }[]; automationConnections: { connectionId: string }[] }>(
    '/merchant/webhook/endpoint_list',
  );

/** An endpoint at one of recur's own paths, which thanks for whatever is posted; made once. */
async function thankful(api: Api): Promise<number> {
  const url = `${api.baseUrl}/oauth/revoke`;
  const known = (await endpointsOf(api)).endpointList.find(({ webhookUrl }) => webhookUrl === url);
  return known?.id ?? (await api.post<{ endpointId: number }>('/merchant/webhook/new_endpoint', { url })).endpointId;
}

/** An entry of an endpoint's log. */
async function logEntry(api: Api): Promise<number> {
  const endpointId = await thankful(api);
  const event = { endpointId, event: 'invoice.paid' };
  const { eventId } = await api.post<{ eventId: string }>('/merchant/webhook/test_event', event);
  for (const deadline = Date.now() + 30_000; Date.now() < deadline; ) {
    const path = `/merchant/webhook/endpoint_log_list?endpointId=${endpointId}`;
    const { endpointLogList } = await api.get<{ endpointLogList: { id: number; requestId: string }[] }>(path);
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
  'invoice.refund': { invoiceId: 'paidInvoice' },
  'invoice.create_mark_refund': { invoiceId: 'paidInvoice' },
  'refund.new': { paymentId: 'paidPayment' },
  'invoice.mark_refund_success': { invoiceId: 'refundedInvoice' },
  'gateway.setup_webhook': { gatewayId: 'cardGateway' },
  'payment.method_new': { gatewayId: 'cardGateway' },
  'refund.list': { paymentId: 'paidPayment' },
  'plan.delete': { planId: 'draftPlan' },
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
  autoUpgradePlanId: 'kept as it is: nothing is read by it yet',
  providerId: 'a word of the identity provider',
  merchantId: 'one of the merchants of an e-mail, chosen by whoever knows the password',
};
