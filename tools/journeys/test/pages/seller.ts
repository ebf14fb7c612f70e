import { randomUUID } from 'node:crypto';
import { afterAll, afterEach } from '@jest/globals';
import { createClient, type Input, orThrow, type Path } from '@recur/client';
import { metricType } from '@recur/contracts';
import { type Look, startBrowser, type Visit } from '../../browser.js';
import { sharedStand } from '../stand.js';
import { publishableKey, startStripe } from './stripe.js';
import { routeToStripe } from './stripe-fields.js';

/** Time within which something that follows by itself has happened. */
const followsWithinMs = 120_000;

/** A logo. */
const square =
  '<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32"><rect width="32" height="32" rx="6" fill="#7a1f5c"/></svg>';

/** Gateways that charge cards, with how each is set up. */
const cardGateways = {
  sandbox: { gatewayName: 'sandbox', displayName: 'Card' },
  stripe: { gatewayName: 'stripe', gatewayKey: publishableKey, gatewaySecret: 'sk_test_pages' },
} as const;
type CardGateway = keyof typeof cardGateways;

let place: ReturnType<typeof openPlace> | undefined;
const shared = new Map<CardGateway, Promise<Seller>>();

/** The one merchant whose users visit the hosted pages and pay by cards of this gateway. */
export function sharedSeller(cards: CardGateway = 'sandbox'): Promise<Seller> {
  place ??= openPlace();
  const seller = shared.get(cards) ?? place.then(at => startSeller(at, cards));
  shared.set(cards, seller);
  return seller;
}

/** Closes the browser and the stack at the end of a file, and after each test what its visits have left open. */
export function closedAfterwards({ each = true } = {}): void {
  if (each) afterEach(async () => (await place)?.browser.leave());
  afterAll(async () => (await place)?.close());
}

/** A stack whose cards of Stripe go to a stand-in, and a browser, for all sellers of a file. */
async function openPlace() {
  const stripe = await startStripe();
  const stand = await sharedStand({ billing: { STRIPE_URL: stripe.url } });
  /** Client sessions, tokens of links and tokens of users: nothing but their own request may hold them. */
  const secrets = new Set<string>();
  const browser = await startBrowser(
    stand.stack.home,
    token => secrets.add(token),
    context => routeToStripe(context, stripe),
  );
  const close = async () => {
    await browser.close();
    await stand.close();
    await stripe.close();
  };
  return { stripe, stand, secrets, browser, close };
}

/** Two plans and two gateways, with what a journey asks of the API. */
async function startSeller(
  { stripe, stand, secrets, browser }: Awaited<ReturnType<typeof openPlace>>,
  cards: CardGateway,
) {
  const { baseUrl } = stand.stack.facts();
  const { apiKey } = await stand.shop(`Pages ${cards}`);
  const api = createClient({ baseUrl, credential: apiKey });
  const post = async <P extends Path<'POST'>>(path: P, input: Input<P>) => orThrow(await api.post(path, input));
  const get = async <P extends Path<'GET'>>(path: P, input: Input<P>) => orThrow(await api.get(path, input));

  await post('/merchant/gateway/setup', cardGateways[cards]);
  const { gateways } = await get('/merchant/gateway/list', {});
  const named = (name: string) => gateways.find(({ gatewayName }) => gatewayName === name)?.gatewayId ?? 0;
  const gateway = { card: named(cards), wire: named('wire_transfer') };
  await post('/merchant/gateway/wire_transfer_edit', {
    gatewayId: gateway.wire,
    currency: 'EUR',
    minimumAmount: 100,
    bank: {
      accountHolder: 'Pages',
      address: 'Main St 1',
      iban: 'DE02120300000000202051',
      bic: 'BYLADEM1001',
      bankName: 'DKB',
    },
  });

  const logo = `data:image/svg+xml;base64,${Buffer.from(square).toString('base64')}`;
  const template = { name: 'Usual', data: { color: '#7a1f5c', logo } };
  const { merchantCheckout } = await post('/merchant/checkout/new_checkout', template);
  await post('/merchant/checkout/set_default', { checkoutId: merchantCheckout.id });

  async function newPlan(planName: string, amount: number, more: Partial<Input<'/merchant/plan/new'>> = {}) {
    const month = { currency: 'EUR', intervalUnit: 'month', intervalCount: 1 } as const;
    const { plan } = await post('/merchant/plan/new', { planName, amount, ...month, ...more });
    await post('/merchant/plan/activate', { planId: plan.id });
    await post('/merchant/plan/publish', { planId: plan.id });
    return plan;
  }
  /** An add-on that is sold by the month with a plan that names it. */
  async function newAddon(planName: string, amount: number) {
    const month = { currency: 'EUR', intervalUnit: 'month', intervalCount: 1 } as const;
    const { plan } = await post('/merchant/plan/new', { planName, amount, ...month, type: 2 });
    await post('/merchant/plan/activate', { planId: plan.id });
    return plan;
  }
  const plans = { small: (await newPlan('Small', 4900)).id, large: (await newPlan('Large', 9900)).id };

  /** A user in Germany, which billing knows, so that bills bear its tax. */
  async function newUser() {
    const { user } = await post('/merchant/user/new', { email: `${randomUUID()}@example.com` });
    await post('/merchant/user/update', { userId: user.id, countryCode: 'DE' });
    const copied = `select 1 from user_copies where id = ${user.id} and data->>'countryCode' = 'DE'`;
    await until(async () => (await stand.ask('billing', copied)).length > 0);
    return user;
  }

  const subscriptionOf = async (subscriptionId: string) =>
    (await get('/merchant/subscription/detail', { subscriptionId })).subscription;

  /** A user who subscribes to a plan, the small one unless told, and has paid for it by a card that succeeds. */
  async function subscriber(planId = plans.small, terms: Partial<Input<'/merchant/subscription/create_submit'>> = {}) {
    const user = await newUser();
    const card = { gatewayId: gateway.card, userId: user.id };
    const { method } = await post('/merchant/payment/method/new', { ...card, data: { scenario: 'succeeds' } });
    const order = { ...card, planId, paymentMethodId: method?.id, ...terms };
    const { subscriptionId } = (await post('/merchant/subscription/create_submit', order)).subscription;
    await until(async () => (await subscriptionOf(subscriptionId)).status === 2);
    return { user, subscriptionId };
  }

  /** An open invoice over €117.81, of a new user unless told. */
  async function newInvoice(gatewayId: number, userId?: number) {
    const { invoice } = await post('/merchant/invoice/new', {
      userId: userId ?? (await newUser()).id,
      gatewayId,
      currency: 'EUR',
      taxPercentage: 1900,
      finish: true,
      lines: [{ name: 'Workshop', unitAmountExcludingTax: 9_900, quantity: 1 }],
    });
    secrets.add(invoice.link.split('/').at(-1) ?? '');
    return invoice;
  }

  async function newMetric(metricName: string, type: 1 | 2 = metricType.chargeMetered) {
    const code = `${metricName}-${randomUUID()}`;
    const counting = { metricName, code, unit: metricName.toLowerCase(), type, aggregationType: 1 as const };
    return (await post('/merchant/metric/new', counting)).merchantMetric;
  }

  /** A plan with a metric that it limits to 10. */
  async function meteredPlan() {
    const metric = await newMetric('Calls', metricType.limitMetered);
    const metricLimits = [{ metricId: metric.id, metricLimit: 10 }];
    return { planId: (await newPlan('Metered', 7900, { metricLimits })).id, metricCode: metric.code };
  }

  /** A plan that has prices of usage: one beyond what is included, and one by tiers. */
  async function pricedPlan() {
    const [stored, sent] = [await newMetric('Gigabytes'), await newMetric('Mails')];
    const graduatedAmounts = [
      { startValue: 0, endValue: 1_000, perAmount: 0, perAmountDecimal: '0.5', flatAmount: 500 },
      { startValue: 1_000, endValue: -1, perAmount: 1 },
    ];
    const metricMeteredCharge = [
      { metricId: stored.id, chargeType: 0 as const, standardAmount: 12, standardStartValue: 50 },
      { metricId: sent.id, chargeType: 1 as const, graduatedAmounts },
    ];
    return (await newPlan('Priced', 2900, { metricMeteredCharge })).id;
  }
  async function use(userId: number, metricCode: string, times: number) {
    for (let at = 0; at < times; at++)
      await post('/merchant/metric/event/new', { userId, metricCode, externalEventId: randomUUID() });
  }

  async function linkOf(email: string, more: Partial<Input<'/merchant/session/new_session'>> = {}) {
    const session = await post('/merchant/session/new_session', { email, ...more });
    secrets.add(session.clientSession);
    return session;
  }

  /** Opens the portal of a user, and waits for its first heading. */
  async function portal({ email }: { email: string }, look?: Look): Promise<Visit> {
    const visit = await browser.open((await linkOf(email)).url, look);
    await visit.page.locator('article, .card').first().waitFor();
    return visit;
  }

  /** Opens the checkout of a plan for a new user. */
  async function checkoutOf(planId: number, look?: Look): Promise<Visit> {
    const { clientSession } = await linkOf((await newUser()).email);
    return browser.open(`${baseUrl}/portal/checkout?planId=${planId}&session=${clientSession}`, look);
  }

  /** Opens the checkout of the small plan, for a new user unless told, and waits until its price is there. */
  async function checkout(look?: Look, known?: Awaited<ReturnType<typeof newUser>>) {
    const user = known ?? (await newUser());
    const ways = { returnUrl: `${baseUrl}/docs?thanks`, cancelUrl: `${baseUrl}/docs?left` };
    const { clientSession } = await linkOf(user.email, ways);
    const path = `/portal/checkout?planId=${plans.small}&env=sandbox&session=${clientSession}`;
    const visit = await browser.open(`${baseUrl}${path}`, look);
    await visit.page.locator('button[type=submit]', { hasText: '58' }).waitFor();
    return { ...visit, user, clientSession };
  }

  /** Lets the links of a user expire that were given out so far. */
  const expire = (userId: number) =>
    stand.pool('identity').query('update client_sessions set expire_time = 1 where user_id = $1', [userId]);

  return {
    stripe,
    stand,
    api,
    baseUrl,
    gateway,
    plans,
    secrets,
    post,
    get,
    newPlan,
    newUser,
    subscriber,
    newInvoice,
    newAddon,
    meteredPlan,
    pricedPlan,
    use,
    expire,
    apiKey,
    subscriptionOf,
    linkOf,
    portal,
    checkout,
    checkoutOf,
    open: browser.open,
    subscriptionsOf: async (userId: number) => (await post('/merchant/subscription/list', { userId })).subscriptions,
    invoicesOf: async (userId: number) => (await post('/merchant/invoice/list', { userId })).invoices,
  };
}
export type Seller = Awaited<ReturnType<typeof startSeller>>;

/** Waits until something is so, or throws. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + followsWithinMs; !(await isSo()); ) {
    if (Date.now() > deadline) throw new Error('not in time');
    await new Promise(resolve => setTimeout(resolve, 100));
  }
}
